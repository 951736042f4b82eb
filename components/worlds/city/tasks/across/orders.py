"""Orders of the shop that are changed because a ticket at the desk asks for it."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

from components.worlds.answers import Answer
from components.worlds.city.tasks import addresses
from components.worlds.city.tasks.across.named import STAFF, TICKETS, open_order
from components.worlds.city.tasks.refusals import refusal
from components.worlds.city.tasks.template import Data, Facts, Template, pick
from components.worlds.effects import Added, Changed, Effect, Incidental, words
from components.worlds.oracle import Step, choose, click, fill, press

STREET = re.compile(r"\d+ [A-Z][\w'’]+(?: [A-Z][\w'’]+)* (?:Yard|Lane|Walk)")


class CancelOrder(Template):
    """Cancel the order that a ticket names."""

    name = "across_cancel_order"
    sites = ("desk", "shop")
    start = "/tickets/{ticket}/"
    length = "medium"
    logins = STAFF
    phrasings = (
        "Cancel the order that {person} names in ticket {ticket}. The orders are in the shop's dashboard, "
        "shop.test/dashboard. Do not change the ticket.",
        "{person} has called: the order in ticket {ticket} shall be cancelled. Set its status to Cancelled in "
        "shop.test/dashboard and leave the ticket alone.",
        "In the shop's dashboard (shop.test/dashboard), please change the status of the order of ticket {ticket} by "
        "{person} to Cancelled. The ticket itself stays as it is.",
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        return pick(data.rows(TICKETS + " AND o.status IN ('Pending', 'Being processed')"), rng)

    def effects(self, facts: Facts) -> Sequence[Effect]:
        change = {"order_id": facts["order_id"], "old_status": facts["order_status"], "new_status": "Cancelled"}
        return [
            Changed("order_order", {"id": facts["order_id"]}, {"status": "Cancelled"}),
            Added("order_orderstatuschange", change),
        ]

    def incidental(self, facts: Facts) -> Sequence[Incidental]:
        return [Incidental("order_ordernote", {"order_id": facts["order_id"], "note_type": "System"})]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        status = "Being processed|Complete|Cancelled"
        return [*open_order(facts), choose(status, "Cancelled"), press("Enter"), click("button", "Change status")]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f"Order {facts['number']} is cancelled.",
            f"Ticket {facts['ticket']} is unchanged.",
            "No other order was changed.",
        ]


class CancelCompleteOrder(Template):
    """A ticket's order shall be cancelled, but it is complete."""

    name = "across_cancel_complete_order"
    sites = ("desk", "shop")
    start = "/tickets/{ticket}/"
    length = "short"
    logins = STAFF
    phrasings = CancelOrder.phrasings

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        return pick(data.rows(TICKETS + " AND o.status = 'Complete'"), rng)

    def answer(self, facts: Facts) -> Answer:
        more = (
            "is complete",
            "order complete",
            "status complete",
            "complete already",
            "been completed",
            "was completed",
        )
        shown = ("can't have its status changed", "cannot have its status changed")  # what the dashboard says
        return refusal("already_shipped", *more, *shown, unclear=more)

    def evidence(self, facts: Facts) -> Sequence[str]:
        return [addresses.ORDERS_OF_STAFF]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return open_order(facts)

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f"The answer says that order {facts['number']} is already complete.", "Nothing was changed."]


class FixAddress(Template):
    """Change the address of an order as its ticket asks."""

    name = "across_fix_address"
    sites = ("desk", "shop")
    start = "/tickets/{ticket}/"
    length = "medium"
    logins = STAFF
    phrasings = (
        "{person} names a new street in ticket {ticket}. Change the shipping address of that order in the shop's "
        "dashboard, shop.test/dashboard; only its first line.",
        "Read ticket {ticket} by {person} and put the street from it into the first line of the order's shipping "
        "address "
        "in shop.test/dashboard. The rest of the address stays.",
        "Do what {person} asks for in ticket {ticket}: update the first line of the order's shipping address in the "
        "dashboard of the shop (shop.test/dashboard). Do not answer the ticket.",
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        rows = [
            {**row, "street": street[0]} for row in data.rows(TICKETS) if (street := STREET.findall(row["description"]))
        ]
        return pick(rows, rng)

    def effects(self, facts: Facts) -> Sequence[Effect]:
        where, to = {"id": facts["address"]}, {"line1": words(facts["street"])}
        return [Changed("order_shippingaddress", where, to, also=("search_text",))]

    def incidental(self, facts: Facts) -> Sequence[Incidental]:
        return [Incidental("order_ordernote", {"order_id": facts["order_id"], "note_type": "System"})]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [
            *open_order(facts),
            click("link", "Shipping"),
            click("link", "Update"),
            fill("First line of address", facts["street"]),
            click("button", "Update address"),
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f'Order {facts["number"]} goes to "{facts["street"]}".',
            "The other lines of its address are as before.",
            f"Ticket {facts['ticket']} is unchanged.",
        ]


class NoteFromTicket(Template):
    """Note a ticket on the order that it names."""

    name = "across_note_from_ticket"
    sites = ("desk", "shop")
    start = "/tickets/{ticket}/"
    length = "medium"
    logins = STAFF
    phrasings = (
        'Add the note "See ticket {ticket} of {person}" to the order that this ticket names. Orders and their '
        "notes are "
        "in shop.test/dashboard.",
        "The people who pack should know of ticket {ticket} by {person}. In the shop's dashboard, "
        "shop.test/dashboard, put "
        'the note "See ticket {ticket} of {person}" on the order named in it.',
        'Open the order of ticket {ticket} in shop.test/dashboard and save there the note "See ticket {ticket} of '
        '{person}".',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        return pick(data.rows(TICKETS), rng)

    def effects(self, facts: Facts) -> Sequence[Effect]:
        text = words(f"See ticket {facts['ticket']} of {facts['person']}")
        return [Added("order_ordernote", {"order_id": facts["order_id"], "message": text})]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [
            *open_order(facts),
            click("link", "Notes"),
            fill("Message", f"See ticket {facts['ticket']} of {facts['person']}"),
            click("button", "Save note"),
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f'Order {facts["number"]} has the note "See ticket {facts["ticket"]} of {facts["person"]}".',
            "No other order has a new note.",
        ]
