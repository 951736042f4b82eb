"""A third of the shop's goods is sold out; which, the seed decides."""

from __future__ import annotations

import random

from city.modifiers import Modifier

SHARE = 3
"""One of so many goods has no stock."""


class OutOfStock(Modifier):
    """Takes the stock away. Goods that were sold out already stay so."""

    def __init__(self, rng: random.Random) -> None:
        self._salt = rng.random()

    def patch(self) -> None:
        """Set the stock to what is promised to buyers already, so that none is free."""
        from django.db.models import F
        from django.db.models.functions import Coalesce
        from oscar.core.loading import get_model

        records = get_model("partner", "StockRecord").objects
        keys = sorted(records.values_list("pk", flat=True))
        chosen = random.Random(self._salt).sample(keys, len(keys) // SHARE)
        records.filter(pk__in=chosen).update(num_in_stock=Coalesce(F("num_allocated"), 0))


MODIFIER = OutOfStock
