"""Tasks that need two sites: what one of them says decides what is done on the other."""
