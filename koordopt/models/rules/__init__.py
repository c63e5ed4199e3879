"""One file per rule: what it means, and a checker in plain NumPy."""
