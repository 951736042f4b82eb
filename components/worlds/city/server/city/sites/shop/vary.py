"""The shop's data of a seed: prices, stock, orders, reviews and carts."""

from __future__ import annotations

import random
from decimal import ROUND_DOWN, Decimal

from django.utils import timezone

from city import rows
from city.sites.shop import carts, orders, reviews
from city.sites.shop.goods import GOODS

ENDINGS = tuple(Decimal(ending) for ending in ("0.00", "0.50", "0.90", "0.95"))
"""Of prices, in dollars."""


def vary(rng: random.Random) -> None:
    """Change the bound copy's prices, stock, orders, reviews and carts."""
    write_prices({good.code: vary_price(good.price, rng) for good in GOODS})
    now = timezone.now()
    dealt = orders.deal(rng, now)
    orders.write(dealt)
    free = {good.code: vary_stock(good.stock, rng) for good in GOODS}
    write_stock(free, dealt)
    reviews.write(reviews.deal(rng, now))
    carts.write(carts.deal(rng, now, free))


def vary_price(price: Decimal, rng: random.Random) -> Decimal:
    """A price that a shop might ask, within a quarter of this one and different from it."""
    low, high = price * 3 / 4, price * 5 / 4
    dollars = range(int(low.to_integral_value(ROUND_DOWN)), int(high) + 1)
    candidates = [Decimal(whole) + ending for whole in dollars for ending in ENDINGS]
    return rng.choice([candidate for candidate in candidates if low <= candidate <= high and candidate != price])


def vary_stock(stock: int, rng: random.Random) -> int:
    """How many can be bought: of some goods none, of some few."""
    kind = rng.choices(("none", "few", "many"), (8, 14, 78))[0]
    return 0 if kind == "none" else rng.randint(1, 3) if kind == "few" else max(4, round(stock * rng.uniform(0.3, 1.6)))


def write_prices(prices: dict[str, Decimal]) -> None:
    """Set the prices of the goods, by code."""
    rows.update("partner_stockrecord", ({"id": key, "price": prices[code]} for code, key in _records().items()))


def write_stock(free: dict[str, int], dealt: list[orders.Order]) -> None:
    """Set how many of each good can be bought, by code, besides those that open orders have allocated."""
    allocated = dict.fromkeys(free, 0)
    for order in dealt:
        for code, quantity in order.lines if order.status in orders.OPEN else ():
            allocated[code] += quantity
    rows.update(
        "partner_stockrecord",
        (
            {"id": key, "num_in_stock": free[code] + allocated[code], "num_allocated": allocated[code]}
            for code, key in _records().items()
        ),
    )


def _records() -> dict[str, int]:
    return {
        row["upc"]: row["id"]
        for row in rows.select(
            "SELECT s.id, p.upc FROM partner_stockrecord s JOIN catalogue_product p ON p.id = s.product_id"
        )
    }
