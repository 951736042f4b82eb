"""Who ordered what, when, and what became of it: dealt anew for each seed, and written into the shop's tables."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from city import rows
from city.people import PEOPLE, Person
from city.sites.shop.goods import GOODS

FIRST, COUNT = 100101, 64
CUSTOMERS = tuple(person for person in PEOPLE if not person.is_staff)
OPEN = ("Pending", "Being processed")
"""Statuses in which goods are allocated, but not sent."""


@dataclass(frozen=True)
class Promise:
    """An order that texts of other sites are about, and that exists in every seed.

    Its customer, some of its goods and its status are given, and its age: from `low` days to less than `high` days.
    """

    username: str
    codes: tuple[str, ...]
    status: str
    low: int
    high: int

    def fits(self, age: dt.timedelta) -> bool:
        """Whether an order of this age may be it."""
        return self.low <= age.days < self.high


PROMISES = (
    Promise("alice", (), "Complete", 42, 70),
    Promise("alice", ("RL-101",), "Complete", 14, 60),
    Promise("bruno", (), "Pending", 7, 11),
    Promise("bruno", ("DH-603",), "Complete", 14, 80),
    Promise("chiara", ("CL-205",), "Complete", 14, 60),
    Promise("dmitri", ("NV-303",), "Complete", 14, 60),
    Promise("dmitri", ("DH-604", "GL-502"), "Complete", 8, 25),
    Promise("esther", ("GL-501",), "Complete", 14, 80),
    Promise("farid", ("SF-402",), "Complete", 14, 80),
    Promise("greta", ("GL-502",), "Pending", 1, 6),
    Promise("greta", (), "Being processed", 10, 20),
    Promise("hugo", ("FI-802",), "Being processed", 4, 20),
    Promise("ines", (), "Complete", 5, 12),
    Promise("ines", ("PC-702",), "Complete", 14, 80),
    Promise("jonas", ("DH-605",), "Complete", 14, 80),
    Promise("jonas", ("PC-706", "RL-105"), "Being processed", 4, 14),
    Promise("jonas", (), "Cancelled", 4, 60),
)


@dataclass(frozen=True)
class Order:
    """An order: `lines` are (code of a good, quantity)."""

    number: str
    username: str
    status: str
    placed: dt.datetime
    lines: tuple[tuple[str, int], ...]

    def contains(self, code: str) -> bool:
        """Whether this good is in it."""
        return any(code == line for line, _ in self.lines)


def deal(rng: random.Random, now: dt.datetime) -> list[Order]:
    """All orders of a seed, by number. Later numbers are younger; each good and each customer has some."""
    dated = {str(FIRST + position): now - _age(position, rng) for position in range(COUNT)}
    free = rng.sample([*dated], COUNT)
    deck = [good.code for good in GOODS]
    rng.shuffle(deck)
    orders = {}
    for promise in sorted(PROMISES, key=lambda promise: promise.high - promise.low):  # the strictest first
        number = next(number for number in free if promise.fits(now - dated[number]))
        free.remove(number)
        lines = _lines(rng, deck, promise.codes)
        orders[number] = Order(number, promise.username, promise.status, dated[number], lines)
    owners = [person.username for person in CUSTOMERS for _ in range(2)]
    owners += [rng.choice(CUSTOMERS).username for _ in range(len(free) - len(owners))]
    rng.shuffle(owners)
    for number, username in zip(free, owners, strict=True):
        placed = dated[number]
        orders[number] = Order(number, username, _status(rng, now - placed), placed, _lines(rng, deck, ()))
    return [orders[number] for number in sorted(orders)]


def _age(position: int, rng: random.Random) -> dt.timedelta:
    """Between eighty days and an hour, the younger the higher the position."""
    days = [80 * ((COUNT - place) / COUNT) ** 1.6 for place in (position, position + 1)]
    return dt.timedelta(minutes=60 + round(1440 * rng.uniform(days[1], days[0])))


def _status(rng: random.Random, age: dt.timedelta) -> str:
    weights = (75, 25, 0, 0) if age.days < 4 else (20, 55, 20, 5) if age.days < 14 else (0, 8, 80, 12)
    return rng.choices((*OPEN, "Complete", "Cancelled"), weights)[0]


def _lines(rng: random.Random, deck: list[str], first: tuple[str, ...]) -> tuple[tuple[str, int], ...]:
    """One to four lines, from the deck as long as it lasts, so that each good has been ordered."""
    codes = [*first]
    for _ in range(rng.choices((1, 2, 3, 4), (25, 40, 25, 10))[0] - len(codes)):
        code = deck.pop() if deck else rng.choice(GOODS).code
        if code not in codes:
            codes.append(code)
    return tuple((code, rng.choices((1, 2, 3, 5), (60, 25, 10, 5))[0]) for code in codes)


def read() -> list[Order]:
    """The orders of the bound copy, by number."""
    lines: dict[int, list[tuple[str, int]]] = {}
    for row in rows.select("SELECT order_id, partner_sku, quantity FROM order_line ORDER BY id"):
        lines.setdefault(row["order_id"], []).append((row["partner_sku"], row["quantity"]))
    query = """SELECT o.id, o.number, o.status, o.date_placed, u.username
        FROM order_order o JOIN auth_user u ON u.id = o.user_id ORDER BY o.number"""
    return [
        Order(row["number"], row["username"], row["status"], rows.moment(row["date_placed"]), (*lines[row["id"]],))
        for row in rows.select(query)
    ]


def write(orders: Sequence[Order]) -> None:
    """Make these the orders of the bound copy, at the prices of its stock records; numbers must exist."""
    users = {row["username"]: row["id"] for row in rows.select("SELECT id, username FROM auth_user")}
    old = {row["number"]: row for row in rows.select("SELECT id, number, shipping_address_id FROM order_order")}
    stock = {
        row["upc"]: row
        for row in rows.select("""SELECT p.upc, p.title, p.id AS product_id, s.id AS stockrecord_id, s.price
            FROM partner_stockrecord s JOIN catalogue_product p ON p.id = s.product_id""")
    }
    lines, prices, heads, addresses = [], [], [], []
    for order in orders:
        key, total = old[order.number]["id"], Decimal(0)
        for code, quantity in order.lines:
            record = stock[code]
            price = Decimal(str(record["price"])).quantize(Decimal("0.01"))
            total += price * quantity
            lines.append(_line(order, key, record, price, quantity))
            prices.append(
                {"line_id": len(lines), "order_id": key, "quantity": quantity}
                | dict.fromkeys(("price_incl_tax", "price_excl_tax"), price)
            )
        heads.append(
            {"id": key, "user_id": users[order.username], "status": order.status}
            | {"date_placed": order.placed, "total_incl_tax": total, "total_excl_tax": total}
        )
        person = next(person for person in PEOPLE if person.username == order.username)
        addresses.append({"id": old[order.number]["shipping_address_id"], **_address(person)})
    rows.update("order_order", heads)
    rows.update("order_shippingaddress", addresses)
    rows.replace("order_line", lines)
    rows.replace("order_lineprice", prices)


def _line(order: Order, key: int, record: rows.Row, price: Decimal, quantity: int) -> rows.Row:
    unit = ("unit_price_incl_tax", "unit_price_excl_tax")
    before = ("line_price_before_discounts_incl_tax", "line_price_before_discounts_excl_tax")
    line = ("line_price_incl_tax", "line_price_excl_tax", *before)
    return {
        **{name: record[name] for name in ("title", "upc", "product_id", "stockrecord_id")},
        **dict.fromkeys(unit, price),
        **dict.fromkeys(line, price * quantity),
        "order_id": key,
        "partner_sku": record["upc"],
        "quantity": quantity,
        "status": order.status,
        "num_allocated": quantity if order.status in OPEN else 0,
        "allocation_cancelled": int(order.status == "Cancelled"),
    }


def _address(person: Person) -> rows.Row:
    search = f"{person.first_name} {person.last_name} {person.street} Harbour ME 04101 United States"
    return {
        "first_name": person.first_name,
        "last_name": person.last_name,
        "line1": person.street,
        "search_text": search,
    }
