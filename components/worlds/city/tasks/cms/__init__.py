"""Tasks that begin on the town's web site."""
