"""The shop's first payment of the episode is declined; the next attempt works."""

from __future__ import annotations

import random
from collections import Counter

from city.modifiers import Modifier

REASONS = (
    "The payment was declined: our payment service did not answer in time. Nothing was charged. Please try again.",
    "The payment was declined. Please check how you want to pay and place the order once more.",
    "Your payment could not be accepted just now. The order was not placed; you may try again.",
)


class DeclinedPayment(Modifier):
    """Refuses once; the basket stays as it was."""

    def __init__(self, rng: random.Random) -> None:
        self._reason = rng.choice(REASONS)

    def refusal(self, deed: str, counts: Counter[str]) -> str | None:
        """The reason, the first time that a payment is tried."""
        if deed != "payment" or counts["declined_payment"]:
            return None
        counts["declined_payment"] = 1
        return self._reason


MODIFIER = DeclinedPayment
