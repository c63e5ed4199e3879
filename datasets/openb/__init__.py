"""A production GPU cluster, as published: see ``card.md``."""
