"""Tasks about the basket."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

from components.worlds.city.tasks.effects import Added, Effect
from components.worlds.city.tasks.oracle import Step, click, fill, press
from components.worlds.city.tasks.template import Data, Facts, Template

IN_STOCK = (
    "SELECT p.id, p.title, p.upc, s.price, s.num_in_stock FROM catalogue_product p "
    "JOIN partner_stockrecord s ON s.product_id = p.id "
    "WHERE s.num_in_stock - coalesce(s.num_allocated, 0) >= 5 ORDER BY p.id"
)


class AddToBasket(Template):
    """Find an article and put one into the basket."""

    name = "shop_add_to_basket"
    sites = ("shop",)
    length = "medium"
    logins = {"shop": "alice"}
    phrasings = (
        'Put one "{title}" into the cart.',
        'Add one piece of "{title}" to my cart. Do not order it yet.',
        'I need a "{title}". Search the shop for it and add it to the cart.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        product = rng.choice(data.rows(IN_STOCK))
        return {"product": product["id"], "title": product["title"]}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [Added("basket_line", {"product_id": facts["product"], "quantity": 1})]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        title = re.escape(facts["title"])
        return [
            fill("Search.*", facts["title"]),
            press("Enter"),
            click("link", title),
            click("button", "Add to cart"),
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'The cart has one "{facts["title"]}" more.', "Nothing else changed."]
