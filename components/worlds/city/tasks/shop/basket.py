"""Tasks that put articles into the cart."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from components.worlds.city.tasks.shop.queries import goods, in_cart, pick, with_empty_cart
from components.worlds.city.tasks.shop.steps import ADD, UPDATE, VIEW_CART, find, set_quantity
from components.worlds.city.tasks.template import Data, Facts, Template, Unsuitable
from components.worlds.effects import Effect
from components.worlds.oracle import Step


class AddToBasket(Template):
    """Find an article and put one into the basket."""

    name = "shop_add_to_basket"
    sites = ("shop",)
    length = "medium"
    logins = {"shop": "{user}"}
    phrasings = (
        'Put one "{title}" into the cart.',
        'Add one piece of "{title}" to my cart. Do not order it yet.',
        'I need a "{title}". Search the shop for it and add it to the cart.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        user = pick(with_empty_cart(data), rng, "customer with an empty cart")
        article = pick(goods(data, least=1), rng, "article in stock")
        return {"user": user["username"], "product": article["id"], "title": article["title"]}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [in_cart(facts["product"], 1, facts["user"])]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [*find(facts["title"]), ADD]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'The cart has one "{facts["title"]}" more.', "Nothing else changed."]


class AddSeveral(Template):
    """Put several pieces of one article into the basket, as a visitor."""

    name = "shop_add_several"
    sites = ("shop",)
    length = "medium"
    phrasings = (
        'Put {count} pieces of "{title}" into the cart.',
        'I need {count} of "{title}". Please add them to the cart, but do not check out.',
        'Search for "{title}" and add {count} of them to the shopping cart.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        article = pick(goods(data, least=2), rng, "article of which there are two")
        count = rng.randint(2, min(article["free"], 9))
        return {"product": article["id"], "title": article["title"], "count": count}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [in_cart(facts["product"], facts["count"], None)]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [*find(facts["title"]), ADD, VIEW_CART, set_quantity(facts["title"], facts["count"]), UPDATE]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f'The cart has "{facts["title"]}".',
            f"The quantity is {facts['count']}.",
            "Nothing else was added.",
        ]


class AddTwoArticles(Template):
    """Put several pieces of two articles of different categories into the basket."""

    name = "shop_add_two_articles"
    sites = ("shop",)
    length = "long"
    logins = {"shop": "{user}"}
    phrasings = (
        'Put {first_count} of "{first}" and {second_count} of "{second}" into my cart.',
        'For the weekend we need "{first}" ({first_count} pieces) and "{second}" ({second_count} pieces). '
        "Add both to the cart; I will order later.",
        'Add to the cart: {first_count} x "{first}", {second_count} x "{second}".',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        user = pick(with_empty_cart(data), rng, "customer with an empty cart")
        articles = goods(data, least=4)
        if len(articles) < 2:
            raise Unsuitable("the shop has no two articles in stock")
        first, second = rng.sample(articles, 2)
        return {
            "user": user["username"],
            "products": [first["id"], second["id"]],
            "first": first["title"],
            "second": second["title"],
            "first_count": rng.randint(2, 4),
            "second_count": rng.randint(2, 4),
        }

    def effects(self, facts: Facts) -> Sequence[Effect]:
        first, second = facts["products"]
        return [
            in_cart(first, facts["first_count"], facts["user"]),
            in_cart(second, facts["second_count"], facts["user"]),
        ]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        first, second = facts["first"], facts["second"]
        return [
            *(*find(first), ADD),
            *(*find(second), ADD),
            VIEW_CART,
            set_quantity(first, facts["first_count"]),
            set_quantity(second, facts["second_count"]),
            UPDATE,
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f'The cart has {facts["first_count"]} of "{facts["first"]}".',
            f'The cart has {facts["second_count"]} of "{facts["second"]}".',
            "The cart has nothing else, and nothing was ordered.",
        ]
