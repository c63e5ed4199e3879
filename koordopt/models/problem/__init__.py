"""The problems that solvers are given."""
