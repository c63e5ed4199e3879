"""Saved clusters and traces: from bytes to objects, and what could not be read."""
