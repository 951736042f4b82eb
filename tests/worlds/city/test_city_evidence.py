"""An answer counts only if a page that shows it was opened, where a guess is often right."""

from __future__ import annotations

import re

import pytest

from components.worlds.city.instances import instances
from components.worlds.city.server_process import CityServer
from components.worlds.city.tasks.registry import find, templates
from tests.worlds.city.visitor import FORUM, SHOP, Visitor

TOPICS = "forum.test/forum/boats-5/topic/log-of-a-slow-week-12/"
FACTS = {"replies": 2, "subject": "Log of a slow week"}
COUNTS = [
    "calendar_count_day",
    "cms_news_of_month",
    "dashboard_count_orders",
    "dashboard_stock_question",
    "desk_count_in_queue",
    "desk_count_of_owner",
    "forum_count_posts",
    "forum_count_replies",
    "forum_poll_count",
    "mail_count_letters",
    "shop_count_under",
    "shop_number_of_reviews",
]


def opened_by(server, key: str) -> list[str]:
    status, pages = server.control("opened", key=key)
    assert status == 200, pages
    return pages


@pytest.mark.parametrize("opened", [(), ("forum.test/",), ("shop.test/forum/1/",), ("forum.test/accounts/login/",)])
def test_a_right_answer_without_a_page_that_shows_it_is_a_guess(opened):
    check = find("forum_count_replies").check(FACTS, [], "2", opened)
    assert (check.reward, check.answer_ok, check.credit) == (0, False, 0)
    assert check.missing == ["a page that shows the answer was opened"]


def test_a_right_answer_after_a_page_that_shows_it_counts():
    check = find("forum_count_replies").check(FACTS, [], "2", ["forum.test/", TOPICS])
    assert (check.reward, check.answer_ok, check.missing) == (1, True, [])


def test_a_wrong_answer_after_that_page_is_wrong():
    check = find("forum_count_replies").check(FACTS, [], "3", [TOPICS])
    assert (check.reward, check.answer_ok, check.missing) == (0, False, [])


def test_no_answer_is_no_guess():
    assert find("forum_count_replies").check(FACTS, [], None, []).missing == []


def test_own_tickets_are_on_the_start_page_of_the_desk():
    facts = {"owner": "Dana", "username": "dana", "count": 2, "rivals": [1]}
    template = find("desk_count_of_owner")
    assert template.check(facts, [], "2", ["desk.test/dashboard/"]).reward == 1
    assert template.check(facts | {"username": "piet"}, [], "2", ["desk.test/dashboard/"]).reward == 0


def test_the_server_notes_which_pages_a_copy_has_shown(server):
    key, other = server.reset(1), server.reset(1)
    visitor = Visitor(server, key)
    visitor.get(SHOP, "/catalogue/?page=2")
    visitor.get(FORUM, "/")
    assert visitor.request(SHOP, "/accounts/orders/")[0] == 302  # to the login
    assert visitor.request(SHOP, "/no-such-page/")[0] == 404
    assert opened_by(server, key) == ["forum.test/", "shop.test/catalogue/"]
    assert opened_by(server, other) == []
    for name in (key, other):
        server.control("drop", key=name)


def test_a_fork_has_opened_what_its_episode_had_opened(server):
    key = server.reset(1)
    Visitor(server, key).get(FORUM, "/")
    fork = server.control("fork", key=key)[1]["key"]
    Visitor(server, fork).get(SHOP, "/catalogue/")
    assert opened_by(server, fork) == ["forum.test/", "shop.test/catalogue/"]
    assert opened_by(server, key) == ["forum.test/"]
    for name in (key, fork):
        server.control("drop", key=name)


def test_what_a_script_asks_for_is_no_page(server):
    key = server.reset(1)
    connection = Visitor(server, key)
    connection.get(FORUM, "/static/machina/build/css/machina.board_theme.min.css")
    assert opened_by(server, key) == []
    server.control("drop", key=key)


def test_the_start_page_is_no_evidence(image):
    """Where the start page may show the answer, the template names no pages."""
    server = CityServer(image)
    try:
        made = {name: instances(server, find(name), 5000, 1)[0] for name in COUNTS}
        for name, instance in made.items():
            key = server.reset(instance.seed, (), instance.users())
            visitor = Visitor(server, key["key"], key["cookies"])
            visitor.get(f"{instance.template.sites[0]}.test", instance.template.start.format(**instance.facts))
            pages = server.opened(key["key"])
            assert pages
            patterns = instance.template.evidence(instance.facts)
            assert not any(re.fullmatch(pattern, page) for pattern in patterns for page in pages), name
            server.drop(key["key"])
    finally:
        server.stop()


def test_templates_with_evidence_are_those_of_small_numbers_and_few_names():
    named = {name for name, kind in templates().items() if "evidence" in vars(type(kind))}
    assert named == {*COUNTS, "shop_order_status"}
