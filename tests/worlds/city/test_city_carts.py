"""The shop's carts by seed, and the form of reviews."""

from __future__ import annotations

import re

import pytest

from components.records import RowChange
from components.worlds.city.tasks.shop.queries import in_cart
from components.worlds.effects import check_changes
from tests.worlds.city.visitor import SHOP, Server, Visitor

SEEDS = range(6)
CARTS = """SELECT u.username, b.id AS basket, l.product_id AS product, l.quantity, l.price_incl_tax AS price, p.title,
        s.price AS asked, s.num_in_stock - coalesce(s.num_allocated, 0) AS free, l.line_reference, s.id AS record
    FROM basket_line l JOIN basket_basket b ON b.id = l.basket_id JOIN auth_user u ON u.id = b.owner_id
    JOIN catalogue_product p ON p.id = l.product_id JOIN partner_stockrecord s ON s.id = l.stockrecord_id
    WHERE b.status = 'Open' ORDER BY l.id"""


@pytest.fixture(scope="module")
def keys(server):
    copies = {seed: server.reset(seed) for seed in SEEDS}
    yield copies
    for key in copies.values():
        server.control("drop", key=key)


def customer(server: Server, seed: int, username: str) -> Visitor:
    status, ready = server.control("reset", seed=seed, logins={SHOP: username})
    assert status == 200, ready
    return Visitor(server, ready["key"], ready["cookies"])


def test_carts_differ_by_seed_and_can_be_ordered(server, keys):
    contents = set()
    for key in keys.values():
        lines = server.query(key, CARTS)
        contents.add(tuple((line["username"], line["title"], line["quantity"]) for line in lines))
        assert len({line["basket"] for line in lines}) == len({line["username"] for line in lines}) == 6
        for line in lines:
            assert 1 <= line["quantity"] <= min(3, line["free"])
            assert line["price"] == line["asked"]
            assert line["line_reference"] == f"{line['product']}_{line['record']}"
    assert len(contents) == len(keys)


def test_half_of_the_customers_begin_with_an_empty_cart(server, keys):
    for key in keys.values():
        owners = {line["username"] for line in server.query(key, CARTS)}
        assert owners.isdisjoint({"alice", "bruno", "chiara", "dmitri"})


def test_the_cart_shows_its_lines_and_takes_more(server, keys):
    line = server.query(keys[1], CARTS)[0]
    visitor = customer(server, 1, line["username"])
    assert line["title"] in visitor.get(SHOP, "/basket/")
    in_cart = {row["product"] for row in server.query(keys[1], CARTS)}
    other = server.query(visitor.key, "SELECT product_id FROM partner_stockrecord WHERE num_in_stock > 20")
    product = next(row["product_id"] for row in other if row["product_id"] not in in_cart)
    before = server.control("snapshot", key=visitor.key)[1]["key"]
    visitor.add_to_basket(product)
    (added,) = server.diff(before, visitor.key)["basket_line"]
    assert (added["after"]["product_id"], added["after"]["basket_id"]) == (str(product), str(line["basket"]))


def test_an_article_saved_for_later_is_not_in_the_cart(server):
    """Both add the same line as a task asks for; in one case, the cart is empty afterwards."""
    visitor = customer(server, 1, "alice")
    before = server.control("snapshot", key=visitor.key)[1]["key"]
    product = server.query(visitor.key, "SELECT product_id FROM partner_stockrecord WHERE num_in_stock > 20")[0][
        "product_id"
    ]
    wanted = in_cart(product, 1, "alice")

    def reward(key: str) -> float:
        status, rows = server.control("diff", before=before, after=key)
        assert status == 200, rows
        return check_changes([wanted], [], [RowChange.model_validate(row) for row in rows], None, "").reward

    visitor.add_to_basket(product)
    assert reward(visitor.key) == 1
    line = server.query(visitor.key, "SELECT id FROM basket_line ORDER BY id DESC")[0]["id"]
    form = {"form-TOTAL_FORMS": "1", "form-INITIAL_FORMS": "1", "form-0-id": str(line), "form-0-quantity": "1"}
    sent = visitor.post(SHOP, "/basket/", "/basket/", **form, **{"form-0-save_for_later": "on"})
    assert sent == 302
    assert server.query(visitor.key, CARTS.replace("'Open'", "'Saved'"))[0]["username"] == "alice"
    assert reward(visitor.key) == 0

    stranger = Visitor(server, server.control("fork", key=before)[1]["key"])
    stranger.add_to_basket(product)
    assert reward(stranger.key) == 0
    (added,) = server.diff(before, stranger.key)["basket_line"]
    assert (added["after"]["cart_status"], added["after"]["cart_owner"]) == ("Open", None)


def test_the_stars_of_a_review_have_names(server):
    visitor = customer(server, 1, "alice")
    page = visitor.get(SHOP, "/catalogue/x_1/reviews/add/")
    assert re.findall(r'aria-label="(\d stars?)"', page) == ["1 star", "2 stars", "3 stars", "4 stars", "5 stars"]
