"""What tasks about letters share: queries, what a folder shows, the way to a letter, and the effects of writing."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import Any

from components.worlds.answers import Phrase
from components.worlds.city.tasks.template import Data, Facts, Row, pick
from components.worlds.effects import Added, Effect, contains, words
from components.worlds.oracle import Step, click, fill, press

LETTERS = """SELECT m.id AS letter, m.subject, m.body, m.sent_at, m.thread_id AS thread, m.read_at,
    m.sender_id, m.recipient_id, s.username AS sender, r.username AS recipient,
    s.first_name || ' ' || s.last_name AS sender_name, r.first_name || ' ' || r.last_name AS recipient_name,
    m.sender_archived, m.recipient_archived, m.sender_deleted_at, m.recipient_deleted_at
    FROM postman_message m JOIN auth_user s ON s.id = m.sender_id JOIN auth_user r ON r.id = m.recipient_id
    ORDER BY m.id"""
PEOPLE = """SELECT id AS person_id, username, first_name || ' ' || last_name AS person FROM auth_user
    WHERE is_active = 1 AND is_superuser = 0 ORDER BY username"""
NUMBERS = """SELECT number AS name, 'order' AS kind FROM order_order UNION ALL
    SELECT q.slug || '-' || t.id, 'ticket' FROM helpdesk_ticket t JOIN helpdesk_queue q ON q.id = t.queue_id"""
"""Of orders, and of tickets as letters name them."""
_NUMBER = re.compile(r"\b(?:1\d{5}|[a-z]+-\d+)\b")


def received(data: Data) -> list[Row]:
    """Letters that their recipients have not deleted, the oldest first."""
    return [row for row in data.rows(LETTERS) if row["recipient_deleted_at"] is None]


def own(data: Data, user: str) -> list[Row]:
    """The letters that a person has sent or received and not deleted, the oldest first."""
    sides = ("sender", "recipient")
    return [
        row
        for row in data.rows(LETTERS)
        if any(row[side] == user and row[f"{side}_deleted_at"] is None for side in sides)
    ]


def inbox(data: Data) -> list[Row]:
    """The newest received letter of each conversation in the inbox of each person, if the inbox has one such subject.

    These are the links that the inbox shows.
    """
    newest = {
        (row["recipient"], row["thread"] or -row["letter"]): row
        for row in received(data)
        if not row["recipient_archived"]
    }
    shown = [(row["recipient"], row["subject"]) for row in newest.values()]
    return [row for row in newest.values() if shown.count((row["recipient"], row["subject"])) == 1]


def person(data: Data, rng: random.Random, *without: str) -> dict[str, Any]:
    """A person with an account: `person`, `person_id` and `username`."""
    return pick([row for row in data.rows(PEOPLE) if row["username"] not in without], rng)


def writer(data: Data, rng: random.Random, *without: str) -> dict[str, Any]:
    """A person who is logged in: `user` and `user_id`."""
    row = person(data, rng, *without)
    return {"user": row["username"], "user_id": row["person_id"]}


def number_in(text: str, numbers: Sequence[Row]) -> Row | None:
    """The only one of the orders and tickets (`NUMBERS`) that a text names, as `name` and `kind`."""
    known = {row["name"]: row for row in numbers}
    named = {name for name in _NUMBER.findall(text) if name in known}
    return known[named.pop()] if len(named) == 1 else None


def the_number(facts: Facts) -> Phrase:
    """The order or ticket number `number`, and no other one of `numbers`."""
    return Phrase([facts["number"]], [name for name in facts["numbers"] if name != facts["number"]])


def letter(facts: Facts, body: Callable[[str | None], bool] | None = None) -> Effect:
    """The effect of a new letter from the user to the person, with the subject `title` and the text `text`."""
    values = {"sender_id": facts["user_id"], "recipient_id": facts["person_id"], "parent_id": None}
    return Added("postman_message", values | {"subject": facts["title"], "body": body or words(facts["text"])})


def answer_to(facts: Facts) -> Effect:
    """The effect of an answer with the text `text` to the letter `letter`."""
    values = {"sender_id": facts["user_id"], "recipient_id": facts["person_id"], "parent_id": facts["letter"]}
    subject = facts["subject"].removeprefix("Re: ")
    return Added("postman_message", values | {"subject": contains(subject), "body": _unquoted(facts["text"])})


def _unquoted(text: str) -> Callable[[str | None], bool]:
    """A text with these words, with or without the letter that it answers as a quotation."""
    is_text = words(text)

    def is_right(value: str | None) -> bool:
        lines = (value or "").splitlines()
        quoted = [number for number, line in enumerate(lines) if line.startswith(">")]
        before = [number for number in range(quoted[0]) if lines[number].strip()] if quoted else []
        if before and lines[before[-1]].rstrip().endswith(":"):  # "Dana Whitlock wrote:", in the user's language
            del lines[before[-1]]
        return is_text("\n".join(line for line in lines if not line.startswith(">")))

    return is_right


def says(answer: Phrase) -> Callable[[str | None], bool]:
    """A text that is a right answer."""
    return lambda text: text is not None and answer.accepts(text)


def search(text: str) -> list[Step]:
    """From any page of the mail to the letters with these words."""
    return [fill("Search letters", text), press("Enter")]


def open_letter(facts: Facts) -> Step:
    """From the inbox to the conversation."""
    return click("link", re.escape(facts["subject"]))


def write(facts: Facts, text: str) -> list[Step]:
    """From any page of the mail to a sent letter to the person."""
    return [click("link", "Address book"), *write_here(facts, text)]


def write_here(facts: Facts, text: str) -> list[Step]:
    """From the address book to a sent letter to the person."""
    return [
        click("link", f"Write to {re.escape(facts['person'])}"),
        fill("Subject", facts["title"]),
        fill("Body", text),
        click("button", "Send"),
    ]
