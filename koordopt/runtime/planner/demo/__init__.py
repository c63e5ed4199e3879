"""A cluster to look at, that comes with the package."""
