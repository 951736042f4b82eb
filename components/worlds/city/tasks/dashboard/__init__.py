"""Tasks of the shop's administrator in its staff dashboard."""
