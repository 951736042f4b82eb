"""The desk's tickets of a seed: which exist, who wrote them on which order, how urgent they are, who answers."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.utils import timezone

from city import rows
from city.people import DOMAIN
from city.sites.desk.tickets import QUEUES, TICKETS, Ticket
from city.sites.shop import orders
from city.sites.shop.orders import CUSTOMERS, Order

STATUS = {"open": 1, "reopened": 2, "resolved": 3, "closed": 4}
STAFF = ("dana", "piet")
EARLIER = 9
"""Fixed tickets are older than so many days, if their order is: the letters that refer to them came later."""
MISFILED, ABSENT = 0.12, 0.15
"""The shares of tickets that lie in a wrong queue and that do not exist in a seed."""


@dataclass(frozen=True)
class Filed:
    """A ticket as it lies at the desk: its text names an order, its answers have dates."""

    ticket: Ticket
    created: dt.datetime

    def dates(self) -> list[dt.datetime]:
        """When its answers were written."""
        step = (timezone.now() - self.created) / (len(self.ticket.answers) + 1)
        return [
            self.created + min(step, dt.timedelta(hours=7)) * number
            for number in range(1, len(self.ticket.answers) + 1)
        ]


def vary(rng: random.Random) -> None:
    """Change the bound copy's tickets; without an entry, a ticket does not exist in this seed."""
    placed = orders.read()
    tickets = [_varied(ticket, rng) if ticket.fixed or rng.random() >= ABSENT else None for ticket in TICKETS]
    write([ticket and file(ticket, placed, rng) for ticket in tickets])


def file(ticket: Ticket, placed: Sequence[Order], rng: random.Random) -> Filed:
    """Give a ticket its date, and an order that fits to it. Unless it is fixed, its author is who placed the order.

    Raises:
        ValueError: no order fits.
    """
    now = timezone.now()
    if "{order}" not in ticket.text + ticket.title:
        days = rng.uniform(EARLIER, 40) if ticket.fixed else rng.uniform(0.4, 40)
        return Filed(ticket, (now - dt.timedelta(days=days)).replace(second=0, microsecond=0))
    fitting = [order for order in placed if _fits(ticket, order)]
    own = [order for order in fitting if order.username == ticket.username]
    if not (own or fitting) or (ticket.fixed and not own):
        raise ValueError(f"no order fits to the ticket {ticket.title!r}: promise one in the shop's orders")
    order = own[0] if ticket.fixed else rng.choice(own or fitting)
    age = now - order.placed
    latest = max(0.1, 1 - dt.timedelta(days=EARLIER) / age) if ticket.fixed else 0.8
    created = order.placed + age * rng.uniform(0.02, latest)
    filled = replace(
        _by(ticket, order.username),
        title=ticket.title.replace("{order}", order.number),
        text=ticket.text.replace("{order}", order.number),
    )
    return Filed(filled, created.replace(second=0, microsecond=0))


def _fits(ticket: Ticket, order: Order) -> bool:
    return (not ticket.article or order.contains(ticket.article)) and ticket.order_status in ("", order.status)


def _by(ticket: Ticket, username: str) -> Ticket:
    """The ticket as another customer wrote it."""
    answers = tuple((username if name == ticket.username else name, text) for name, text in ticket.answers)
    return replace(ticket, username=username, answers=answers)


def _varied(ticket: Ticket, rng: random.Random) -> Ticket:
    priority = rng.choices((1, 2, 3, 4, 5), [4 if number == ticket.priority else 1 for number in range(1, 6)])[0]
    ticket = replace(ticket, priority=priority)
    if not ticket.answers:
        ticket = replace(ticket, assigned=rng.choice((*STAFF, None)))
    elif not ticket.fixed and rng.random() < 0.5:  # the other one has answered
        other = dict(zip(STAFF, reversed(STAFF), strict=True))
        answers = tuple((other.get(name, name), text) for name, text in ticket.answers)
        ticket = replace(ticket, answers=answers, assigned=other.get(ticket.assigned or "", ticket.assigned))
    if ticket.fixed:
        return ticket
    if len(ticket.answers) % 2:  # the desk has the last word
        ticket = replace(ticket, status=rng.choice(("open", "resolved", "closed")))
    elif ticket.answers:
        ticket = replace(ticket, status=rng.choice((ticket.status, "open")))
    elif rng.random() < 0.1:
        ticket = replace(ticket, status="closed")
    if rng.random() < MISFILED:
        ticket = replace(ticket, queue=rng.choice([slug for _, slug in QUEUES if slug != ticket.queue]))
    return _by(ticket, rng.choice(CUSTOMERS).username)


def write(filed: Sequence[Filed | None]) -> None:
    """Make these the tickets of the bound copy, which has a row for each of `TICKETS`; None removes its row."""
    users = {row["username"]: row["id"] for row in rows.select("SELECT id, username FROM auth_user")}
    queues = {row["slug"]: row["id"] for row in rows.select("SELECT id, slug FROM helpdesk_queue")}
    present = [(number, entry) for number, entry in enumerate(filed, start=1) if entry is not None]
    rows.replace(
        "helpdesk_followup",
        (
            {"ticket_id": number, "comment": text, "user_id": users[username], "date": date}
            for number, entry in present
            for (username, text), date in zip(entry.ticket.answers, entry.dates(), strict=True)
        ),
    )
    for number, entry in enumerate(filed, start=1):
        if entry is None:
            rows.execute("DELETE FROM helpdesk_ticket WHERE id = %s", [number])
    rows.update(
        "helpdesk_ticket",
        (
            {
                "id": number,
                "title": entry.ticket.title,
                "description": entry.ticket.text,
                "submitter_email": f"{entry.ticket.username}@{DOMAIN}",
                "queue_id": queues[entry.ticket.queue],
                "priority": entry.ticket.priority,
                "status": STATUS[entry.ticket.status],
                "assigned_to_id": users.get(entry.ticket.assigned or ""),
                "created": entry.created,
                "modified": max([entry.created, *entry.dates()]),
            }
            for number, entry in present
        ),
    )
