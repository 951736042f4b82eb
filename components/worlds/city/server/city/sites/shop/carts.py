"""What customers have put into their carts and not ordered yet, dealt anew for each seed.

Only some customers have anything in the cart. That of the others is empty, so what they order is what they add.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Mapping
from dataclasses import dataclass

from city import rows
from city.sites.shop.orders import CUSTOMERS

OWNERS = CUSTOMERS[4:]
SIZES = (1, 2, 2, 3, 3, 4)
"""Numbers of lines, in any order; one for each owner."""
MOST = 3
"""Pieces in a line."""


@dataclass(frozen=True)
class Cart:
    """A cart: `lines` are (code of a good, quantity)."""

    username: str
    lines: tuple[tuple[str, int], ...]
    filled: dt.datetime


def deal(rng: random.Random, now: dt.datetime, free: Mapping[str, int]) -> list[Cart]:
    """The carts of a seed, with different goods that can all be bought.

    Args:
        free: how many of each good can be bought, by code.
    """
    codes = [code for code, number in free.items() if number >= MOST]
    rng.shuffle(codes)
    sizes = rng.sample(SIZES, len(SIZES))
    carts = []
    for owner, size in zip(OWNERS, sizes, strict=True):
        lines = tuple((codes.pop(), rng.randint(1, MOST)) for _ in range(size))
        carts.append(Cart(owner.username, lines, now - dt.timedelta(minutes=rng.randint(60, 20_000))))
    return carts


def write(carts: list[Cart]) -> None:
    """Make these the carts of the bound copy; their owners have an open basket each."""
    baskets = {
        row["username"]: row["id"]
        for row in rows.select("""SELECT b.id, u.username FROM basket_basket b JOIN auth_user u ON u.id = b.owner_id
            WHERE b.status = 'Open' ORDER BY b.id""")
    }
    stock = {
        row["partner_sku"]: row
        for row in rows.select("SELECT id, partner_sku, product_id, price FROM partner_stockrecord")
    }
    rows.replace(
        "basket_line",
        (
            {
                "line_reference": f"{stock[code]['product_id']}_{stock[code]['id']}",
                "quantity": quantity,
                "price_excl_tax": stock[code]["price"],
                "price_incl_tax": stock[code]["price"],
                "basket_id": baskets[cart.username],
                "product_id": stock[code]["product_id"],
                "stockrecord_id": stock[code]["id"],
                "date_created": cart.filled,
            }
            for cart in carts
            for code, quantity in cart.lines
        ),
    )
