"""Tasks about orders, as the staff see them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from components.worlds.answers import Answer
from components.worlds.city.tasks.dashboard.goods import DashboardTask
from components.worlds.city.tasks.template import Data, Facts, Row, Unsuitable
from components.worlds.city.tasks.vocabulary import names, number
from components.worlds.effects import Added, Changed, Effect, Incidental, words
from components.worlds.oracle import Step, click, fill, press

PIPELINE = {"Pending": ("Being processed", "Cancelled"), "Being processed": ("Complete", "Cancelled")}
"""The statuses that an order of each status may get; the form shows the first."""
_ORDERS = (
    "SELECT o.id, o.number, o.status, o.total_incl_tax AS total, o.date_placed AS placed, o.shipping_address_id, "
    "u.username, u.first_name || ' ' || u.last_name AS customer, u.email FROM order_order o "
    "JOIN auth_user u ON u.id = o.user_id ORDER BY o.date_placed DESC"
)


def orders(data: Data, *statuses: str) -> list[Row]:
    """The orders with one of these statuses, or all, the newest first; totals are texts with two decimals.

    Raises:
        Unsuitable: there is none.
    """
    rows = [{**row, "total": f"{float(row['total']):.2f}"} for row in data.rows(_ORDERS)]
    rows = [row for row in rows if not statuses or row["status"] in statuses]
    if not rows:
        raise Unsuitable(f"there is no order that is {' or '.join(statuses)}")
    return rows


LIST = [click("button", "Fulfilment"), click("link", "Orders")]


def open_order(number: str) -> list[Step]:
    """Search for a number: the dashboard opens the order."""
    return [*LIST, fill("Order number.*", number), press("Enter")]


def of_customer(name: str) -> list[Step]:
    """Search for the orders of a customer."""
    return [*LIST, click("link", "Advanced Search"), fill("Customer name", name), press("Enter")]


def set_status(old: str, new: str) -> list[Step]:
    """Choose a status in the order's form."""
    first = PIPELINE[old][0]
    chosen = [] if new == first else [click("select", first), click("option", new)]
    return [*chosen, click("button", "Change status")]


def add_note(text: str) -> list[Step]:
    """Write a note on the order."""
    return [click("link", "Notes"), fill("Message", text), click("button", "Save note")]


def new_status(facts: Facts) -> list[Effect]:
    """An order gets a status, which the shop writes down twice."""
    return [
        Changed("order_order", {"id": facts["id"]}, {"status": facts["new"]}),
        Added("order_orderstatuschange", {"order_id": facts["id"], "new_status": facts["new"]}),
        Added("order_ordernote", {"order_id": facts["id"], "note_type": "System"}),
    ]


def note(facts: Facts) -> Effect:
    """An order gets a note of the administrator."""
    return Added("order_ordernote", {"order_id": facts["id"], "message": words(facts["text"]), "note_type": ""})


def _order(data: Data, rng: random.Random) -> dict[str, Any]:
    order = rng.choice(orders(data, *PIPELINE))
    new = rng.choice(PIPELINE[order["status"]])
    return {"id": order["id"], "number": order["number"], "customer": order["customer"], "old": order["status"],
            "new": new}  # fmt: skip


class ChangeStatus(DashboardTask):
    """Move an order on in the pipeline, or cancel it."""

    name = "dashboard_order_status"
    length = "medium"
    phrasings = (
        'Set the status of order {number} to "{new}".',
        'Order {number} of {customer} is now "{new}". Change its status in the dashboard.',
        'Change the order status of number {number} from "{old}" to "{new}", and nothing else.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        return _order(data, rng)

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return new_status(facts)

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [*open_order(facts["number"]), *set_status(facts["old"], facts["new"])]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'Order {facts["number"]} has the status "{facts["new"]}".', "Nothing else changed."]


NOTES = (
    "The customer comes by on Saturday and fetches it.",
    "Wrap it as a present.",
    "Ring before you deliver, the gate is locked.",
    "Put the invoice into the box, not into the mail.",
    "The customer pays the rest in cash.",
    "Deliver to the boat, pontoon B.",
    "Leave out the catalogue.",
)


class AddNote(DashboardTask):
    """Leave a note on an order."""

    name = "dashboard_order_note"
    length = "medium"
    phrasings = (
        'Add this note to order {number}: "{text}"',
        'Write a note on the order {number} of {customer}: "{text}" Change nothing else.',
        'Order {number} needs a note for the staff. It says: "{text}"',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        return {**_order(data, rng), "text": rng.choice(NOTES)}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [note(facts)]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [*open_order(facts["number"]), *add_note(facts["text"])]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'Order {facts["number"]} has the note "{facts["text"]}".', "Nothing else changed."]


REASONS = (
    "Cancelled by telephone.",
    "The customer has ordered twice by mistake.",
    "The address does not exist, and the customer does not answer.",
    "We cannot get the goods before summer.",
)


class CancelWithReason(DashboardTask):
    """Cancel an order and note why."""

    name = "dashboard_cancel_order"
    length = "long"
    phrasings = (
        'Cancel order {number} and add this note to it: "{text}"',
        'Set the status of order {number} of {customer} to "Cancelled", and write the reason as a note: "{text}"',
        'The order {number} has to be cancelled. Leave a note on it that says "{text}"',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        return {**_order(data, rng), "new": "Cancelled", "text": rng.choice(REASONS)}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [*new_status(facts), note(facts)]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        steps = [*set_status(facts["old"], facts["new"]), *add_note(facts["text"])]
        return [*open_order(facts["number"]), *steps]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f'Order {facts["number"]} has the status "Cancelled".',
            f'It has the note "{facts["text"]}".',
            "Nothing else changed.",
        ]


STREETS = ("6 Sailmakers Yard", "22 Lock Street", "9 Tide Table Lane", "17 Old Slipway", "4 Beacon Hill", "30 Net Loft")


class ChangeAddress(DashboardTask):
    """Send an order to another street."""

    name = "dashboard_order_address"
    length = "medium"
    phrasings = (
        'Order {number} goes to another address: change the first line of its shipping address to "{street}".',
        'The customer of order {number} has moved. The first line of the shipping address of this order is "{street}".',
        'Correct the shipping address of order {number}: its first line should be "{street}". Leave the rest.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        order = rng.choice(orders(data, *PIPELINE))
        return {"id": order["id"], "number": order["number"], "address": order["shipping_address_id"],
                "street": rng.choice(STREETS)}  # fmt: skip

    def effects(self, facts: Facts) -> Sequence[Effect]:
        to = {"line1": facts["street"]}
        return [Changed("order_shippingaddress", {"id": facts["address"]}, to, also=("search_text",))]

    def incidental(self, facts: Facts) -> Sequence[Incidental]:
        return [Incidental("order_ordernote", {"order_id": facts["id"], "note_type": "System"})]  # one per update

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [
            *open_order(facts["number"]),
            click("link", "Shipping"),
            click("link", "Update"),
            fill("First line of address", facts["street"]),
            click("button", "Update address"),
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f'The first line of the shipping address of order {facts["number"]} is "{facts["street"]}".',
            "Nothing else changed.",
        ]


class CountOrders(DashboardTask):
    """How many orders of a customer have a status."""

    name = "dashboard_count_orders"
    length = "medium"
    phrasings = (
        'How many orders of {customer} have the status "{status}"?',
        'Count the orders of {customer} in the dashboard that are "{status}".',
        'Give me the number of all orders that {customer} has placed and whose status is "{status}".',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        rows = orders(data)
        customer, status = rng.choice(sorted({(row["customer"], row["status"]) for row in rows}))
        statuses = [row["status"] for row in rows if row["customer"] == customer]
        count = statuses.count(status)
        rivals = {statuses.count(other) for other in statuses} | {len(statuses)}
        return {"customer": customer, "status": status, "count": count, "rivals": sorted(rivals - {count})}

    def answer(self, facts: Facts) -> Answer:
        return number(facts["count"], near=facts["rivals"], named=self.given(facts))

    def evidence(self, facts: Facts) -> Sequence[str]:
        return [r"shop\.test/dashboard/(orders|users|reports)/.*"]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return of_customer(facts["customer"])

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f'The answer is {facts["count"]}, the orders of {facts["customer"]} with the status "{facts["status"]}".'
        ]


class WhoOrdered(DashboardTask):
    """Whose order this is."""

    name = "dashboard_who_ordered"
    length = "medium"
    phrasings = (
        "Who placed order {number}? Give the e-mail address of the customer.",
        "A parcel with the order number {number} has come back. Find the customer's e-mail address.",
        "Look up order {number} in the dashboard and tell me the e-mail address of the customer.",
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        rows = orders(data)
        order = rng.choice(rows)
        return {"number": order["number"], "email": order["email"], "emails": sorted({row["email"] for row in rows})}

    def answer(self, facts: Facts) -> Answer:
        return names([facts["email"]], facts["emails"], self.given(facts))

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return open_order(facts["number"])

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f"The answer is {facts['email']}, who placed order {facts['number']}."]


class LatestTotal(DashboardTask):
    """What a customer's latest order costs."""

    name = "dashboard_latest_total"
    length = "medium"
    phrasings = (
        "What is the total of the latest order of {customer}?",
        "{customer} asks how much the most recent order costs in all. Look it up and tell me the total.",
        "Find the newest order that {customer} has placed and give me its total with tax.",
        "How much did {customer} spend on the latest order?",
        "{customer} has written a cheque for the newest order. Which amount should be on it, by the order's total?",
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        rows = orders(data)
        customer = rng.choice(sorted({row["customer"] for row in rows}))
        own = [row for row in rows if row["customer"] == customer]
        totals = [row["total"] for row in own]
        if totals.count(totals[0]) > 1 or len(totals) < 2:
            raise Unsuitable(f"{customer} has no two orders with different totals")
        return {"customer": customer, "total": totals[0], "number": own[0]["number"], "others": totals[1:]}

    def answer(self, facts: Facts) -> Answer:
        return number(facts["total"], given=[facts["number"]], near=facts["others"])

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return of_customer(facts["customer"])

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f"The answer is ${facts['total']}, the total of the latest order of {facts['customer']}."]


class ExtremeOrder(DashboardTask):
    """The order of a customer with the highest or the lowest total."""

    name = "dashboard_extreme_order"
    length = "medium"
    phrasings = (
        "Which of the orders of {customer} has the {which} total? Give its number.",
        "Find the order of {customer} with the {which} total and tell me the order number.",
        "Of all orders that {customer} has placed, which one has the {which} total? The order number is enough.",
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        rows, which = orders(data), rng.choice(("highest", "lowest"))
        customer = rng.choice(sorted({row["customer"] for row in rows}))
        own = [row for row in rows if row["customer"] == customer]
        ranked = sorted(own, key=lambda row: float(row["total"]), reverse=which == "highest")
        if len(ranked) < 2 or ranked[0]["total"] == ranked[1]["total"]:
            raise Unsuitable(f"{customer} has no order with the {which} total")
        others = [row["number"] for row in ranked[1:5]]
        first = {"number": ranked[0]["number"], "total": ranked[0]["total"]}
        return {"customer": customer, "which": which, **first, "others": others}

    def answer(self, facts: Facts) -> Answer:
        return number(facts["number"], given=[facts["total"]], near=facts["others"])

    def oracle(self, facts: Facts) -> Sequence[Step]:
        by_total = [click("link", "Total inc tax")]
        return [*of_customer(facts["customer"]), *by_total * (2 if facts["which"] == "highest" else 1)]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f"The answer is {facts['number']}, the {facts['which']} order of {facts['customer']}."]
