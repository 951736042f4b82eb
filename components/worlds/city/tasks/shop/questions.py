"""Questions about the shop's goods."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from components.worlds.answers import Answer, Number
from components.worlds.city.tasks import addresses
from components.worlds.city.tasks.shop.queries import goods, money, pick
from components.worlds.city.tasks.shop.steps import find, look
from components.worlds.city.tasks.template import Data, Facts, Row, Template, Unsuitable
from components.worlds.city.tasks.vocabulary import names, number
from components.worlds.oracle import Step, choose, click


def numbers(text: str) -> list[str]:
    """The numbers in an article's title, which an answer may repeat."""
    return re.findall(r"\d+(?:\.\d+)?", text)


def _is_open(title: str, value: Decimal | int | float | str) -> bool:
    """Whether a question about an article does not have its answer in the article's title, in digits or in words."""
    digits = {Decimal(number) for number in numbers(title)}
    return Decimal(str(value)) not in digits and not Number(value).accepts(title)


def _by_category(data: Data) -> dict[str, list[Row]]:
    categories: dict[str, list[Row]] = {}
    for article in goods(data):
        categories.setdefault(article["category"], []).append(article)
    return categories


class Price(Template):
    """What an article costs."""

    name = "shop_price"
    sites = ("shop",)
    length = "short"
    phrasings = (
        'How much is "{title}" in the shop, in dollars?',
        'What does one "{title}" cost?',
        'Look up the price of "{title}".',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        articles = goods(data)
        article = pick([row for row in articles if _is_open(row["title"], money(row["price"]))], rng, "article")
        others = {money(other["price"]) for other in articles if other["category"] == article["category"]}
        price = money(article["price"])
        return {"title": article["title"], "price": price, "others": sorted(others - {price})}

    def answer(self, facts: Facts) -> Answer | None:
        return number(facts["price"], near=facts["others"], given=numbers(facts["title"]))

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return find(facts["title"])

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'The answer is ${facts["price"]}, the price of "{facts["title"]}".']


class Stock(Template):
    """How many pieces of an article can be bought."""

    name = "shop_stock"
    sites = ("shop",)
    length = "short"
    phrasings = (
        'How many pieces of "{title}" does the shop have in stock?',
        'We need a lot of "{title}". How many are available at the moment?',
        'Find out how many of "{title}" can be bought right now.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        articles = [row for row in goods(data, least=1) if _is_open(row["title"], row["free"])]
        article = pick(articles, rng, "article in stock")
        return {"title": article["title"], "free": article["free"]}

    def answer(self, facts: Facts) -> Answer | None:
        return number(facts["free"], given=numbers(facts["title"]))

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return find(facts["title"])

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'The answer is {facts["free"]}, the available pieces of "{facts["title"]}".']


class Cheapest(Template):
    """The cheapest or dearest article of a category, or the next after it."""

    name = "shop_price_extreme"
    sites = ("shop",)
    length = "short"
    phrasings = (
        'Which is the {which} article in the category "{category}"? Give me its name.',
        'Look through "{category}" and name the {which} article of the shop there.',
        'In the shop\'s category "{category}", what is the {which} thing that they sell?',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        category, articles = rng.choice([*_by_category(data).items()])
        which = rng.choice(("cheapest", "second cheapest", "most expensive", "second most expensive"))
        articles.sort(key=lambda article: article["price"], reverse="expensive" in which)
        place = int(which.startswith("second"))
        prices = [article["price"] for article in articles[: place + 2]]
        if len({*prices}) < len(prices):
            raise Unsuitable(f"two articles may be the {which} one")
        return {
            "category": category,
            "which": which,
            "title": articles[place]["title"],
            "titles": [article["title"] for article in articles],
        }

    def answer(self, facts: Facts) -> Answer | None:
        return names([facts["title"]], facts["titles"], self.given(facts))

    def oracle(self, facts: Facts) -> Sequence[Step]:
        order = "Price high to low" if "expensive" in facts["which"] else "Price low to high"
        return [click("link", facts["category"]), choose("Sort by", order)]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'The answer is "{facts["title"]}", the {facts["which"]} article in "{facts["category"]}".']


class CountUnder(Template):
    """How many articles of a category cost less than an amount."""

    name = "shop_count_under"
    sites = ("shop",)
    length = "short"
    phrasings = (
        'How many articles in "{category}" cost less than ${limit}?',
        'I want to spend less than {limit} dollars. How many articles in the category "{category}" have such a price?',
        'Count what the shop sells in "{category}" for under ${limit}. How many articles is that?',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        category, articles = rng.choice([*_by_category(data).items()])
        prices = [Decimal(str(article["price"])) for article in articles]
        limits = [
            limit
            for limit in (10, 15, 20, 25, 30, 40, 50, 60, 80, 100, 150)
            if limit not in prices and 2 <= sum(price < limit for price in prices) < len(prices)
        ]
        if not limits:
            raise Unsuitable(f"the prices of {category} have no gap")
        limit = rng.choice(limits)
        dearer = min(
            (article for article in articles if article["price"] > limit), key=lambda article: article["price"]
        )
        return {
            "category": category,
            "limit": limit,
            "count": sum(price < limit for price in prices),
            "dearer": dearer["title"],
        }

    def answer(self, facts: Facts) -> Answer | None:
        return number(facts["count"], given=[facts["limit"]])

    def evidence(self, facts: Facts) -> Sequence[str]:
        return [addresses.ARTICLE_LISTS]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [
            click("link", facts["category"]),
            choose("Sort by", "Price low to high"),
            look("link", re.escape(facts["dearer"])),
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'The answer is {facts["count"]}: in "{facts["category"]}", so many are under ${facts["limit"]}.']


class NumberOfReviews(Template):
    """How many customers have reviewed an article."""

    name = "shop_number_of_reviews"
    sites = ("shop",)
    length = "short"
    phrasings = (
        'How many customer reviews does "{title}" have in the shop?',
        'Count the reviews of "{title}".',
        'Before I buy "{title}": how many people have reviewed it?',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        counts = data.rows(
            "SELECT p.title, count(*) AS count FROM reviews_productreview r JOIN catalogue_product p "
            "ON p.id = r.product_id WHERE r.status = 1 AND p.is_public GROUP BY p.id ORDER BY p.id"
        )
        return pick([row for row in counts if _is_open(row["title"], row["count"])], rng, "review")

    def answer(self, facts: Facts) -> Answer | None:
        return number(facts["count"], given=numbers(facts["title"]))

    def evidence(self, facts: Facts) -> Sequence[str]:
        return [addresses.article(facts["title"])]  # lists have stars alone

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return find(facts["title"])

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'The answer is {facts["count"]}, the number of reviews of "{facts["title"]}".']
