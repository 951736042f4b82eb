"""Tasks about customers and their reviews."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import Any

from components.worlds.city.tasks.dashboard.goods import DashboardTask
from components.worlds.city.tasks.template import Data, Facts, Unsuitable
from components.worlds.effects import Changed, Effect, Removed
from components.worlds.oracle import Step, click, fill, press

APPROVED, REJECTED = 1, 2
_REVIEWS = (
    "SELECT r.id, r.title AS review, r.score, r.product_id AS product, p.title, p.rating, u.first_name AS first, "
    "u.first_name || ' ' || u.last_name AS customer FROM reviews_productreview r "
    "JOIN catalogue_product p ON p.id = r.product_id JOIN auth_user u ON u.id = r.user_id "
    f"WHERE r.status = {APPROVED} ORDER BY r.id"
)


class DeactivateCustomer(DashboardTask):
    """Close the accounts of two customers."""

    name = "dashboard_deactivate_customer"
    length = "long"
    phrasings = (
        "Make the customers {emails} inactive.",
        "The customers with the addresses {emails} have left us. Make their accounts inactive, and no other ones.",
        "Deactivate the accounts of {emails} in the dashboard.",
        "{emails} should not be able to log in any more. Make these customers inactive, but delete nothing.",
        "Find {emails} among the customers and make both accounts inactive.",
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        people = data.rows("SELECT id, email FROM auth_user WHERE is_active AND NOT is_staff ORDER BY id")
        if len(people) < 2:
            raise Unsuitable("there are no two active customers")
        chosen = rng.sample(people, 2)
        return {"customers": chosen, "emails": " and ".join(person["email"] for person in chosen)}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [Changed("auth_user", {"id": person["id"]}, {"is_active": False}) for person in facts["customers"]]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        steps = [click("button", "Customers"), click("link", "Customers")]
        for person in facts["customers"]:
            steps += [
                fill("Email:", person["email"]),
                press("Enter"),
                click("checkbox"),
                click("radio", "Make inactive"),
                click("button", "Go!"),
            ]
        return steps

    def rubric(self, facts: Facts) -> Sequence[str]:
        inactive = [f"The account of {person['email']} is inactive." for person in facts["customers"]]
        return [*inactive, "Nothing else changed."]


class _ReviewTask(DashboardTask):
    """A task about one review."""

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        reviews = data.rows(_REVIEWS)
        if not reviews:
            raise Unsuitable("there is no review")
        review = rng.choice(reviews)
        scores = [row["score"] for row in reviews if row["product"] == review["product"] and row is not review]
        return {**review, "new_rating": sum(scores) / len(scores) if scores else None}

    def rating(self, facts: Facts) -> list[Effect]:
        """The article's rating without this review, if it is another one."""
        old, new = facts["rating"], facts["new_rating"]
        if _is_near(new)(None if old is None else str(old)):
            return []
        return [Changed("catalogue_product", {"id": facts["product"]}, {"rating": _is_near(new)})]

    def find(self, facts: Facts) -> list[Step]:
        """Search for the customer's reviews and open the menu of the one."""
        return [
            click("button", "Content"),
            click("link", "Reviews"),
            fill("Customer name:", facts["customer"]),
            press("Enter"),
            click("button", "Actions", after=re.escape(facts["title"])),
        ]


def _is_near(rating: float | None) -> Callable[[str | None], bool]:
    if rating is None:
        return lambda value: value is None
    return lambda value: value is not None and abs(float(value) - rating) < 1e-6


class RejectReview(_ReviewTask):
    """Reject a review, so that the shop does not show it."""

    name = "dashboard_reject_review"
    length = "long"
    phrasings = (
        'Reject the review "{review}" that {customer} wrote about "{title}". Do not delete it.',
        'Set the status of {customer}\'s review of "{title}" (its title is "{review}") to "Rejected".',
        'The shop should not show what {customer} wrote about "{title}" ("{review}"). Reject this review, but keep it.',
    )

    def effects(self, facts: Facts) -> Sequence[Effect]:
        to = {"status": REJECTED}
        return [Changed("reviews_productreview", {"id": facts["id"]}, to), *self.rating(facts)]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [
            *self.find(facts),
            click("link", "Edit"),
            click("select", "Approved"),
            click("option", "Rejected"),
            click("button", "Save"),
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f'The review "{facts["review"]}" by {facts["customer"]} on "{facts["title"]}" is rejected.',
            "Nothing else changed.",
        ]


class DeleteReview(_ReviewTask):
    """Delete a review."""

    name = "dashboard_delete_review"
    length = "medium"
    phrasings = (
        'Delete the review "{review}" that {customer} wrote about "{title}".',
        '{customer} asks us to delete the review of "{title}" with the title "{review}". Do it.',
        'Remove the review of "{title}" by {customer}, whose title is "{review}", for good.',
    )

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [Removed("reviews_productreview", {"id": facts["id"]}), *self.rating(facts)]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [*self.find(facts), click("link", "Delete"), click("button", "Delete")]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f'The review "{facts["review"]}" by {facts["customer"]} on "{facts["title"]}" is gone.',
            "Nothing else changed.",
        ]
