"""Benchmarks of how good the decisions are; time decides none of their aims."""
