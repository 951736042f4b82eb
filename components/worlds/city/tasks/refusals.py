"""Reasons for which tasks are impossible, and the words by which an answer names them."""

from __future__ import annotations

from collections.abc import Collection

from components.worlds.answers import Refusal
from components.worlds.city.tasks.vocabulary import VOCABULARY

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
    "slot_taken": ("already taken", "is taken", "already booked", "already reserved", "not free", "occupied"),
    "closed_then": ("only on weekdays", "works on weekdays", "on weekdays", "not on weekends", "closed on weekends"),
    "no_such_coupon": ("no such coupon", "coupon does not exist", "coupon doesn't exist", "no coupon found"),
}
"""By reason, the words that name it; the first are the oracle's. No words are part of another reason's words."""

NOT_PERMITTED = (
    "not have permission",
    "don't have permission",
    "doesn't have permission",
    "not have the permission",
    "don't have the permission",
    "not authorised",
    "not authorized",
    "isn't authorised",
    "isn't authorized",
)
"""How an answer says that a user may not do something, besides the words of `REASONS`."""
MORE = {
    "already_shipped": ("is complete", "been completed", "was completed"),
    "not_allowed": (
        "only the staff",
        "staff only",
        "only the author",
        "not a member of staff",
        "may not book",
        *NOT_PERMITTED,
    ),
    "no_such_person": ("not in the address book", "isn't in the address book", "knows no user"),
    "closed_then": ("weekdays only",),
}
"""Words of single tasks that name a reason as clearly as `REASONS` do, and so are wrong where another one is right."""

CANNOT_FIND = ("not find", "cannot find", "can't find", "couldn't find", "unable to find")
"""How an answer says that something is not there."""

VAGUE = (
    ("not available", "isn't available"),
    (
        "not found",
        *CANNOT_FIND,
        "could not be found",
        "couldn't be found",
        "not exist",
        "doesn't exist",
        "no results",
        "unknown",
    ),
    ("invalid", "not valid", "isn't valid"),
    ("locked",),
)
"""Words that do not tell one reason from another, in groups of equal meaning."""

UNCLEAR = ("is taken", "no right", "unavailable")
"""Words of `REASONS` that refuse only beside a word such as "cannot"."""


def refusal(reason: str, *more: str, beside: Collection[str] = (), unclear: Collection[str] = ()) -> Refusal:
    """The answer to an impossible task.

    Args:
        reason: a key of `REASONS`.
        beside: other keys, whose words in `REASONS` and `NOT_PERMITTED` may be there, too ("locked, so new replies are
            not allowed").
        more: words that name the reason in this instance, such as `order 100123 does not exist`. The oracle gives
            the first of them as its reason.
        unclear: those of `more` that refuse only beside a word such as "cannot": "the order is complete" may also say
            that it was completed.
    """
    others = {name: words for name, words in _names().items() if name != reason}
    others |= {name: tuple(words for words in MORE.get(name, ()) if words not in NOT_PERMITTED) for name in beside}
    return _refusal((*more, *REASONS[reason]), others, unclear)


def exact_refusal(reason: str, *words: str, unclear: Collection[str] = ()) -> Refusal:
    """The answer to an impossible task whose general reason is too vague: it must have one of these words.

    Args:
        reason: a key of `REASONS`; its words may be there, too, but are not enough.
        words: the oracle gives the first of them.
        unclear: as for `refusal`.
    """
    return _refusal(words, {name: others for name, others in _names().items() if name != reason}, unclear)


def missing(thing: str, *names: str) -> list[str]:
    """Words that say that a thing, such as a ticket, does not exist.

    Args:
        names: what the task calls it, such as its number.
    """
    which = ("this", "that", "the given", "such a")
    kinds = ("name", "number", "id")
    unnamed = [f"no {thing} {link} {this} {kind}" for link in ("with", "of", "by") for this in which for kind in kinds]
    by_number = ("number ", "with number ", "with the number ", "with id ", "with the id ")
    by_code = ("with code ", "with the code ")
    by_name = ("named ", "called ", "with the name ", "by the name ", "by the name of ", "of the name ")
    links = ("", "with ", *by_number, *by_code, *by_name)
    ends = [f"{be} found" for be in ("was not", "wasn't", "could not be", "couldn't be", "cannot be", "can't be")]
    ends += ["does not exist", "doesn't exist"]
    unnamed += [f"no {thing} found", f"no {thing}s found", f"no {thing}s match", f"no matching {thing}"]
    return [
        *unnamed,
        *(f"no {thing} {link}{name}" for link in links for name in names),
        *(f"{thing} {link}{name} {end}" for link in ("", *by_number, *by_code) for name in names for end in ends),
    ]


def _refusal(reason: tuple[str, ...], others: dict[str, tuple[str, ...]], unclear: Collection[str]) -> Refusal:
    clear = [words for words in reason if words not in (*unclear, *UNCLEAR)]
    return Refusal(reason, others, clear, VAGUE, VOCABULARY, clear)


def _names() -> dict[str, tuple[str, ...]]:
    return {name: (*words, *MORE.get(name, ())) for name, words in REASONS.items()}
