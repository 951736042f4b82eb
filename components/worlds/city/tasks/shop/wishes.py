"""Tasks about wish lists."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from components.worlds.city.tasks.shop.queries import customers, goods, pick
from components.worlds.city.tasks.shop.steps import account, find
from components.worlds.city.tasks.template import Data, Facts, Template
from components.worlds.effects import Added, Effect, KeyOf
from components.worlds.oracle import Step, choose, click, fill

LISTS = ("Before the season", "For the galley", "Presents", "When the loan is paid", "For the dinghy", "Winter work")
PUBLIC = "Public - Everybody can see the wish list"


def _facts(data: Data, rng: random.Random) -> dict[str, Any]:
    user = pick(customers(data), rng, "customer")
    article = pick(goods(data, least=1), rng, "article in stock")
    return {"user": user["username"], "id": user["id"], "product": article["id"], "title": article["title"]}


def _wish(facts: Facts, made: Effect) -> Effect:
    """The article on the list that is made."""
    values = {"wishlist_id": KeyOf(made), "product_id": facts["product"], "quantity": 1}
    return Added("wishlists_line", values)


class AddToWishList(Template):
    """Put an article on the wish list, which the shop makes at the first time."""

    name = "shop_add_to_wish_list"
    sites = ("shop",)
    length = "medium"
    logins = {"shop": "{user}"}
    phrasings = (
        'Put "{title}" on my wish list.',
        'I would like to have "{title}" one day. Add it to my wish list, not to the cart.',
        'Find "{title}" in the shop and add it to the wish list.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        return _facts(data, rng)

    def effects(self, facts: Facts) -> Sequence[Effect]:
        made = Added("wishlists_wishlist", {"owner_id": facts["id"]})
        return [made, _wish(facts, made)]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [*find(facts["title"]), click("button", "Add to wish list")]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'"{facts["title"]}" is on the customer\'s wish list.', "The cart is as before."]


class NewWishList(Template):
    """Make a wish list that all can see, and put an article on it."""

    name = "shop_new_wish_list"
    sites = ("shop",)
    length = "long"
    logins = {"shop": "{user}"}
    phrasings = (
        'Make a public wish list named "{list}" and put "{title}" on it.',
        'Create a wish list called "{list}" that everybody can see, then add "{title}" to it.',
        'My friends should see what I would like: set up the public wish list "{list}" with "{title}" on it.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        return {**_facts(data, rng), "list": rng.choice(LISTS)}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        values = {"owner_id": facts["id"], "name": facts["list"], "visibility": "Public"}
        made = Added("wishlists_wishlist", values)
        return [made, _wish(facts, made)]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [
            *account("Wish Lists"),
            click("link", "Create a new wish list"),
            fill("Name", facts["list"]),
            choose("Visibility", PUBLIC),
            click("button", "Save"),
            *find(facts["title"]),
            click("link", "Add to wish list"),
            click("link", f"Add to '{facts['list']}' wish list"),
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f'There is a wish list named "{facts["list"]}".',
            "Everybody can see it.",
            f'"{facts["title"]}" is on it.',
        ]
