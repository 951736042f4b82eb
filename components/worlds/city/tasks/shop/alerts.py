"""Tasks about alerts for articles that are sold out."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from components.worlds.city.tasks.shop.queries import customers, goods, pick
from components.worlds.city.tasks.shop.steps import find
from components.worlds.city.tasks.template import Data, Facts, Template
from components.worlds.effects import Added, Effect
from components.worlds.oracle import Step, click


class StockAlert(Template):
    """Ask to be told when an article is back."""

    name = "shop_stock_alert"
    sites = ("shop",)
    length = "medium"
    logins = {"shop": "{user}"}
    phrasings = (
        '"{title}" is sold out. Sign me up for the alert when it is back in stock.',
        'Have the shop notify me as soon as "{title}" can be bought again.',
        'Set a stock alert for "{title}" on my account.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        user = pick(customers(data), rng, "customer")
        article = pick([article for article in goods(data) if article["free"] <= 0], rng, "article that is sold out")
        return {"user": user["username"], "id": user["id"], "product": article["id"], "title": article["title"]}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [
            Added("customer_productalert", {"product_id": facts["product"], "user_id": facts["id"], "status": "Active"})
        ]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [*find(facts["title"]), click("button", "Notify me")]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'The customer has an active stock alert for "{facts["title"]}".', "The cart is as before."]
