"""Requests to the shop's staff that cannot be met."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from components.worlds.answers import Answer
from components.worlds.city.tasks import addresses
from components.worlds.city.tasks.dashboard.goods import DashboardTask
from components.worlds.city.tasks.dashboard.orders import REASONS, open_order, orders
from components.worlds.city.tasks.refusals import CANNOT_FIND, missing, refusal
from components.worlds.city.tasks.template import Data, Facts
from components.worlds.oracle import Step


class CancelFinalOrder(DashboardTask):
    """Cancel an order that is complete or cancelled, which the pipeline does not allow."""

    name = "dashboard_cancel_final_order"
    length = "medium"
    phrasings = (
        'Set the status of order {number} to "{new}". If that is not possible, say why.',
        'Change the status of the order {number} of {customer} to "{new}", or tell me the reason if you cannot.',
        'Order {number} should be "{new}". Change its status. Give the reason if it cannot be done.',
        'Please make the order {number} "{new}" in the dashboard. If you cannot, tell me why.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        order = rng.choice(orders(data, "Complete", "Cancelled"))
        others = {"Complete": "Cancelled", "Cancelled": "Being processed"}
        return {"number": order["number"], "customer": order["customer"], "old": order["status"],
                "new": others[order["status"]]}  # fmt: skip

    def answer(self, facts: Facts) -> Answer:
        old = facts["old"].lower()
        deed = "completed" if old == "complete" else old
        return refusal("already_shipped", f"the order is already {old}", "can't have its status changed",
                       "cannot have its status changed", "status can no longer be changed",
                       "status cannot be changed", f"already {old}", f"is {old}", f"status {old}",
                       f"been {deed}", f"was {deed}", beside=("not_allowed",),
                       unclear=(f"is {old}", f"status {old}", f"been {deed}", f"was {deed}"))  # fmt: skip

    def evidence(self, facts: Facts) -> Sequence[str]:
        return [addresses.ORDERS_OF_STAFF]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return open_order(facts["number"])

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f"The answer says that order {facts['number']} is {facts['old'].lower()} for good.", "Nothing changed."]


class NoteOnUnknownOrder(DashboardTask):
    """Write a note on an order that does not exist."""

    name = "dashboard_unknown_order"
    length = "medium"
    phrasings = (
        'Cancel order {number} and add this note to it: "{text}" If that is not possible, say why.',
        'Order {number} has to be cancelled. Write the reason as a note, "{text}", or tell me why you cannot.',
        'Set the status of order {number} to "Cancelled" and leave the note "{text}" Give the reason if it cannot be'
        " done.",
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        numbers = [int(row["number"]) for row in orders(data)]
        number = rng.choice([number for number in range(min(numbers) - 60, max(numbers) + 90) if number not in numbers])
        return {"number": str(number), "text": rng.choice(REASONS)}

    def answer(self, facts: Facts) -> Answer:
        number = facts["number"]
        return refusal("no_such_order", f"order {number} does not exist", f"{number} does not exist",
                       f"{number} doesn't exist", f"no order {number}", f"no order with the number {number}",
                       f"no order with number {number}", f"no order number {number}", f"{number} was not found",
                       f"{number} could not be found", f"{number} couldn't be found", f"{number} cannot be found",
                       *(f"{find} order {number}" for find in CANNOT_FIND),
                       *(f"{find} order number {number}" for find in CANNOT_FIND),
                       *missing("order", number))  # fmt: skip

    def evidence(self, facts: Facts) -> Sequence[str]:
        return [addresses.ORDERS_OF_STAFF, rf"404 shop\.test/dashboard/orders/{facts['number']}/"]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return open_order(facts["number"])

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f"The answer says that there is no order {facts['number']}.", "Nothing changed."]
