"""Queries on the shop's data that several templates need."""

from __future__ import annotations

import random
from collections.abc import Sequence

from components.worlds.city.tasks.template import Data, Row, Unsuitable
from components.worlds.effects import Added, Effect

_GOODS = """SELECT p.id, p.title, p.upc, p.rating, c.name AS category, s.id AS record, s.price,
        coalesce(s.num_allocated, 0) AS allocated, s.num_in_stock - coalesce(s.num_allocated, 0) AS free
    FROM catalogue_product p
    JOIN partner_stockrecord s ON s.product_id = p.id
    JOIN catalogue_productcategory pc ON pc.product_id = p.id
    JOIN catalogue_category c ON c.id = pc.category_id
    WHERE p.is_public ORDER BY p.id"""
_CUSTOMERS = """SELECT u.id, u.username, u.first_name, u.last_name, u.email, a.id AS address, a.line1 AS street,
        (SELECT count(*) FROM basket_line l JOIN basket_basket b ON b.id = l.basket_id
         WHERE b.owner_id = u.id AND b.status = 'Open') AS in_cart
    FROM auth_user u JOIN address_useraddress a ON a.user_id = u.id AND a.is_default_for_shipping
    WHERE u.is_active AND NOT u.is_staff ORDER BY u.id"""
_ORDERS = """SELECT o.id, o.number, o.status, o.total_incl_tax AS total, o.date_placed AS placed, o.user_id AS owner,
        u.username
    FROM order_order o JOIN auth_user u ON u.id = o.user_id ORDER BY o.number"""
_LINES = """SELECT l.order_id, l.product_id AS product, l.title, l.quantity FROM order_line l ORDER BY l.id"""
_CART = """SELECT l.id, l.product_id AS product, l.quantity, l.basket_id AS basket, p.title
    FROM basket_line l JOIN basket_basket b ON b.id = l.basket_id JOIN catalogue_product p ON p.id = l.product_id
    WHERE b.owner_id = ? AND b.status = 'Open' ORDER BY l.id"""


def goods(data: Data, least: int = 0) -> list[Row]:
    """What the shop shows: id, title, upc, rating, category, record (of the stock), price, and allocated and free
    pieces.

    Args:
        least: only those of which so many can be bought.
    """
    return [row for row in data.rows(_GOODS) if row["free"] >= least]


def customers(data: Data) -> list[Row]:
    """The customers with their default address and the number of lines in their cart."""
    return data.rows(_CUSTOMERS)


def with_empty_cart(data: Data) -> list[Row]:
    """The customers who have nothing in the cart."""
    return [row for row in customers(data) if not row["in_cart"]]


def orders(data: Data, user: int | None = None) -> list[Row]:
    """The orders by number, with their `lines`: product, title, quantity.

    Args:
        user: only of this customer.
    """
    rows = [{**row, "lines": []} for row in data.rows(_ORDERS) if user in (None, row["owner"])]
    by_id = {row["id"]: row for row in rows}
    for line in data.rows(_LINES):
        if line["order_id"] in by_id:
            by_id[line["order_id"]]["lines"].append(line)
    return rows


def cart(data: Data, user: int) -> list[Row]:
    """The lines of a customer's cart: id, product, title, quantity, basket."""
    return data.rows(_CART, user)


def in_cart(product: int, quantity: int, user: str | None, status: str = "Open") -> Effect:
    """A new line of a cart.

    Args:
        user: whose cart it is; None is a visitor who is not logged in.
        status: of the cart in the shop's database. An article that was saved for later is in a cart of the status
            `Saved`, which the cart's page does not count.
    """
    line = {"product_id": product, "quantity": quantity, "cart_owner": user, "cart_status": status}
    return Added("basket_line", line)


def pick(rows: Sequence[Row], rng: random.Random, kind: str) -> Row:
    """One of the rows.

    Raises:
        Unsuitable: there is none of this kind.
    """
    if not rows:
        raise Unsuitable(f"the shop has no {kind}")
    return rng.choice(rows)


def money(amount: float | int | str) -> str:
    """An amount as the shop shows it, without the currency."""
    return f"{float(amount):.2f}"
