"""Tasks that begin in the shop."""
