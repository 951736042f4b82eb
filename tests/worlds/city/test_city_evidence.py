"""An answer counts only if a page that shows it was opened, where a guess is often right."""

from __future__ import annotations

import inspect
import re

import pytest

from components.worlds.city.instances import instances
from components.worlds.city.server_process import CityServer
from components.worlds.city.tasks import addresses
from components.worlds.city.tasks.registry import find, templates
from tests.worlds.city.visitor import FORUM, SHOP, Visitor

TOPICS = "forum.test/forum/boats-5/topic/log-of-a-slow-week-12/"
ARTICLE = "shop.test/catalogue/"
MONTH = "calendar.test/calendar/month/"
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

NAMES = ["across_cheapest_named", "desk_last_comment", "forum_poll_leader", "forum_which_forum"]
"""Of few names, so that a guess is often right."""
REFUSED = [
    "across_cancel_complete_order",
    "calendar_crane_closed",
    "calendar_crane_taken",
    "calendar_customer_books",
    "dashboard_cancel_final_order",
    "dashboard_unknown_order",
    "desk_assign_to_customer",
    "desk_close_unknown_ticket",
    "forum_edit_foreign_post",
    "forum_reply_to_locked",
    "mail_write_to_stranger",
    "shop_impossible_coupon",
    "shop_impossible_order",
    "shop_impossible_sold_out",
    "shop_impossible_unsold",
]


WRITTEN = ["across_count_orders", "across_reply_with_stock", "across_settle_ticket", "across_ticket_status"]
"""The answer is written into a site, and not said."""


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
    facts = {"owner": "Dana", "username": "dana", "priority": "High", "count": 2, "rivals": [1]}
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
    assert visitor.request(SHOP, "/catalogue/", {"any": "field"})[0] >= 400  # a list takes no form
    assert opened_by(server, key) == [
        "404 shop.test/no-such-page/",
        "forum.test/",
        "shop.test/catalogue/",
        "shop.test/catalogue/?page=2",
    ]
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


@pytest.fixture(scope="module")
def start_pages(image):
    """An instance of each template with evidence, and the addresses that its start page has as the agent sees it."""
    server = CityServer(image)
    try:
        shown = {}
        for name in [*COUNTS, *NAMES, *REFUSED]:
            made = instances(server, find(name), 5000, 5)  # the desk's start page may show an owner's tickets
            instance = next(instance for instance in made if instance.template.evidence(instance.facts))
            key = server.reset(instance.seed, (), instance.users())
            visitor = Visitor(server, key["key"], key["cookies"])
            visitor.get(f"{instance.template.sites[0]}.test", instance.template.start.format(**instance.facts))
            shown[name] = (instance, server.opened(key["key"]))
            server.drop(key["key"])
        yield shown
    finally:
        server.stop()


@pytest.mark.parametrize("name", [*COUNTS, *NAMES, *REFUSED])
def test_the_start_page_is_no_evidence(start_pages, name):
    """Where the start page may show the answer, the template names no pages."""
    instance, pages = start_pages[name]
    assert pages
    expected = instance.template.answer(instance.facts)
    check = instance.check([], expected.example, pages)
    assert (check.reward, check.answer_ok, check.missing) == (0, False, ["a page that shows the answer was opened"])


def test_templates_with_evidence_are_those_of_small_numbers_and_few_names():
    named = {name for name, kind in templates().items() if "evidence" in vars(type(kind))}
    assert named == {*COUNTS, *NAMES, *REFUSED, *WRITTEN, "shop_order_status"}


@pytest.mark.parametrize("name", WRITTEN)
def test_an_answer_that_is_written_without_its_page_is_a_guess(monkeypatch, name):
    """Its effects are left out, as if they were there."""
    template = find(name)
    for part in ("effects", "incidental"):
        monkeypatch.setattr(type(template), part, lambda template, facts: ())
    facts, guessed = {"article": "Fog horn"}, ["forum.test/", "desk.test/tickets/3/", "shop.test/dashboard/"]
    check = template.check(facts, [], "done", guessed)
    assert (check.reward, check.missing) == (0, ["a page that shows the answer was opened"])
    known = ["shop.test/dashboard/orders/100123/", f"{ARTICLE}fog-horn_36/"]
    assert template.check(facts, [], "done", [*guessed, *known]).reward == 1


@pytest.mark.parametrize(
    ("name", "facts", "right", "wrong"),
    [
        ("forum_count_replies", FACTS, TOPICS, TOPICS.replace("log-of-a-slow-week", "varnish-in-april")),
        ("forum_poll_count", {"subject": "Poll: flag"}, "forum.test/forum/x-2/topic/poll-flag-82/", TOPICS),
        ("forum_poll_leader", {"subject": "Poll: flag"}, "forum.test/forum/x-2/topic/poll-flag-82/", TOPICS),
        ("forum_which_forum", FACTS, TOPICS, TOPICS.replace("log-of-a-slow-week", "varnish-in-april")),
        ("shop_number_of_reviews", {"title": "Fog horn"}, "shop.test/catalogue/fog-horn_36/", f"{ARTICLE}crab-pot_3/"),
        ("shop_number_of_reviews", {"title": "Fog horn"}, f"{ARTICLE}fog-horn_36/reviews/", "shop.test/search/"),
        ("shop_number_of_reviews", {"title": "Fog horn"}, f"{ARTICLE}fog-horn_36/", f"{ARTICLE}fog-horn-no-gas_36/"),
        ("shop_impossible_coupon", {}, "POST shop.test/basket/vouchers/add/", "shop.test/basket/"),
        ("shop_impossible_unsold", {}, "shop.test/catalogue/?page=3", "shop.test/catalogue/"),
        ("desk_close_unknown_ticket", {"ticket": 57}, "desk.test/tickets/", "desk.test/tickets/submit/"),
        ("desk_close_unknown_ticket", {"ticket": 57}, "404 desk.test/tickets/57/", "404 desk.test/tickets/58/"),
        ("mail_write_to_stranger", {}, "POST mail.test/write/", "mail.test/write/"),
        ("calendar_crane_taken", {}, f"{MONTH}crane/", f"{MONTH}sailing-school/"),
        ("shop_count_under", {}, "shop.test/catalogue/category/sails_2/", f"{ARTICLE}crab-pot_3/"),
        ("across_cheapest_named", {"titles": ["Fog horn"]}, f"{ARTICLE}fog-horn_36/", f"{ARTICLE}crab-pot_3/"),
        ("desk_last_comment", {"ticket": 7}, "desk.test/tickets/7/", "desk.test/tickets/70/"),
        ("desk_assign_to_customer", {"ticket": 7}, "desk.test/tickets/7/", "desk.test/tickets/8/"),
        ("forum_reply_to_locked", FACTS, TOPICS, TOPICS.replace("log-of-a-slow-week", "varnish-in-april")),
        ("shop_impossible_sold_out", {"title": "Fog horn"}, f"{ARTICLE}fog-horn_36/", f"{ARTICLE}crab-pot_3/"),
    ],
)
def test_the_page_of_another_thing_is_no_evidence(name, facts, right, wrong):
    patterns = find(name).evidence(facts)
    assert any(re.fullmatch(pattern, right) for pattern in patterns)
    assert not any(re.fullmatch(pattern, wrong) for pattern in patterns)


def test_each_refusal_wants_a_page_that_shows_the_reason(start_pages):
    """A constant text is a right refusal of all tasks of one kind, so that it must not be enough."""
    refusing = {
        name
        for name, kind in templates().items()
        if re.search(r"\b(exact_)?refusal\(", inspect.getsource(type(kind).answer))
    }
    assert refusing == {*REFUSED}
    for name in REFUSED:
        instance, _ = start_pages[name]
        assert instance.template.evidence(instance.facts), name


@pytest.mark.parametrize(
    ("name", "facts", "page"),
    [
        ("desk_close_unknown_ticket", {"ticket": 57}, "404 desk.test/tickets/57/"),
        ("shop_impossible_order", {"number": "100159"}, "404 shop.test/accounts/orders/100159/"),
        ("dashboard_unknown_order", {"number": "100050"}, "404 shop.test/dashboard/orders/100050/"),
    ],
)
def test_the_missing_page_of_a_thing_shows_that_it_is_missing(name, facts, page):
    template = find(name)
    expected = template.answer(facts)
    assert expected is not None
    assert template.check(facts, [], expected.example, [page]).reward == 1
    assert template.check(facts, [], expected.example, [re.sub(r"\d+/$", "1/", page)]).reward == 0


def test_addresses_have_titles_as_the_applications_write_them(server):
    sql = """SELECT subject AS title, slug FROM forum_conversation_topic
        UNION ALL SELECT title, slug FROM catalogue_product"""
    for seed in range(3):
        key = server.reset(seed)
        rows = server.query(key, sql)
        assert len(rows) > 150
        assert [row for row in rows if addresses.slug(row["title"]) != row["slug"]] == []
        server.control("drop", key=key)
