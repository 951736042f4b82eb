"""Tickets in the data, the way to one, and what each action of the desk changes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from components.worlds.city.tasks.template import Data, Row, Template, Unsuitable
from components.worlds.effects import Added, Changed, Effect, KeyOf, Value, words
from components.worlds.oracle import Step, choose, click, fill, press

OPEN, REOPENED, RESOLVED, CLOSED = 1, 2, 3, 4
STATUSES = {OPEN: "Open", REOPENED: "Reopened", RESOLVED: "Resolved", CLOSED: "Closed"}
ACTIVE = (OPEN, REOPENED)
PRIORITIES = {1: "1. Critical", 2: "2. High", 3: "3. Normal", 4: "4. Low", 5: "5. Very Low"}
STAFF = {"dana": "Dana Whitlock", "piet": "Piet Vermeer"}
_TICKETS = """
    SELECT t.id, t.title, t.description, t.status, t.priority, t.on_hold, t.created, t.submitter_email AS email,
        q.id AS queue_id, q.title AS queue, q.slug, u.username AS owner,
        (SELECT count(*) FROM helpdesk_followup f WHERE f.ticket_id = t.id) AS answers
    FROM helpdesk_ticket t JOIN helpdesk_queue q ON q.id = t.queue_id LEFT JOIN auth_user u ON u.id = t.assigned_to_id
    ORDER BY t.id
"""


def tickets(data: Data, *statuses: int) -> list[Row]:
    """The tickets with one of these statuses, or all."""
    return [row for row in data.rows(_TICKETS) if not statuses or row["status"] in statuses]


def pick(rows: Sequence[Row], rng: random.Random, kind: str) -> Row:
    """One of these rows.

    Raises:
        Unsuitable: there is none.
    """
    if not rows:
        raise Unsuitable(f"there is no {kind}")
    return rng.choice(rows)


def named(ticket: Row, **more: Any) -> dict[str, Any]:
    """The facts by which a task names a ticket."""
    return {"ticket": ticket["id"], "title": ticket["title"], **more}


def user_ids(data: Data) -> dict[str, int]:
    """The keys of all users, by username."""
    return {row["username"]: row["id"] for row in data.rows("SELECT id, username FROM auth_user")}


class DeskTask(Template):
    """A task of Dana, who works at the desk."""

    sites = ("desk",)
    logins = {"desk": "dana"}
    start = "/dashboard/"


def find_ticket(number: int) -> list[Step]:
    """Search for a number: the desk opens the ticket."""
    return [fill("Search", str(number)), press("Enter")]


def respond(number: int, *steps: Step) -> list[Step]:
    """Fill in the response form of a ticket and save it."""
    return [*find_ticket(number), click("tab", "Respond"), *steps, click("button", "Save")]


def comment(text: str) -> Step:
    """Write the comment of a response."""
    return fill("Comment / Resolution", text)


def details(priority: int | None = None, queue: str = "") -> list[Step]:
    """Change a ticket's details in its response form."""
    steps = [click("button", "Update ticket details")]
    steps += [choose("Priority.*", PRIORITIES[priority])] if priority is not None else []
    return [*steps, *([choose("Queue.*", queue, is_data=True)] if queue else [])]


def followup(ticket: int, text: str, is_public: bool, **more: Any) -> Effect:
    """A follow-up of Dana on a ticket is added."""
    values = {"ticket_id": ticket, "author": "dana", "comment": words(text), "public": is_public, **more}
    return Added("helpdesk_followup", values)


def new_status(ticket: int, old: int, new: int, text: str) -> list[Effect]:
    """A ticket gets a status, with a public comment."""
    to: dict[str, Any] = {"status": new}
    comment_on_it = followup(ticket, text, True, new_status=new)
    # the status in the user's language
    in_words: dict[str, Value] = {"followup_id": KeyOf(comment_on_it), "new_value": some_text}
    return [
        Changed("helpdesk_ticket", {"id": ticket, "status": old}, to, also=("resolution",)),
        comment_on_it,
        Added("helpdesk_ticketchange", in_words),
    ]


def some_text(value: str | None) -> bool:
    """A column that is not empty."""
    return bool(value)


def no_text(value: str | None) -> bool:
    """An empty column."""
    return not value
