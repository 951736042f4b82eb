"""Names of which the city has few. One that stands alone beside a right answer of another kind is a guess: a list with
one name of each kind would be right in many tasks."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from components.worlds.answers import Names, Number
from components.worlds.plain_text import has_phrase, plain

ORDER_STATUSES = ("Pending", "Being processed", "Complete", "Cancelled")
TICKET_STATUSES = ("Open", "Reopened", "Resolved", "Closed")
PRIORITIES = ("Critical", "High", "Normal", "Low", "Very Low")
FORUMS = ("Announcements", "Boats and gear", "Passages", "Buy and sell", "The quay")
PEOPLE = (
    "Ada Mint",
    "Alice Moreno",
    "Bruno Achterberg",
    "Chiara Lindqvist",
    "Dmitri Okafor",
    "Esther Tanaka",
    "Farid Novak",
    "Greta Silva",
    "Hugo Brennan",
    "Ines Kowalski",
    "Jonas Ferreira",
    "Dana Whitlock",
    "Piet Vermeer",
)
USERS = ("admin", *(person.split()[0].lower() for person in PEOPLE[1:]))
ADDRESSES = tuple(f"{user}@harbour.test" for user in USERS)
VOCABULARY = (*ORDER_STATUSES, *TICKET_STATUSES, *PRIORITIES, *FORUMS, *PEOPLE, *USERS, *ADDRESSES)


def number(
    value: Decimal | int | float | str,
    given: Sequence[Decimal | int | float | str] = (),
    near: Sequence[Decimal | int | float | str] = (),
    nothing: Sequence[str] = (),
    is_part: bool = False,
    named: Sequence[str] = (),
) -> Number:
    """The answer that names the number `value`, as `Number` says, and no name of another kind in a list with it.

    Args:
        named: texts of the task. An answer may begin with a name in them: "Alice Moreno: 3".
    """
    text = plain(" ; ".join(named))
    labels = [name for name in VOCABULARY if has_phrase(text, plain(name))]
    return Number(value, given, near, nothing, is_part, VOCABULARY, [*labels, *named])


def names(right: Sequence[str], among: Sequence[str], given: Sequence[str] = ()) -> Names:
    """The answer that names all of `right` and no other of `among`, nor, as a part of a list, a name of another kind.

    Args:
        given: texts that the task itself names.
    """
    return Names(right, among, given, VOCABULARY)
