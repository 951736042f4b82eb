"""The shop's staff dashboard: the headings of its lists."""

from __future__ import annotations

import html
import re

import pytest

from tests.worlds.city.visitor import SHOP, Visitor

LISTS = {
    "catalogue/": 4,
    "catalogue/categories/": 1,
    "users/": 4,
    "ranges/": 0,
    "orders/": 0,
    "catalogue/attribute-option-group/": 1,
}
"""Lists of the dashboard and how many columns can be ordered by at least."""


@pytest.fixture(scope="module")
def admin(server) -> Visitor:
    status, ready = server.control("reset", seed=0, logins={SHOP: "admin"})
    assert status == 200, ready
    return Visitor(server, ready["key"], ready["cookies"])


@pytest.mark.parametrize("path", LISTS)
def test_every_heading_of_a_list_orders_it(admin, path):
    """Headings of boxes and buttons were links, too, to error pages."""
    page = admin.get(SHOP, f"/dashboard/{path}")
    headings = {html.unescape(link) for link in re.findall(r'href="(\?[^"]*sort=[^"]*)"', page)}
    assert len(headings) >= LISTS[path]
    for heading in sorted(headings):
        admin.get(SHOP, f"/dashboard/{path}{heading}")


def test_an_order_that_no_heading_offers_changes_nothing(admin):
    titles = [
        re.findall(r'<td class="title">\s*<a[^>]*>([^<]+)', admin.get(SHOP, f"/dashboard/catalogue/{order}"))
        for order in ("", "?sort=checkbox")
    ]
    assert titles[0] == titles[1]
