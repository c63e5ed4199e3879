"""How to decide."""
