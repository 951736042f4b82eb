"""The town's web site differs by seed, and its editor opens what its pages show."""

from __future__ import annotations

import json
import random
from decimal import Decimal
from itertools import combinations

import pytest

from components.records import RowChange
from components.worlds.city.tasks.cms.pages import FIXED_EVENTS, FIXED_PRICES
from components.worlds.city.tasks.registry import find
from tests.worlds.city.test_city_cms import CMS, Editor, changed, crawl
from tests.worlds.city.visitor import Server, Visitor

SEEDS = range(1, 9)
NEWS = """SELECT p.id, p.slug, p.title, p.live, p.owner_id, n.date, p.latest_revision_id, p.live_revision_id, r.content
    FROM wagtailcore_page p JOIN cms_newspage n ON n.page_ptr_id = p.id
    JOIN wagtailcore_revision r ON r.id = p.latest_revision_id ORDER BY p.id"""
EVENTS = """SELECT p.id, p.slug, p.title, p.live, e.begins, e.ends, e.place, e.organiser, e.fee, r.content
    FROM wagtailcore_page p JOIN cms_eventpage e ON e.page_ptr_id = p.id
    JOIN wagtailcore_revision r ON r.id = p.latest_revision_id ORDER BY p.id"""
PRICES = "SELECT service, amount FROM cms_price ORDER BY id"
HOURS = "SELECT place, days, opens, closes FROM cms_openinghours ORDER BY id"
BOOKINGS = """SELECT e.title, e.start, e.end, trim(u.first_name || ' ' || u.last_name) AS person
    FROM schedule_event e JOIN auth_user u ON u.id = e.creator_id JOIN schedule_calendar c ON c.id = e.calendar_id
    WHERE e.rule_id IS NULL AND c.slug <> 'visitor-berths'"""


@pytest.fixture(scope="module")
def keys(server):
    found = {seed: server.reset(seed) for seed in (0, *SEEDS)}
    yield found
    for key in found.values():
        server.control("drop", key=key)


@pytest.mark.parametrize(
    "sql",
    [
        pytest.param("SELECT slug, live FROM wagtailcore_page", id="published pages"),
        pytest.param("SELECT slug, owner_id FROM wagtailcore_page", id="authors"),
        pytest.param("SELECT page_ptr_id, date FROM cms_newspage", id="dates of news"),
        pytest.param("SELECT page_ptr_id, begins FROM cms_eventpage", id="days of events"),
        pytest.param("SELECT page_ptr_id, organiser, place, fee FROM cms_eventpage", id="details of events"),
        pytest.param(PRICES, id="prices"),
    ],
)
def test_the_pages_of_seeds_differ(server, keys, sql):
    assert len({str(server.query(key, sql)) for key in keys.values()}) == len(keys)


def test_opening_hours_differ_between_seeds(server, keys):
    assert len({str(server.query(key, HOURS)) for key in keys.values()}) >= 7


def test_the_pages_of_a_seed_are_the_same_in_another_process(server, image, keys):
    other = Server(image)
    try:
        key = other.reset(5)
        for sql in (NEWS, EVENTS, PRICES, HOURS):
            assert other.query(key, sql) == server.query(keys[5], sql)
    finally:
        other.stop()


def test_the_editors_revision_says_what_the_page_says(server, keys):
    for key in keys.values():
        for row in server.query(key, NEWS):
            assert json.loads(row["content"])["date"] == row["date"]
            assert row["live_revision_id"] == (row["latest_revision_id"] if row["live"] else None)
        for row in server.query(key, EVENTS):
            content = json.loads(row["content"])
            assert (content["place"], content["organiser"]) == (row["place"], row["organiser"])
            assert Decimal(content["fee"]) == Decimal(str(row["fee"]))
            assert content["begins"] == f"{row['begins'].replace(' ', 'T')}Z"
        for slug, name, sql in (("prices", "prices", PRICES), ("hours", "hours", HOURS)):
            query = f"""SELECT r.content FROM wagtailcore_page p JOIN wagtailcore_revision r
                ON r.id = p.latest_revision_id WHERE p.slug = '{slug}'"""
            (revision,) = server.query(key, query)
            children = json.loads(revision["content"])[name]
            rows = server.query(key, sql)
            columns = [column for column in rows[0] if column != "amount"]
            assert [[child[column] for column in columns] for child in children] == [
                [row[column] for column in columns] for row in rows
            ]
            if name == "prices":
                assert [Decimal(child["amount"]) for child in children] == [Decimal(str(r["amount"])) for r in rows]


def test_each_seed_has_published_pages_and_drafts(server, keys):
    for seed in SEEDS:
        for sql, published in ((NEWS, 10), (EVENTS, 5)):
            pages = server.query(keys[seed], sql)
            assert sum(page["live"] for page in pages) >= published
        drafts = "SELECT count(*) AS number FROM wagtailcore_page WHERE live = 0 AND depth > 2"
        assert server.query(keys[seed], drafts)[0]["number"] >= 1


def test_drafts_are_not_shown_and_published_pages_are(server, keys):
    visitor = Visitor(server, keys[2])
    pages = crawl(visitor)
    for row in server.query(keys[2], NEWS):
        assert (f"/news/{row['slug']}/" in pages) == bool(row["live"])
    price = server.query(keys[2], PRICES)[4]
    assert f"${price['amount']:.2f}" in pages["/harbour/prices/"]


def test_publishing_a_draft_of_a_seed_changes_its_page_alone(server):
    key = server.reset(2)
    before = server.control("snapshot", key=key)[1]["key"]
    draft = next(row for row in server.query(key, NEWS) if not row["live"])
    Editor(server, key).edit(draft["slug"])
    rows = server.diff(before, key)
    assert {table: len(found) for table, found in rows.items()} == {"wagtailcore_page": 1, "wagtailcore_revision": 1}
    assert changed(rows["wagtailcore_page"][0])["live"] == ("0", "1")
    assert draft["title"] in Visitor(server, key).get(CMS, f"/news/{draft['slug']}/")


def test_titles_and_services_are_unique_in_a_seed(server, keys):
    for key in keys.values():
        for sql in ("SELECT title FROM wagtailcore_page WHERE depth > 1", "SELECT service FROM cms_price"):
            names = [next(iter(row.values())) for row in server.query(key, sql)]
            assert len(names) == len({*names})


def test_no_place_and_no_organiser_has_two_events_at_a_time(server, keys):
    for key in keys.values():
        for first, second in combinations(server.query(key, EVENTS), 2):
            if first["place"] == second["place"] or first["organiser"] == second["organiser"]:
                assert first["ends"] <= second["begins"] or second["ends"] <= first["begins"]


def test_no_organiser_has_a_booking_during_the_event(server, keys):
    for seed in SEEDS:
        events = [row for row in server.query(keys[seed], EVENTS) if row["slug"] not in FIXED_EVENTS]
        for event in events:
            own = [row for row in server.query(keys[seed], BOOKINGS) if row["person"] == event["organiser"]]
            assert all(row["end"] <= event["begins"] or event["ends"] <= row["start"] for row in own)


def test_what_questions_leave_out_is_the_same_in_every_seed(server, keys):
    fees, days = {}, {}
    for key in keys.values():
        for row in server.query(key, PRICES):
            fees.setdefault(row["service"], set()).add(row["amount"])
        for row in server.query(key, EVENTS):
            days.setdefault(row["slug"], set()).add((row["begins"], row["place"], row["organiser"], row["live"]))
    assert {service for service, amounts in fees.items() if len(amounts) == 1} == {*FIXED_PRICES}
    assert {slug for slug, values in days.items() if len(values) == 1} == {*FIXED_EVENTS}


def test_search_finds_events_by_the_organiser_of_the_seed(server, keys):
    for seed in SEEDS:
        event = next(row for row in server.query(keys[seed], EVENTS) if row["slug"] == "star-evening")
        if event["live"]:
            for organiser in ("Dmitri Okafor", "Alice Moreno", "Ada Mint"):
                page = Visitor(server, keys[seed]).get(CMS, f"/search/?q={organiser.replace(' ', '+')}")
                assert ("Stars for sailors" in page) == (organiser == event["organiser"])


class Facts:
    """The data of a copy, as templates read them."""

    def __init__(self, server: Server, key: str) -> None:
        self._server, self._key = server, key

    def rows(self, sql: str, *_: object) -> list[dict]:
        return self._server.query(self._key, sql)


@pytest.mark.parametrize("way", ["form", "list"])
def test_a_draft_may_be_published_from_its_form_or_from_a_list(server, way):
    key = server.reset(3)
    before = server.control("snapshot", key=key)[1]["key"]
    template = find("cms_publish_draft")
    facts = template.facts(Facts(server, key), random.Random(0))
    editor = Editor(server, key)
    if way == "form":
        editor.save(f"/admin/pages/{facts['page']}/edit/", "action-publish")
    else:
        path = f"/admin/bulk/wagtailcore/page/publish/?id={facts['page']}&next=/admin/pages/"
        assert editor.post(CMS, path, path) == 302
    changes = [RowChange.model_validate(row) for rows in server.diff(before, key).values() for row in rows]
    assert {change.table for change in changes} >= {"wagtailcore_page"}
    assert template.check(facts, changes, "").reward == 1
    editor.save(f"/admin/pages/{facts['page']}/edit/", "action-publish", title="Another title")
    changes = [RowChange.model_validate(row) for rows in server.diff(before, key).values() for row in rows]
    assert template.check(facts, changes, "").reward == 0


def test_an_answer_with_the_title_and_the_day_is_right():
    facts = {
        "title": "Stars for sailors",
        "day": "Tuesday, 31 March 2026",
        "organiser": "Ada Mint",
        "people": ["Ada Mint", "Alice Moreno", "Dmitri Okafor"],
    }
    answer = find("cms_event_organiser").answer(facts)
    assert answer.accepts('"Stars for sailors" on Tuesday, 31 March 2026 is organised by Ada Mint.')
    assert not answer.accepts("Ada Mint or Alice Moreno")


@pytest.mark.parametrize(
    "prices", [{"near": ["19.00", "38.00", "76.00"]}, {"near": ["38.00", "76.00"], "each": "19.00"}], ids=["0.1", "now"]
)
def test_a_sum_may_stand_beside_the_count_and_not_beside_other_sums(prices):
    answer = find("cms_price_of_several").answer({"count": 3, "sum": "57.00", **prices})
    assert answer.accepts("3 of them cost $57.")
    assert not answer.accepts("$19, $38 or $57")
    assert answer.accepts("3 x $19 = $57") is ("each" in prices)
