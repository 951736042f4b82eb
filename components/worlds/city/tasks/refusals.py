"""Reasons for which tasks are impossible, and the words by which an answer names them."""

from __future__ import annotations

from collections.abc import Collection

from components.worlds.answers import Refusal

REASONS = {
    "out_of_stock": ("out of stock", "sold out", "not in stock", "no stock", "none left", "unavailable"),
    "no_such_article": (
        "does not sell",
        "doesn't sell",
        "not sold",
        "no such article",
        "no such product",
        "not in the catalogue",
    ),
    "no_such_order": (
        "no such order",
        "order does not exist",
        "order doesn't exist",
        "order not found",
        "order was not found",
        "another customer",
    ),
    "already_shipped": ("already shipped", "already sent", "already complete", "already completed", "final status"),
    "not_allowed": ("not allowed", "not permitted", "no permission", "no right", "forbidden", "only staff"),
    "no_such_person": ("no such person", "no such user", "no such customer", "no such member", "no account"),
    "no_such_ticket": ("no such ticket", "ticket does not exist", "ticket doesn't exist", "ticket was not found"),
    "no_such_topic": ("no such topic", "topic does not exist", "topic doesn't exist", "topic was not found"),
    "closed_topic": ("topic is locked", "topic is closed", "locked topic", "closed topic", "no longer accepts replies"),
    "slot_taken": ("already taken", "is taken", "already booked", "not free", "occupied"),
    "closed_then": ("only on weekdays", "works on weekdays", "on weekdays", "not on weekends", "closed on weekends"),
    "no_such_coupon": ("no such coupon", "coupon does not exist", "coupon doesn't exist", "no coupon found"),
}
"""By reason, the words that name it; the first are the oracle's. No words are part of another reason's words."""

CANNOT_FIND = ("not find", "cannot find", "can't find", "couldn't find", "unable to find")
"""How an answer says that something is not there."""


def refusal(reason: str, *more: str, beside: Collection[str] = ()) -> Refusal:
    """The answer to an impossible task.

    Args:
        reason: a key of `REASONS`.
        beside: other keys, whose words may be there, too ("locked, so new replies are not allowed").
        more: words that name the reason in this instance, such as `order 100123 does not exist`. The oracle gives
            the first of them as its reason.
    """
    return Refusal((*more, *REASONS[reason]), {name: words for name, words in REASONS.items() if name not in beside})


def exact_refusal(reason: str, *words: str) -> Refusal:
    """The answer to an impossible task whose general reason is too vague: it must have one of these words.

    Args:
        reason: a key of `REASONS`; its words may be there, too, but are not enough.
        words: the oracle gives the first of them.
    """
    return Refusal(words, {name: others for name, others in REASONS.items() if name != reason})
