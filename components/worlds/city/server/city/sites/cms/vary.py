"""The town's pages of a seed: which are published, who wrote them when, the events' days, the prices and hours.

A page's latest revision is what the editor opens, so it changes with the page. What letters, topics and tickets name is
as it is in the image. No place and no organiser has two events at a time, drafts included.
"""

from __future__ import annotations

import datetime as dt
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from city import rows
from city.copies import START
from city.diary import Diary, Span
from city.sites.cms.events import EVENTS, Event
from city.sites.cms.information import HOURS, PRICES
from city.sites.cms.news import NEWS, News

DRAFT = 0.3
"""The share of the news and events that may be a draft and are one in a seed."""
AUTHORS = ("dana", "piet")
FIRST_NEWS, LAST_NEWS = dt.date(2026, 1, 12), dt.date(2026, 3, 14)
SERIES = 16
"""Weeks for which a weekly event takes its place and its organiser."""
PROMISED_PRICES = {
    "Visitors' berth, to 7 April",
    "Visitors' berth, from 8 April",
    "Lost key of the showers",
    "Dinghy taken from the slipway",
    "Antifouling, one coat",
}
"""The services whose prices other texts name."""
PRICE_FACTORS = tuple(Decimal(percent) / 100 for percent in (80, 90, 95, 110, 120, 125))
OPENS = {
    ("Harbour office", "Saturday"): ("08:00", "08:30", "09:00", "09:30", "10:00"),
    ("Fuel berth", "Every day"): ("06:00", "06:30", "07:00", "07:30", "08:00"),
}
CLOSES = {
    ("Harbour office", "Saturday"): ("11:30", "12:00", "12:30", "13:00", "13:30"),
    ("Fuel berth", "Every day"): ("18:00", "18:30", "19:00", "19:30", "20:00"),
}
"""By place and days, hours that a seed may have. No other text names them."""


@dataclass(frozen=True)
class Version:
    """A page as a seed has it."""

    slug: str
    at: dt.datetime
    """When it was written."""
    author: str
    live: bool
    columns: dict[str, str] = field(default_factory=dict)
    """Of its kind's table, as the database holds them."""


def vary(rng: random.Random) -> None:
    """Change the bound copy's pages."""
    news = [_news(item, rng) for item in NEWS if item.movable]
    write("cms_newspage", news)
    write("cms_eventpage", _events(rng))
    _index_events()
    _write_prices(rng)
    _write_hours(rng)


def write(table: str, versions: Sequence[Version]) -> None:
    """Make these pages and their revisions as the versions say."""
    users = {row["username"]: row["id"] for row in rows.select("SELECT id, username FROM auth_user")}
    query = "SELECT id, slug, latest_revision_id AS revision FROM wagtailcore_page"
    pages = {row["slug"]: row for row in rows.select(query)}
    for version in versions:
        page, at = pages[version.slug], version.at
        rows.update(table, [{"page_ptr_id": page["id"], **version.columns}], key="page_ptr_id")
        changes = {
            "id": page["id"],
            "owner_id": users[version.author],
            "live": version.live,
            "has_unpublished_changes": not version.live,
            "live_revision_id": page["revision"] if version.live else None,
            "first_published_at": at if version.live else None,
            "last_published_at": at if version.live else None,
            "latest_revision_created_at": at,
        }
        rows.update("wagtailcore_page", [changes])
        _revise(page["revision"], {name: _as_json(name, value) for name, value in version.columns.items()})
        revision = {"id": page["revision"], "created_at": at, "user_id": users[version.author]}
        rows.update("wagtailcore_revision", [revision])
        log = "UPDATE wagtailcore_pagelogentry SET timestamp = %s, user_id = %s WHERE page_id = %s"
        rows.execute(log, [at.isoformat(" ", "seconds"), users[version.author], page["id"]])
        if not version.live:
            published = "DELETE FROM wagtailcore_pagelogentry WHERE page_id = %s AND action = 'wagtail.publish'"
            rows.execute(published, [page["id"]])


def _news(item: News, rng: random.Random) -> Version:
    days = [FIRST_NEWS + dt.timedelta(days=number) for number in range((LAST_NEWS - FIRST_NEWS).days + 1)]
    day = rng.choice([day for day in days if day.weekday() < 5])
    live = rng.random() >= DRAFT
    return Version(item.slug, dt.datetime.combine(day, dt.time(10)), rng.choice(AUTHORS), live, {"date": f"{day}"})


def _events(rng: random.Random) -> list[Version]:
    """The events that a seed may change, one after the other."""
    diary = Diary()
    for item in EVENTS:
        if not item.days:
            diary.take([item.place, item.organiser], _spans(item, item.begins))
    return [_event(item, rng, diary) for item in EVENTS if item.days]


def _event(item: Event, rng: random.Random, diary: Diary) -> Version:
    """An event on a day on which its place and its organiser are free, which are then taken."""
    while True:
        begins = dt.datetime.combine(rng.choice(item.days), item.begins.time(), dt.UTC)
        place = rng.choice(item.places or (item.place,))
        organiser = rng.choice(item.organisers or (item.organiser,))
        spans = _spans(item, begins)
        if diary.is_free([place, organiser], spans):
            break
    diary.take([place, organiser], spans)
    columns = {
        "begins": f"{begins:%Y-%m-%d %H:%M:%S}",
        "ends": f"{spans[0][1]:%Y-%m-%d %H:%M:%S}",
        "place": place,
        "organiser": organiser,
        "fee": rng.choice(item.fees or (item.fee,)),
    }
    at = min(begins, START) - dt.timedelta(days=rng.randint(3, 30))
    at = at.replace(hour=10, minute=0, tzinfo=None)
    return Version(item.slug, at, item.author, rng.random() >= DRAFT, columns)


def _spans(item: Event, begins: dt.datetime) -> list[Span]:
    """When an event that begins at this time takes its place and its organiser."""
    dates = [begins + dt.timedelta(weeks=number) for number in range(SERIES if item.weekly else 1)]
    return [(start, start + (item.ends - item.begins)) for start in dates]


def _index_events() -> None:
    """Let the search find events by their new places and organisers, which end the texts of its index."""
    query = """SELECT i.id, i.body, e.place, e.organiser, p.slug FROM wagtailsearch_indexentry i
        JOIN django_content_type t ON t.id = i.content_type_id AND t.app_label = 'cms' AND t.model = 'eventpage'
        JOIN cms_eventpage e ON e.page_ptr_id = i.object_id JOIN wagtailcore_page p ON p.id = e.page_ptr_id"""
    images = {item.slug: f"{item.place} {item.organiser}" for item in EVENTS}
    changes = []
    for row in rows.select(query):
        text = row["body"].removesuffix(images[row["slug"]])
        assert text != row["body"]
        changes.append({"id": row["id"], "body": f"{text}{row['place']} {row['organiser']}"})
    rows.update("wagtailsearch_indexentry", changes)


def _as_json(name: str, value: str) -> str:
    """A column's value as a revision holds it."""
    return f"{value.replace(' ', 'T')}Z" if name in ("begins", "ends") else value


def _write_prices(rng: random.Random) -> None:
    """Change the prices that no other text names, to ones that a harbour might ask."""
    prices = {service: amount for service, amount, _, _ in PRICES}
    changed = {}
    for service, amount in prices.items():
        if service not in PROMISED_PRICES:
            step = Decimal("0.50") if Decimal(amount) >= 3 else Decimal("0.01")
            price = Decimal(amount) * rng.choice(PRICE_FACTORS) // step * step
            changed[service] = f"{price:.2f}"
    table = rows.select("SELECT id, service FROM cms_price ORDER BY id")
    rows.update(
        "cms_price",
        ({"id": row["id"], "amount": changed[row["service"]]} for row in table if row["service"] in changed),
    )
    children = [{"amount": changed.get(service, amount)} for service, amount in prices.items()]
    _revise(_revision("prices"), {}, "prices", children)


def _write_hours(rng: random.Random) -> None:
    """Change the opening hours that no other text names."""
    hours = {name: (rng.choice(OPENS[name]), rng.choice(CLOSES[name])) for name in OPENS}
    table = rows.select("SELECT id, place, days FROM cms_openinghours ORDER BY id")
    changes, children = [], []
    for row, (place, days, opens, closes, _) in zip(table, HOURS, strict=True):
        new = hours.get((place, days), (opens, closes))
        values = {"opens": new[0] and f"{new[0]}:00", "closes": new[1] and f"{new[1]}:00"}
        assert (row["place"], row["days"]) == (place, days)
        changes.append({"id": row["id"], **values})
        children.append(values)
    rows.update("cms_openinghours", changes)
    _revise(_revision("hours"), {}, "hours", children)


def _revision(slug: str) -> int:
    (page,) = rows.select("SELECT latest_revision_id AS revision FROM wagtailcore_page WHERE slug = %s", [slug])
    return page["revision"]


def _revise(revision: int, values: dict[str, Any], name: str = "", children: Sequence[dict[str, Any]] = ()) -> None:
    """Change the content of a revision: values of the page, and of the rows of its table `name`, in their order."""
    (row,) = rows.select("SELECT content FROM wagtailcore_revision WHERE id = %s", [revision])
    content = json.loads(row["content"])
    assert values.keys() <= content.keys()
    content.update(values)
    for child, changes in zip(content[name] if name else (), children, strict=True):
        child.update(changes)
    rows.update("wagtailcore_revision", [{"id": revision, "content": json.dumps(content)}])
