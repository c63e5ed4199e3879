"""``python -m koordopt`` is ``koordopt``."""

from koordopt.runtime.main import main

if __name__ == "__main__":
    main()
