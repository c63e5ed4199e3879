"""The offline planner: saved clusters in, plans out."""
