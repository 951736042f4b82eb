"""Task templates: each has many instances on the data of the seeds, and what it says of them is whole."""

from __future__ import annotations

import random
import re
import string
from collections.abc import Iterator

import pytest

from components.worlds.city.instances import CopyData, Instance
from components.worlds.city.server_process import CityServer
from components.worlds.city.tasks.registry import templates
from components.worlds.city.tasks.template import Unsuitable
from components.worlds.effects import Added

pytestmark = pytest.mark.timeout(700)
SEEDS = range(1, 37)
FEWEST = 20
"""Instances with different facts that a template must have, however they are worded. They are checked."""


@pytest.fixture(scope="module")
def copies(image) -> Iterator[dict[int, CopyData]]:
    server = CityServer(image)
    try:
        yield {seed: CopyData(server, server.reset(seed)["key"]) for seed in SEEDS}
    finally:
        server.stop()


def instances(name: str, copies: dict[int, CopyData]) -> Iterator[Instance]:
    template = templates()[name]
    for seed, data in copies.items():
        try:
            facts = template.facts(data, random.Random(f"{name} {seed}"))
        except Unsuitable:
            continue
        yield Instance(template, facts, seed)


@pytest.mark.parametrize("name", templates())
def test_a_template_has_many_different_instances(name, copies):
    different: dict[tuple[str, str], Instance] = {}
    for instance in instances(name, copies):
        different.setdefault(instance.key, instance)
        if len(different) == FEWEST:
            break
    assert len(different) == FEWEST
    suitable = list(different.values())
    tasks = [instance.row("eval") for instance in suitable]
    assert all(task["difficulty"] >= 1 and all(fact["description"] for fact in task["rubric"]) for task in tasks)
    for instance in suitable:
        template, facts = instance.template, instance.facts
        assert template.effects(facts) or template.answer(facts), "a task asks for something"
        assert template.oracle(facts)
        assert instance.check([], "").reward == 0
        assert instance.check([], instance.row("eval")["intent"]).reward == 0


@pytest.mark.parametrize("name", templates())
def test_every_phrasing_can_be_filled_in(name, copies):
    template = templates()[name]
    assert len(template.phrasings) >= 3
    fields = {field for _, field, _, _ in string.Formatter().parse(template.start) if field}
    for user in template.logins.values():
        fields |= {field for _, field, _, _ in string.Formatter().parse(user) if field}
    few = {seed: data for seed, data in copies.items() if seed <= 6}
    for instance in instances(name, few):
        assert fields <= {*instance.facts}
        for phrasing in template.phrasings:
            text = phrasing.format(**instance.facts)
            assert not re.search(r"[{}]|\bNone\b", text)


ONE = "there is one"
FREE_PARENTS = {
    ("basket_line", "basket_id"): "the columns cart_owner and cart_status say whose cart it is",
    ("helpdesk_followup", "user_id"): "the column author says who it is",
    **dict.fromkeys([("basket_line", "stockrecord_id"), ("order_line", "stockrecord_id")], "each article has one"),
    **dict.fromkeys([("address_useraddress", "country_id"), ("order_shippingaddress", "country_id")], ONE),
    **dict.fromkeys([("order_line", "partner_id"), ("order_order", "site_id")], ONE),
    ("order_order", "basket_id"): "the lines that come through the cart say whose it is",
    ("order_order", "billing_address_id"): "the checkout asks for none",
    ("order_ordernote", "user_id"): "the dashboard notes who is logged in",
    **dict.fromkeys(
        [("forum_conversation_topic", f"{end}_post_id") for end in ("first", "last")], "follows from posts"
    ),
    ("forum_conversation_post", "updated_by_id"): "who edited it last; a member can edit only own posts",
    ("helpdesk_kbitem", "team_id"): "the city has no teams",
    ("helpdesk_ticket", "assigned_to_id"): "the form of customers has no such field",
    ("helpdesk_ticket", "kbitem_id"): "from which article the form was opened",
    ("helpdesk_ticket", "merged_to_id"): "merging changes another ticket, too",
    ("postman_message", "thread_id"): "follows from the letter that it answers, parent_id",
    ("postman_message", "moderation_by_id"): "letters are not moderated",
}
"""Columns of added rows that name a row of another table, and that a template need not state, with the reason."""


def test_every_added_row_is_tied_to_the_rows_that_it_belongs_to(copies):
    """So that a comment on another ticket, or an option of another poll, is no success."""
    untied: dict[tuple[str, str], set[str]] = {}
    for name in templates():
        instance = next(instances(name, copies))
        for effect in instance.template.effects(instance.facts):
            if isinstance(effect, Added):
                sql = f"""SELECT "from" AS name FROM pragma_foreign_key_list('{effect.table}')"""
                for column in {row["name"] for row in copies[1].rows(sql)} - {*effect.values}:
                    untied.setdefault((effect.table, column), set()).add(name)
    assert {place: names for place, names in untied.items() if place not in FREE_PARENTS} == {}


def test_the_same_seed_gives_the_same_task(copies):
    for name in templates():
        first, second = instances(name, {1: copies[1]}), instances(name, {1: copies[1]})
        assert [instance.row("eval") for instance in first] == [instance.row("eval") for instance in second]
