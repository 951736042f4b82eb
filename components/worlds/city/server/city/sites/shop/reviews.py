"""What customers think of the goods: which goods, who, and with how many stars, dealt anew for each seed."""

from __future__ import annotations

import datetime as dt
import random
from dataclasses import dataclass

from city import rows
from city.sites.shop.goods import GOODS
from city.sites.shop.orders import CUSTOMERS

# fmt: off
REVIEWS = (
    (5, "Does what it says", "Used it all season, in all weathers. I would buy it again."),
    (5, "Better than the old one", "My father's lasted thirty years. This one feels as if it could do the same."),
    (5, "Saved the weekend", "Ordered on Tuesday, on board by Thursday, and it fitted at once."),
    (5, "No complaints at all", "I looked for a weak spot and found none. The crew agrees, which is rare."),
    (5, "A present that was used", "I gave it to my brother. He has not handed it back, although I asked."),
    (4, "Good, with one remark", "Well made. The instructions could be clearer, but after the first try it is easy."),
    (4, "Nearly perfect", "A little stiff when it was new. After two trips it is as it should be."),
    (4, "Honest work", "Not the cheapest, but you see where the money went. One star less for the packing."),
    (4, "Would recommend", "We have had it on two boats now. The second was bought because the first was stolen."),
    (4, "Solid", "Heavier than I thought, which I have come to like. It stays where I put it."),
    (3, "Fair", "The quality is right for the price. Do not expect more, and you will be content."),
    (3, "It works", "It does its job. The colour is not that of the picture, and the smell took a week to go."),
    (3, "Half and half", "Fine in the harbour. Outside, with wet hands, I had to think twice how to use it."),
    (3, "Depends", "Good for a small boat. On ours it looks like a toy, but that is our fault."),
    (2, "Not for me", "It arrived quickly, but it is heavier than the description made me think."),
    (2, "Expected more", "After one summer it looks as if it had done five. The shop was friendly about it."),
    (2, "Too small", "Measure before you order. I did not, and now it hangs in the shed."),
    (2, "Rust after a month", "Small brown spots at the edges. They can be wiped off, but they come back."),
    (1, "Broke on the first day", "It was in use for one hour. I have sent it back and wait for an answer."),
    (1, "Never again", "I bought it twice, because I could not believe it the first time."),
)
# fmt: on


@dataclass(frozen=True)
class Review:
    """A review: `text` is one of `REVIEWS`."""

    code: str
    username: str
    text: int
    written: dt.datetime

    @property
    def score(self) -> int:
        """One to five stars."""
        return REVIEWS[self.text][0]


def deal(rng: random.Random, now: dt.datetime) -> list[Review]:
    """All reviews of a seed: about half of the goods have one to four, no person writes two on a good."""
    reviews = []
    for good in sorted(rng.sample(GOODS, rng.randint(36, 44)), key=lambda good: good.code):
        weights = rng.choice(((8, 5, 2, 1, 0), (5, 6, 4, 2, 1), (1, 3, 4, 4, 2)))
        weighed = [weights[5 - score] for score, _, _ in REVIEWS]
        texts = list(
            dict.fromkeys(rng.choices(range(len(REVIEWS)), weighed, k=rng.choices((1, 2, 3, 4), (3, 4, 2, 1))[0]))
        )
        for person, text in zip(rng.sample(CUSTOMERS, len(texts)), texts, strict=True):
            reviews.append(
                Review(good.code, person.username, text, now - dt.timedelta(minutes=rng.randint(600, 200_000)))
            )
    return reviews


def ratings(reviews: list[Review]) -> dict[str, float]:
    """The mean score of each good that has reviews."""
    scores: dict[str, list[int]] = {}
    for review in reviews:
        scores.setdefault(review.code, []).append(review.score)
    return {code: sum(values) / len(values) for code, values in scores.items()}


def write(reviews: list[Review]) -> None:
    """Make these the reviews of the bound copy."""
    users = {row["username"]: row["id"] for row in rows.select("SELECT id, username FROM auth_user")}
    products = {row["upc"]: row["id"] for row in rows.select("SELECT id, upc FROM catalogue_product")}
    rows.replace(
        "reviews_productreview",
        (
            {
                "score": review.score,
                "title": REVIEWS[review.text][1],
                "body": REVIEWS[review.text][2],
                "date_created": review.written,
                "product_id": products[review.code],
                "user_id": users[review.username],
            }
            for review in reviews
        ),
    )
    means = ratings(reviews)
    rows.update("catalogue_product", ({"id": key, "rating": means.get(code)} for code, key in products.items()))
