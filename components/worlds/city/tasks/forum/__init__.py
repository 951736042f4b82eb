"""Tasks on the forum."""
