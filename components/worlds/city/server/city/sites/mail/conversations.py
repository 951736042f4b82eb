"""Letters that answer each other, as a record.

A text may name what another site knows: `{order}` and `{article}` are the number and an article of an order in the
shop, `{ticket}` is a ticket's number at the desk.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Purchase:
    """The newest order of a customer that is older than the letter, fits, and is the one that its ticket names."""

    customer: str
    status: str | None = None
    article: str | None = None
    """The title of an article of the order."""


@dataclass(frozen=True)
class Conversation:
    """Letters that answer each other: (sender, recipient, text), by user name."""

    subject: str
    letters: tuple[tuple[str, str, str], ...]
    days: int = 0
    """How many days before the episode the first letter was sent, without `topic`."""
    topic: str | None = None
    """The forum's topic that caused the first letter."""
    order: Purchase | None = None
    """The order that the texts name."""
    ticket: str | None = None
    """The title of the ticket that the texts name, which is older than the letters."""
    unread: bool = False
    """Whether the last letter is new."""
    archived_by: tuple[str, ...] = ()
    deleted_by: tuple[str, ...] = ()
