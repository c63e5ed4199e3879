"""Greedy placement: the fast path, the fallback and the baseline."""
