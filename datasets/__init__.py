"""Cards, fetchers and generators of the data that tests and benchmarks read."""
