"""Steps that several oracles of the shop share."""

from __future__ import annotations

import re

from components.records import ToolCall
from components.worlds.oracle import Step, anywhere, click, fill, press
from components.worlds.target import Target

ADD = click("button", "Add to cart")
VIEW_CART = anywhere(click("button", "View cart"))


def search(title: str) -> list[Step]:
    """Look for an article by its title."""
    return [anywhere(fill("Search", title)), press("Enter")]


def find(title: str) -> list[Step]:
    """Look for an article and open its page."""
    return [*search(title), click("link", re.escape(title))]


def set_quantity(title: str, count: int) -> Step:
    """Write the quantity of a line of the cart, which `UPDATE` saves."""
    return fill("", str(count), after=re.escape(title))


UPDATE = click("button", "Update")


def account(page: str) -> list[Step]:
    """Open a page of the customer's account."""
    return [anywhere(click("link", "Account")), click("link", page)]


def look(role: str, name: str) -> Step:
    """Scroll until a target is in view, because the answer is beside it."""
    waits = [ToolCall(name="wait", arguments={"seconds": 1})]
    return Step(lambda point: waits, "look at {target}", Target(role, name))
