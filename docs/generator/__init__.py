"""Writes the reference pages that come from the code; `make docs` runs it before mkdocs."""
