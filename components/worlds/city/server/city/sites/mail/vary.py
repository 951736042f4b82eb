"""The letters of a seed: the same letters on the same days, with the orders and tickets of the seed."""

from __future__ import annotations

import random

from city import rows
from city.sites.mail.facts import CONVERSATIONS, Facts


def vary(_rng: random.Random) -> None:
    """Name the bound copy's orders and tickets in its letters, which the image holds in the order of their dates."""
    facts = Facts()
    texts = [facts.texts(conversation) for conversation in CONVERSATIONS]
    changes = []
    for key, (_, index, number) in enumerate(facts.letters(), start=1):
        subject, body = texts[index][number]
        changes.append({"id": key, "subject": subject, "body": body})
    rows.update("postman_message", changes)
