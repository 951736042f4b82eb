"""Tasks about orders that a customer has placed before."""

from __future__ import annotations

import datetime as dt
import random
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from components.worlds.answers import Answer
from components.worlds.city.tasks.days import ordinal, the_date
from components.worlds.city.tasks.shop.queries import goods, in_cart, money, orders, pick, with_empty_cart
from components.worlds.city.tasks.shop.steps import account, look
from components.worlds.city.tasks.template import Data, Facts, Row, Template, Unsuitable
from components.worlds.city.tasks.vocabulary import names, number
from components.worlds.effects import Effect
from components.worlds.oracle import Step, click

HISTORY = account("Order history")


def _own(data: Data, rng: random.Random, least: int = 3) -> list[Row]:
    """The orders of a customer who has at least so many.

    Raises:
        Unsuitable: no customer has.
    """
    rows = orders(data)
    counts = Counter(order["username"] for order in rows)
    owner = pick([{"user": user} for user, count in sorted(counts.items()) if count >= least], rng, "regular customer")
    return [order for order in rows if order["username"] == owner["user"]]


def _open(number: str) -> list[Step]:
    return [*HISTORY, click("link", number)]


def date_forms(moment: str) -> list[str]:
    """A day in the shop's own form and in others, from the database's form of a time."""
    day = dt.datetime.fromisoformat(moment)
    short, full = day.strftime("%b"), day.strftime("%B")
    return [
        f"{full} {day.day}, {day.year}",
        f"{short}. {day.day}, {day.year}",
        f"{day.day} {full} {day.year}",
        f"{day.day} {short} {day.year}",
        f"{full} {ordinal(day.day)}, {day.year}",
        f"{ordinal(day.day)} {full} {day.year}",
        f"{ordinal(day.day)} of {full} {day.year}",
        f"{day:%Y-%m-%d}",
        f"{day:%m/%d/%Y}",
        f"{day.month}/{day.day}/{day.year}",
    ]


class OrderTotal(Template):
    """How much an order was."""

    name = "shop_order_total"
    sites = ("shop",)
    length = "short"
    logins = {"shop": "{user}"}
    phrasings = (
        "What was the total of my order {number}?",
        "How much did I pay for order {number}, in dollars?",
        "For my records: look up order {number} in my account and tell me its total.",
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        rows = _own(data, rng)
        order = rng.choice(rows)
        totals = sorted({money(row["total"]) for row in rows} - {money(order["total"])})
        return {
            "user": order["username"],
            "number": order["number"],
            "total": money(order["total"]),
            "others": totals,
        }

    def answer(self, facts: Facts) -> Answer | None:
        return number(facts["total"], given=[facts["number"]], near=facts["others"])

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [*HISTORY, look("link", facts["number"])]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f"The answer is ${facts['total']}, the total of order {facts['number']}."]


class OrderDate(Template):
    """When an order was placed."""

    name = "shop_order_date"
    sites = ("shop",)
    length = "short"
    logins = {"shop": "{user}"}
    phrasings = (
        "On which date did I place order {number}?",
        "I need the date of my order {number} for the guarantee. Which day was it, with the year?",
        "When was my order {number} submitted? Answer with the date.",
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        rows = _own(data, rng)
        order = rng.choice(rows)
        days = sorted({row["placed"][:10] for row in rows} - {order["placed"][:10]})
        return {"user": order["username"], "number": order["number"], "day": order["placed"][:10], "others": days}

    def answer(self, facts: Facts) -> Answer | None:
        wrong = [form for day in facts["others"] for form in date_forms(day)]
        return the_date(dt.date.fromisoformat(facts["day"]), date_forms(facts["day"]), wrong)

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [*HISTORY, look("link", facts["number"])]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f"The answer is {facts['day']}, the day of order {facts['number']}."]


class OrderStatus(Template):
    """What has become of an order."""

    name = "shop_order_status"
    sites = ("shop",)
    length = "short"
    logins = {"shop": "{user}"}
    phrasings = (
        "What is the status of my order {number}?",
        "Look up my order {number} and tell me which status the shop shows.",
        "How far is my order {number}? Answer with its status as it is in my account.",
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        rows = _own(data, rng)
        order = rng.choice(rows)
        return {
            "user": order["username"],
            "number": order["number"],
            "status": order["status"],
            "statuses": sorted({row["status"] for row in orders(data)}),
        }

    def answer(self, facts: Facts) -> Answer | None:
        return names([facts["status"]], facts["statuses"], self.given(facts))

    def evidence(self, facts: Facts) -> Sequence[str]:
        return [r"shop\.test/accounts/orders/.*"]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return _open(facts["number"])

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'The answer is "{facts["status"]}", the status of order {facts["number"]}.']


class OrderWithArticle(Template):
    """In which order an article was bought."""

    name = "shop_order_with_article"
    sites = ("shop",)
    length = "short"
    logins = {"shop": "{user}"}
    phrasings = (
        'In which of my orders did I buy "{title}"? Give me the order number.',
        'What is the number of my order that contains "{title}"?',
        'I ordered "{title}" some time ago. Find the order in my account and tell me its number.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        rows = _own(data, rng)
        titles = Counter(line["title"] for order in rows for line in order["lines"])
        bought = [(order, title) for order in rows for title in _titles(order) if titles[title] == 1]
        if not bought:
            raise Unsuitable("no article was ordered once")
        order, title = rng.choice(bought)
        return {
            "user": order["username"],
            "title": title,
            "number": order["number"],
            "numbers": [row["number"] for row in rows],
        }

    def answer(self, facts: Facts) -> Answer | None:
        return names([facts["number"]], facts["numbers"], self.given(facts))

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return _open(facts["number"])

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'The answer is {facts["number"]}, the only order of the customer with "{facts["title"]}".']


class Reorder(Template):
    """Put everything from an earlier order into the cart."""

    name = "shop_reorder"
    sites = ("shop",)
    length = "medium"
    logins = {"shop": "{user}"}
    phrasings = (
        "Put everything from my order {number} into the cart again. Do not check out.",
        "I want the same as in order {number}. Re-order all its items into my cart; I will pay later.",
        "Fill my cart with all that was in my earlier order {number}, in the same quantities.",
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        users = {user["username"] for user in with_empty_cart(data)}
        free = {article["id"]: article["free"] for article in goods(data)}
        candidates = [
            order
            for order in orders(data)
            if order["username"] in users
            and all(free.get(line["product"], 0) >= line["quantity"] for line in order["lines"])
        ]
        order = pick(candidates, rng, "order that can be repeated")
        return {
            "user": order["username"],
            "number": order["number"],
            "lines": [[line["product"], line["title"], line["quantity"]] for line in order["lines"]],
        }

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [in_cart(product, quantity, facts["user"]) for product, _, quantity in facts["lines"]]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [*_open(facts["number"]), click("button", "Re-order all items")]

    def rubric(self, facts: Facts) -> Sequence[str]:
        lines = [f'The cart has {quantity} of "{title}".' for _, title, quantity in facts["lines"]]
        return [*lines, "Nothing was ordered."]


def _titles(order: Row) -> list[str]:
    return [line["title"] for line in order["lines"]]


def line_button(title: str) -> Step:
    """The button that orders one line again."""
    return click("button", "Re-order", level_with=re.escape(title))


class ReorderLine(Template):
    """Put one line of an earlier order of several into the cart."""

    name = "shop_reorder_line"
    sites = ("shop",)
    length = "medium"
    logins = {"shop": "{user}"}
    phrasings = (
        'From my order {number} I need "{title}" again, as many as then. Re-order that line into the cart.',
        'Re-order only "{title}" from my order {number}; put it into my cart.',
        'Put the same number of "{title}" as in my order {number} into the cart, and nothing else of that order.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        users = {user["username"] for user in with_empty_cart(data)}
        free = {article["id"]: article["free"] for article in goods(data)}
        candidates = [
            {**line, "number": order["number"], "username": order["username"]}
            for order in orders(data)
            if order["username"] in users and len(order["lines"]) > 1
            for line in order["lines"]
            if free.get(line["product"], 0) >= line["quantity"]
        ]
        line = pick(candidates, rng, "line that can be repeated")
        return {
            "user": line["username"],
            "number": line["number"],
            "product": line["product"],
            "title": line["title"],
            "quantity": line["quantity"],
        }

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [in_cart(facts["product"], facts["quantity"], facts["user"])]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [*_open(facts["number"]), line_button(facts["title"])]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'The cart has {facts["quantity"]} of "{facts["title"]}" and nothing else.', "Nothing was ordered."]
