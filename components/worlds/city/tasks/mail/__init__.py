"""Tasks that begin in the mail."""
