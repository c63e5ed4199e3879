"""How to act: components, adapters and the command line."""
