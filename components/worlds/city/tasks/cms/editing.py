"""Pages that a person of the harbour office edits and publishes."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from components.worlds.city.tasks.cms.pages import (
    EDITORS,
    EVENTS,
    NEWS,
    PRICES,
    open_in_editor,
    publish,
    published,
    republished,
    revisions,
)
from components.worlds.city.tasks.cms.texts import TEASERS
from components.worlds.city.tasks.template import Data, Facts, Template, pick
from components.worlds.effects import Changed, Effect, Incidental, words
from components.worlds.oracle import Step, fill


class Editing(Template):
    """A task for an editor, which begins in the editor."""

    sites = ("cms",)
    length = "medium"
    logins = {"cms": "{user}"}
    start = "/admin/"

    def incidental(self, facts: Facts) -> Sequence[Incidental]:
        return [revisions(facts)]


class PublishDraft(Editing):
    """Publish a page that is a draft."""

    name = "cms_publish_draft"
    phrasings = (
        'The page "{title}" of the web site is still a draft. Publish it as it is.',
        'Visitors cannot see "{title}" yet. Publish this page in the editor without changing it.',
        'Please open the draft "{title}" and publish it. Leave its text as it is.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        drafts = [row for row in (*data.rows(NEWS), *data.rows(EVENTS)) if not row["live"]]
        page = pick(drafts, rng)
        return pick(data.rows(EDITORS), rng) | {"page": page["page"], "title": page["title"]}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [republished(facts, {"live": True})]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [*open_in_editor(facts["title"]), *publish()]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'"{facts["title"]}" is published.', "Nothing else of it changed, and no other page."]


class ChangeTeaser(Editing):
    """Give a piece of news another introduction."""

    name = "cms_change_teaser"
    phrasings = (
        'Replace the intro of the news "{title}" with "{text}" and publish the page.',
        'The news "{title}" needs a new intro: "{text}" Put it in the place of the old one and publish it.',
        'Please edit the news "{title}": its intro should be "{text}" Then publish the change.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        page = pick(published(data.rows(NEWS)), rng)
        facts = {"page": page["page"], "title": page["title"], "text": rng.choice(TEASERS)}
        return pick(data.rows(EDITORS), rng) | facts

    def effects(self, facts: Facts) -> Sequence[Effect]:
        intro = Changed("cms_newspage", {"page_ptr_id": facts["page"]}, {"intro": words(facts["text"])})
        return [intro, republished(facts, {})]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [*open_in_editor(facts["title"]), fill("Intro.*", facts["text"]), *publish()]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f'The intro of "{facts["title"]}" is "{facts["text"]}"',
            "The change is published.",
            "Nothing else of it changed, and no other page.",
        ]


class ChangePrice(Editing):
    """Change a price in the list of prices."""

    name = "cms_change_price"
    phrasings = (
        '"{service}" costs ${amount} from today on. Change it on the page "{title}" of the web site and publish it.',
        'Set the price of "{service}" to ${amount} on the page "{title}" and publish it. All other prices stay.',
        'Please correct our list of prices (the page "{title}"): "{service}" is ${amount} now. Publish the change.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        prices = data.rows(PRICES)
        amounts = [row["amount"] for row in prices]
        price = pick([row for row in prices if amounts.count(row["amount"]) == 1], rng)  # the oracle looks for it
        old = Decimal(str(price["amount"]))
        factors = [Decimal(percent) / 100 for percent in (70, 85, 115, 130, 150)]
        new = rng.choice([f"{old * factor:.2f}" for factor in factors])
        names = ("page", "title", "service", "price")
        facts = {name: price[name] for name in names} | {"old": f"{old:.2f}", "amount": new}
        return pick(data.rows(EDITORS), rng) | facts

    def effects(self, facts: Facts) -> Sequence[Effect]:
        price = Changed("cms_price", {"id": facts["price"]}, {"amount": facts["amount"]})
        return [price, republished(facts, {})]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        amount = fill("Amount.*", facts["amount"], value=re.escape(facts["old"]))
        return [*open_in_editor(facts["title"]), amount, *publish()]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f'"{facts["service"]}" costs ${facts["amount"]}.',
            "The change is published.",
            "No other price and no other page changed.",
        ]
