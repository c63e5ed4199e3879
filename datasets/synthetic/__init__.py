"""Generated clusters with fixed seeds: see ``card.md``."""
