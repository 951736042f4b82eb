"""Tasks of the people at the help desk, and of those who write to it."""
