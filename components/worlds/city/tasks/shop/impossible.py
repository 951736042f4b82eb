"""Requests that the shop cannot meet, and that must be refused with the reason."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from components.worlds.answers import Answer
from components.worlds.city.tasks import addresses
from components.worlds.city.tasks.refusals import CANNOT_FIND, missing, refusal
from components.worlds.city.tasks.shop.queries import customers, goods, orders, pick, with_empty_cart
from components.worlds.city.tasks.shop.steps import VIEW_CART, account, find, search
from components.worlds.city.tasks.template import Data, Facts, Template
from components.worlds.oracle import Step, click, fill, press

ELSEWHERE = (
    "Brass sextant",
    "Inflatable dinghy, 2.4 m",
    "Outboard motor, 5 hp",
    "Radar reflector",
    "Solar panel, 50 W",
    "Life raft for four",
    "Wind vane, self-steering",
    "Echo sounder with screen",
    "Mainsail, 22 square metres",
    "Sea toilet, pumped by hand",
    "Diesel heater for the cabin",
    "Spinnaker pole, aluminium",
    "Hammock for the foredeck",
    "Windlass, electric",
    "Paddle board with pump",
    "Diving mask with snorkel",
    "Ship's bell, 15 cm",
    "Anchor chain, 10 mm, 30 m",
)
"""What such a shop might sell, and this one does not."""
COUPONS = ("SPRING26", "SAILOR10", "WELCOME5", "ANCHOR20", "TIDE15", "GULL7", "REGATTA", "FRESHPAINT")


class UnsoldArticle(Template):
    """Put an article into the cart that the shop does not sell."""

    name = "shop_impossible_unsold"
    sites = ("shop",)
    length = "short"
    logins = {"shop": "{user}"}
    phrasings = (
        'Put {count} of "{title}" into my cart. If that is not possible, say why.',
        'Add "{title}" to the cart, quantity {count}. Tell me the reason if you cannot.',
        'I need {count} x "{title}" in my shopping cart. Should the shop be unable to help, tell me why.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        user = pick(with_empty_cart(data), rng, "customer with an empty cart")
        sold = {article["title"].casefold() for article in goods(data)}
        title = pick([{"title": title} for title in ELSEWHERE if title.casefold() not in sold], rng, "gap in its range")
        return {"user": user["username"], "title": title["title"], "count": rng.randint(1, 4)}

    def answer(self, facts: Facts) -> Answer | None:
        return refusal(
            "no_such_article",
            "the shop does not sell this",
            f"no {facts['title']}",
            "does not have",
            "doesn't have",
            "not carry",
            "not offer",
            "no results",
            "0 results",
            "no products found",
            *CANNOT_FIND,
            "not found",
            "could not be found",
            *missing("article", facts["title"]),
            *missing("product", facts["title"]),
        )

    def evidence(self, facts: Facts) -> Sequence[str]:
        return [addresses.ARTICLE_LISTS]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return search(facts["title"])

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'The answer says that the shop does not sell "{facts["title"]}".', "The cart is as before."]


class SoldOutArticle(Template):
    """Order an article that is sold out."""

    name = "shop_impossible_sold_out"
    sites = ("shop",)
    length = "short"
    logins = {"shop": "{user}"}
    phrasings = (
        'Order one "{title}" to my saved address. If that is not possible, do nothing and tell me why.',
        'Buy a "{title}" for me, but take nothing else instead. Give me the reason if it cannot be done.',
        'I want one "{title}" sent home by tomorrow\'s parcel. If the shop cannot sell it to me, explain why.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        user = pick(with_empty_cart(data), rng, "customer with an empty cart")
        article = pick([article for article in goods(data) if article["free"] <= 0], rng, "article that is sold out")
        return {"user": user["username"], "title": article["title"]}

    def answer(self, facts: Facts) -> Answer | None:
        return refusal("out_of_stock", "it is out of stock", "not available", "isn't available", "isn't in stock")

    def evidence(self, facts: Facts) -> Sequence[str]:
        return [addresses.article(facts["title"]), addresses.ARTICLE_LISTS]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return find(facts["title"])

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'The answer says that "{facts["title"]}" is out of stock.', "There is no new order, alert or line."]


class AnothersOrder(Template):
    """Re-order an order that belongs to another customer."""

    name = "shop_impossible_order"
    sites = ("shop",)
    length = "medium"
    logins = {"shop": "{user}"}
    phrasings = (
        "Put everything from my order {number} into the cart again. If you cannot, tell me why.",
        "What was the total of my order {number}? If there is no answer, say what the reason is.",
        "Look up the status of my order {number}. If that is impossible, explain why.",
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        user = pick(customers(data), rng, "customer")
        others = [order for order in orders(data) if order["owner"] != user["id"]]
        return {"user": user["username"], "number": pick(others, rng, "order of another customer")["number"]}

    def answer(self, facts: Facts) -> Answer | None:
        number = facts["number"]
        return refusal(
            "no_such_order",
            f"order {number} does not exist",
            f"{number} does not exist",
            f"{number} doesn't exist",
            f"{number} was not found",
            f"{number} is not",
            "no order",
            *CANNOT_FIND,
            "could not be found",
            *missing("order", number),
            "not belong to",
            "doesn't belong to",
            "not in your account",
            "not in my account",
            "not among your orders",
            "not your order",
            "not one of your orders",
            "not yours",
            "isn't yours",
            "isn't in your account",
            "isn't your order",
        )

    def evidence(self, facts: Facts) -> Sequence[str]:
        return [r"shop\.test/accounts/orders/", rf"404 shop\.test/accounts/orders/{facts['number']}/"]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [*account("Order history"), fill("Order number", facts["number"]), press("Enter")]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f"The answer says that the customer has no order {facts['number']}.",
            "Nothing was added to the cart.",
        ]


class UnknownCoupon(Template):
    """Use a coupon that does not exist."""

    name = "shop_impossible_coupon"
    sites = ("shop",)
    length = "medium"
    logins = {"shop": "{user}"}
    phrasings = (
        'Use the coupon {code} for my cart with "{title}". If the shop does not take it, tell me why.',
        'I have the coupon {code}. Enter it for the cart (it has "{title}" in it), and if that fails, say why.',
        'Apply the code {code} to my cart, in which "{title}" is. Give me the reason if you cannot.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        lines = data.rows(
            "SELECT u.username, p.title FROM basket_line l JOIN basket_basket b ON b.id = l.basket_id "
            "JOIN auth_user u ON u.id = b.owner_id JOIN catalogue_product p ON p.id = l.product_id "
            "WHERE b.status = 'Open' ORDER BY l.id"
        )
        line = pick(lines, rng, "cart")
        known = {row["code"] for row in data.rows("SELECT code FROM voucher_voucher")}
        code = pick([{"code": code} for code in COUPONS if code not in known], rng, "unknown coupon")["code"]
        return {"user": line["username"], "title": line["title"], "code": code}

    def answer(self, facts: Facts) -> Answer | None:
        code = facts["code"]
        return refusal(
            "no_such_coupon",
            f"coupon {code} does not exist",
            f"{code} does not exist",
            f"{code} doesn't exist",
            f"no coupon {code}",
            "invalid",
            "not valid",
            "isn't valid",
            *CANNOT_FIND,
            "not found",
            "not known",
            "unknown",
            *(words for thing in ("coupon", "voucher", "code") for words in missing(thing, code)),
        )

    def evidence(self, facts: Facts) -> Sequence[str]:
        return [r"POST shop\.test/basket/vouchers/add/"]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [
            VIEW_CART,
            click("link", "I have a coupon code.*"),
            fill(".*code.*", facts["code"]),
            click("button", "Add coupon"),
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f"The answer says that the coupon {facts['code']} is not known.", "The cart is as before."]
