"""Data of a seed that a task must not have: the shop would refuse the right action, or the task says its answer."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from components.params import FilterParams
from components.records import Task
from components.tasks import filter_tasks
from components.worlds.city.instances import CopyData, instance
from components.worlds.city.server_process import CityServer
from components.worlds.city.tasks.dashboard import goods
from components.worlds.city.tasks.registry import templates
from components.worlds.city.tasks.shop import questions
from components.worlds.city.tasks.template import Unsuitable

CART = """SELECT l.product_id, l.quantity, s.num_in_stock - coalesce(s.num_allocated, 0) AS free, l.id
    FROM basket_line l JOIN basket_basket b ON b.id = l.basket_id JOIN auth_user u ON u.id = b.owner_id
    JOIN partner_stockrecord s ON s.product_id = l.product_id WHERE b.status = 'Open' AND u.username = ?"""


@pytest.fixture(scope="module")
def city(image) -> Iterator[CityServer]:
    server = CityServer(image)
    yield server
    server.stop()


def facts_and_cart(city: CityServer, name: str, seed: int, modifiers: tuple[str, ...]) -> tuple[dict[str, Any], list]:
    """The facts of a task and the user's cart; no facts if the seed has none."""
    key = city.reset(seed, modifiers)["key"]
    try:
        data = CopyData(city, key)
        facts = templates()[name].facts(data, random.Random(f"{name} {seed}"))
        return facts, data.rows(CART, facts["user"])
    except Unsuitable:
        return {}, []
    finally:
        city.drop(key)


@pytest.mark.parametrize("name", ["across_buy_both", "across_buy_recommended"])
def test_what_is_to_be_bought_is_not_in_the_cart_before(city, name):
    found = [facts_and_cart(city, name, seed, ()) for seed in (2, 36, 53, 63, 70)]
    assert any(facts for facts, _ in found)
    for facts, cart in found:
        wanted = {*facts.get("products", ()), facts.get("product")}
        assert not wanted & {line["product_id"] for line in cart}


@pytest.mark.parametrize("name", ["shop_change_quantity", "shop_save_for_later"])
def test_no_line_that_is_sold_out_keeps_the_cart_from_changing(city, name):
    found = [facts_and_cart(city, name, seed, ("out_of_stock",)) for seed in range(2, 10)]
    assert any(facts for facts, _ in found)
    for facts, cart in found:
        others = [line for line in cart if name == "shop_save_for_later" or line["id"] != facts["line"]]
        assert all(line["quantity"] <= line["free"] for line in others)


@pytest.mark.parametrize("name", ["shop_change_quantity", "across_buy_recommended"])
def test_who_may_have_to_log_in_again_is_told_the_password(city, name):
    intents = {}
    for modifiers in ((), ("expired_session",)):
        task = Task.model_validate(instance(city, templates()[name], 3, modifiers).row("train"))
        assert filter_tasks([task], [], FilterParams())[0] == [task], "it is no task behind a login"
        intents[modifiers] = task.intent
    user = {*instance(city, templates()[name], 3).users().values()}
    assert len(user) == 1
    username = user.pop()
    known_as = f"user name {username}, e-mail address {username}@harbour.test"
    assert intents["expired_session",] == (
        f"{intents[()]} If a site asks who you are: {known_as}, password sea-breeze."
    )


@pytest.mark.parametrize("is_open", [questions._is_open, goods._is_open])
@pytest.mark.parametrize(
    ("title", "number", "expected"),
    [
        ("Safety line with two hooks", 2, False),
        ("Safety line with two hooks", 3, True),
        ("Boarding ladder, four steps", 4, False),
        ("Shackle 8 mm", 8, False),
    ],
)
def test_a_title_with_the_number_in_words_has_the_answer(is_open, title, number, expected):
    assert is_open(title, number) is expected
