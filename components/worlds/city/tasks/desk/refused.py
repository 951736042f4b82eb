"""Requests to the desk that cannot be met."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from components.worlds.answers import Answer
from components.worlds.city.tasks.desk.responses import SOLUTIONS
from components.worlds.city.tasks.desk.tickets import ACTIVE, DeskTask, find_ticket, named, pick, tickets
from components.worlds.city.tasks.refusals import CANNOT_FIND, missing, refusal
from components.worlds.city.tasks.template import Data, Facts
from components.worlds.oracle import Step


class CloseUnknownTicket(DeskTask):
    """Close a ticket that does not exist."""

    name = "desk_close_unknown_ticket"
    length = "short"
    phrasings = (
        'Close ticket {ticket} with the public comment "{text}" If that is not possible, say why.',
        'Set ticket number {ticket} to closed, with the public comment "{text}" Tell me the reason if you cannot.',
        'Write the public comment "{text}" on ticket {ticket} and close it. Give the reason if it cannot be done.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        numbers = [row["id"] for row in tickets(data)]
        missing = sorted({*range(1, max(numbers) + 21)} - {*numbers})
        return {"ticket": rng.choice(missing), "text": rng.choice(SOLUTIONS)}

    def answer(self, facts: Facts) -> Answer:
        number = facts["ticket"]
        return refusal(
            "no_such_ticket",
            f"ticket {number} does not exist",
            f"ticket {number} doesn't exist",
            f"no ticket {number}",
            f"no ticket with the number {number}",
            f"no ticket number {number}",
            "no ticket with that number",
            *(f"ticket {number} {missing}" for missing in ("was not found", "is not found", "not found")),
            *(f"{find} ticket {number}" for find in CANNOT_FIND),
            "could not be found",
            "it does not exist",
            "it doesn't exist",
            *missing("ticket", str(number)),
        )

    def evidence(self, facts: Facts) -> Sequence[str]:
        return [
            r"desk\.test/(tickets|kanban|reports|admin/helpdesk/ticket)/",
            rf"404 desk\.test/tickets/{facts['ticket']}/.*",
        ]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return find_ticket(facts["ticket"])

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f"The answer says that ticket {facts['ticket']} does not exist.", "Nothing changed."]


class AssignToCustomer(DeskTask):
    """Make a customer the owner of a ticket, which only the staff can be."""

    name = "desk_assign_to_customer"
    length = "short"
    phrasings = (
        'Assign ticket {ticket}, "{title}", to {person}. If that is not possible, say why.',
        'Make {person} the owner of ticket number {ticket} ("{title}"), or tell me the reason if you cannot.',
        '{person} offers to take care of ticket {ticket} ("{title}"). Assign it. Give the reason if it cannot be done.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        people = data.rows(
            "SELECT first_name || ' ' || last_name AS person FROM auth_user WHERE NOT is_staff ORDER BY id"
        )
        person = pick(people, rng, "customer")["person"]
        return named(pick(tickets(data, *ACTIVE), rng, "open ticket"), person=person)

    def answer(self, facts: Facts) -> Answer:
        return refusal("not_allowed", "only staff can own a ticket", "not staff", "isn't staff",
                       "not a member of staff",
                       "isn't a member of staff", "not a staff", "isn't a staff", "only staff members",
                       "not a staff member", "not in the list", "not listed", "not among the owners",
                       "not available as an owner", "not available in", "not an option", "not an owner",
                       "not offered as an owner", "not in the dropdown", "not in the owner")  # fmt: skip

    def evidence(self, facts: Facts) -> Sequence[str]:
        return [rf"desk\.test/tickets/({facts['ticket']}/.*)?", r"desk\.test/admin/.*"]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return find_ticket(facts["ticket"])

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f"The answer says that {facts['person']} is not staff and can own no ticket.", "Nothing changed."]
