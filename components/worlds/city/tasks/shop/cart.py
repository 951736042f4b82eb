"""Tasks about what is in the cart already."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

from components.worlds.city.tasks.shop.queries import cart, customers, goods, pick
from components.worlds.city.tasks.shop.steps import UPDATE, VIEW_CART, set_quantity
from components.worlds.city.tasks.template import Data, Facts, Row, Template, Unsuitable
from components.worlds.effects import Changed, Effect, Removed
from components.worlds.oracle import Step, click


def _line(data: Data, rng: random.Random, least: int) -> tuple[Row, Row]:
    """A customer and a line of the cart, which has at least so many lines.

    Raises:
        Unsuitable: there is no such cart.
    """
    user = pick([user for user in customers(data) if user["in_cart"] >= least], rng, f"cart with {least} lines")
    return user, pick(cart(data, user["id"]), rng, "line in the cart")


def _require_in_stock(data: Data, lines: Sequence[Row]) -> None:
    """Require that the shop has what is in these lines: one that is sold out keeps it from changing any of the cart.

    Raises:
        Unsuitable: an article is sold out.
    """
    free = {article["id"]: article["free"] for article in goods(data)}
    if any(line["quantity"] > free.get(line["product"], 0) for line in lines):
        raise Unsuitable("an article in the cart is sold out")


class ChangeQuantity(Template):
    """Change the quantity of a line of the cart."""

    name = "shop_change_quantity"
    sites = ("shop",)
    length = "short"
    logins = {"shop": "{user}"}
    phrasings = (
        'I have "{title}" in my cart. Change its quantity to {count}.',
        'In the cart, set the quantity of "{title}" to {count}.',
        'My cart should have {count} of "{title}", not {before}. Please correct that.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        user, line = _line(data, rng, 1)
        _require_in_stock(data, [other for other in cart(data, user["id"]) if other["id"] != line["id"]])
        free = {article["id"]: article["free"] for article in goods(data)}
        counts = [count for count in range(1, 7) if count != line["quantity"] and count <= free[line["product"]]]
        if not counts:
            raise Unsuitable("the article is sold out")
        return {
            "user": user["username"],
            "line": line["id"],
            "title": line["title"],
            "before": line["quantity"],
            "count": rng.choice(counts),
        }

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [Changed("basket_line", {"id": facts["line"]}, {"quantity": facts["count"]})]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [
            VIEW_CART,
            set_quantity(facts["title"], facts["count"]),
            UPDATE,
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f'The cart has {facts["count"]} of "{facts["title"]}".',
            "The other lines of the cart are as before.",
        ]


class RemoveLine(Template):
    """Remove one of several lines from the cart."""

    name = "shop_remove_from_cart"
    sites = ("shop",)
    length = "short"
    logins = {"shop": "{user}"}
    phrasings = (
        'Remove "{title}" from my cart.',
        'I do not want "{title}" any more. Take it out of the cart and leave the rest as it is.',
        'Delete the line with "{title}" from the shopping cart.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        user, line = _line(data, rng, 2)
        return {"user": user["username"], "line": line["id"], "title": line["title"]}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [Removed("basket_line", {"id": facts["line"]})]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [VIEW_CART, click("link", "Remove", after=re.escape(facts["title"]))]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'"{facts["title"]}" is not in the cart.', "The other lines of the cart are still there."]


class SaveForLater(Template):
    """Move a line of the cart to the articles to buy later."""

    name = "shop_save_for_later"
    sites = ("shop",)
    length = "short"
    logins = {"shop": "{user}"}
    phrasings = (
        'Save "{title}" from my cart for later.',
        'I will buy "{title}" another time. Move it from the cart to the items to buy later.',
        'Keep "{title}" for later instead of buying it now; the rest of the cart stays.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        user, line = _line(data, rng, 2)
        _require_in_stock(data, cart(data, user["id"]))
        return {
            "user": user["username"],
            "line": line["id"],
            "basket": line["basket"],
            "product": line["product"],
            "quantity": line["quantity"],
            "title": line["title"],
        }

    def effects(self, facts: Facts) -> Sequence[Effect]:
        moved = lambda basket: basket != str(facts["basket"])  # noqa: E731
        return [Changed("basket_line", {"id": facts["line"]}, {"basket_id": moved})]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [VIEW_CART, click("link", "Save for later", after=re.escape(facts["title"]))]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f'"{facts["title"]}" is among the items to buy later.',
            "The other lines of the cart are still there.",
        ]


class EmptyCart(Template):
    """Remove all three lines of the cart."""

    name = "shop_empty_cart"
    sites = ("shop",)
    length = "medium"
    logins = {"shop": "{user}"}
    phrasings = (
        'Empty my cart: I need neither "{first}" nor the other things in it.',
        'Remove everything from the shopping cart, "{first}" and whatever else is there.',
        'I have changed my mind about "{first}" and all the rest. Clear my cart.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        user = pick([user for user in customers(data) if user["in_cart"] == 3], rng, "cart with three lines")
        lines = cart(data, user["id"])
        return {
            "user": user["username"],
            "first": rng.choice(lines)["title"],
            "lines": [line["id"] for line in lines],
            "titles": [line["title"] for line in lines],
        }

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [Removed("basket_line", {"id": line}) for line in facts["lines"]]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [VIEW_CART, *[set_quantity(title, 0) for title in facts["titles"]], UPDATE]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'"{title}" is not in the cart.' for title in facts["titles"]]
