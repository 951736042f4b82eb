"""Text in Markdown tables."""

from __future__ import annotations


def cell_of(text: str) -> str:
    """One line that does not end a table's cell."""
    return " ".join(text.split()).replace("|", "\\|")


def sentence(text: str) -> str:
    """With a capital and a full stop."""
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") or not text else ".")
