"""Tasks in which a customer writes a review."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from components.worlds.city.tasks.shop.queries import orders, pick
from components.worlds.city.tasks.shop.steps import find
from components.worlds.city.tasks.template import Data, Facts, Template
from components.worlds.effects import Added, Changed, Effect, words
from components.worlds.oracle import Step, click, fill

REVIEWS = (
    (5, "Worth every cent", "We took it to the islands and back, and it never let us down."),
    (5, "Exactly right", "It fits, it works, and it looks good. What more can I say?"),
    (4, "Good value", "It does what I bought it for. The packing could be better."),
    (4, "Pleased", "After a month of daily use I would choose it again."),
    (3, "So so", "It is all right for the harbour, but not for rough weather."),
    (3, "Average", "No worse and no better than the one that I had before."),
    (2, "Disappointed", "The picture in the shop promised more than this."),
    (2, "Not what I hoped for", "It was smaller than I thought and did not last the summer."),
    (1, "Went back to the shop", "It broke when I used it for the second time."),
)
_SCORES = "SELECT score FROM reviews_productreview WHERE product_id = ? AND status = 1"
_WRITTEN = "SELECT product_id AS product, user_id AS user FROM reviews_productreview"


class WriteReview(Template):
    """Write a review of an article that one has bought."""

    name = "shop_write_review"
    sites = ("shop",)
    length = "medium"
    logins = {"shop": "{user}"}
    phrasings = (
        'Write a review of "{article}", which I have bought: {score} of 5 stars, with the title "{title}" and the text '
        '"{body}"',
        'Review "{article}" for me. Stars: {score}. Title: "{title}". Text: "{body}"',
        'I want to give "{article}" {score} out of 5 stars. The title of my review is "{title}", and its body is '
        '"{body}"',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        written = {(row["product"], row["user"]) for row in data.rows(_WRITTEN)}
        bought = [
            {"user": order["username"], "id": order["owner"], "product": line["product"], "article": line["title"]}
            for order in orders(data)
            if order["status"] == "Complete"
            for line in order["lines"]
            if (line["product"], order["owner"]) not in written
        ]
        chosen = pick(bought, rng, "article to review")
        score, title, body = rng.choice(REVIEWS)
        scores = [row["score"] for row in data.rows(_SCORES, chosen["product"])]
        mean = (sum(scores) + score) / (len(scores) + 1)
        changes = not scores or sum(scores) / len(scores) != mean
        return {**chosen, "score": score, "title": title, "body": body, "rating": mean if changes else None}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        review = Added(
            "reviews_productreview",
            {
                "product_id": facts["product"],
                "user_id": facts["id"],
                "score": facts["score"],
                "title": words(facts["title"]),
                "body": words(facts["body"]),
            },
        )
        if facts["rating"] is None:
            return [review]
        is_mean = lambda rating: rating is not None and abs(float(rating) - facts["rating"]) < 1e-6  # noqa: E731
        return [review, Changed("catalogue_product", {"id": facts["product"]}, {"rating": is_mean})]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [
            *find(facts["article"]),
            click("link", "Write a review"),
            fill("Title", facts["title"]),
            click("button", f"{facts['score']} stars?"),
            fill("Body", facts["body"]),
            click("button", "Save review"),
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f'There is a review of "{facts["article"]}" by the customer.',
            f"It has {facts['score']} stars.",
            f'Its title is "{facts["title"]}" and its text "{facts["body"]}".',
        ]
