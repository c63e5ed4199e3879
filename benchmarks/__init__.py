"""The benchmark suite, run from a checkout with ``python -m benchmarks``."""
