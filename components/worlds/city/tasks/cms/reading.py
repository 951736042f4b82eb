"""Questions whose answers are on the town's web site."""

from __future__ import annotations

import datetime as dt
import random
import re
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from components.worlds.answers import Answer, Number
from components.worlds.city.tasks.cms.pages import EVENTS, FIXED_PRICES, NEWS, OF_BOATS, PRICES, published, upcoming
from components.worlds.city.tasks.days import long_day, moment, the_day
from components.worlds.city.tasks.template import Data, Facts, Template, Unsuitable, pick
from components.worlds.city.tasks.vocabulary import names, number
from components.worlds.oracle import Step, click


class Question(Template):
    """A question of a visitor, who has not logged in."""

    sites = ("cms",)
    length = "short"


class EventDay(Question):
    """Say on which day an event of the web site takes place."""

    name = "cms_event_day"
    phrasings = (
        'On which day is the event "{title}", according to the town\'s web site? Give the day and the name of the '
        "month.",
        'When does "{title}" take place? Look it up among the events and tell me the day and the month (by its name).',
        'I would like to come to "{title}". On which day is it? Name the day and the month.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        events = data.rows(EVENTS)
        event = pick(upcoming(events), rng)
        days = sorted({row["begins"][:10] for row in published(events)})
        return {"title": event["title"], "begins": event["begins"], "days": days}

    def answer(self, facts: Facts) -> Answer:
        return the_day(moment(facts["begins"]).date(), [moment(day).date() for day in facts["days"]])

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [click("link", "Events"), click("link", re.escape(facts["title"]))]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f"The answer is {long_day(moment(facts['begins']).date())} and no other day."]


class EventOrganiser(Question):
    """Say who organises the event of a day."""

    name = "cms_event_organiser"
    phrasings = (
        "Who organises the event on {day}, according to the town's web site? Give the full name.",
        "Find the event on {day} among those of the web site, and tell me the first and last name of its organiser.",
        "I have a question about the event on {day}. Which person organises it? I need the full name.",
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        events = data.rows(EVENTS)
        days = [row["begins"][:10] for row in published(events)]
        event = pick([row for row in upcoming(events) if days.count(row["begins"][:10]) == 1], rng)
        people = data.rows("SELECT first_name || ' ' || last_name AS person FROM auth_user WHERE last_name <> ''")
        return {
            "title": event["title"],
            "day": long_day(moment(event["begins"]).date()),
            "organiser": event["organiser"],
            "people": sorted(row["person"] for row in people),
        }

    def answer(self, facts: Facts) -> Answer:
        return names([facts["organiser"]], facts["people"], [facts["title"], facts["day"]])

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [click("link", "Events"), click("link", re.escape(facts["title"]))]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f"The answer is {facts['organiser']} and names no other person."]


class PriceOfSeveral(Question):
    """Say what several units of a service cost."""

    name = "cms_price_of_several"
    phrasings = (
        'How much is {count} times the price of "{service}" ({unit}) in the harbour\'s list of prices? Give it in '
        "dollars.",
        'Look up the price of "{service}" ({unit}) on the town\'s web site. How many dollars do I pay for {count} of '
        "that?",
        'The web site of the harbour says what "{service}" costs {unit}. What is {count} times this price, in dollars?',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        prices = [row for row in data.rows(PRICES) if row["service"] not in FIXED_PRICES]
        price, count = pick(prices, rng), rng.randint(2, 6)
        amounts = {"service": price["service"], "unit": price["unit"]}
        return amounts | product(Decimal(str(price["amount"])), count)

    def answer(self, facts: Facts) -> Answer:
        return product_answer(facts)

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [click("link", "The harbour"), click("link", "Prices")]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f"The answer is ${facts['sum']}."]


class FeesOfEvent(Question):
    """Say what an event costs for several persons."""

    name = "cms_fees_of_event"
    phrasings = (
        'We are {count} people and want to come to "{title}". What do we pay together, in dollars? See the town\'s web '
        "site.",
        'What is the fee for "{title}" for {count} people together, in dollars? The town\'s web site names it for one.',
        '{count} people come to "{title}", and each pays the fee that the web site names. How many dollars is that in '
        "all?",
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        events = [row for row in upcoming(data.rows(EVENTS)) if row["fee"] and row["slug"] != OF_BOATS]
        event, count = pick(events, rng), rng.randint(2, 7)
        return {"title": event["title"]} | product(Decimal(str(event["fee"])), count)

    def answer(self, facts: Facts) -> Answer:
        return product_answer(facts)

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [click("link", "Events"), click("link", re.escape(facts["title"]))]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f"The answer is ${facts['sum']}."]


class NewsOfMonth(Question):
    """Say how many pieces of news a month has."""

    name = "cms_news_of_month"
    phrasings = (
        "How many pieces of news with a date in {month} 2026 are there on the town's web site?",
        "Count the news of {month} 2026 on the town's web site. How many are there?",
        "The page with all news gives a date for each. How many are of {month} 2026?",
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        news = published(data.rows(NEWS))
        counts = Counter(dt.date.fromisoformat(row["date"]).month for row in news)
        if not counts:
            raise Unsuitable("there are no news")
        month = rng.choice(sorted(counts))
        near = {counts[month] - 1, counts[month] + 1, len(news), *counts.values()} - {counts[month]}
        return {"month": f"{dt.date(2026, month, 1):%B}", "count": counts[month], "near": sorted(near)}

    def answer(self, facts: Facts) -> Answer:
        return number(facts["count"], given=[2026], near=facts["near"])

    def evidence(self, facts: Facts) -> Sequence[str]:
        return [r"cms\.test/(news|search)/.*"]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [click("link", "News")]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f"The answer is {facts['count']}."]


def product(amount: Decimal, count: int) -> dict[str, Any]:
    """The facts of a price that is paid several times: `count`, the price `each`, `sum`, and `near` for wrong sums."""
    near = {amount * other for other in (count - 1, count + 1)} - {amount}
    return {
        "count": count,
        "each": f"{amount:.2f}",
        "sum": f"{amount * count:.2f}",
        "near": sorted(f"{number:.2f}" for number in near),
    }


def product_answer(facts: Facts) -> Number:
    """The sum of `product`. An answer may show how it comes about: "3 x $4.00 = $12.00"."""
    near = [Decimal(number) for number in facts["near"]]
    shown = [Decimal(facts["each"])] if "each" in facts else []  # tasks of earlier versions do not have it
    return number(Decimal(facts["sum"]), given=[facts["count"], *shown], near=near)
