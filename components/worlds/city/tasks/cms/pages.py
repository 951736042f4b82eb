"""What tasks about the town's web site share: queries, the way to a page in the editor, and what publishing changes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from components.worlds.city.tasks.template import Facts, Row
from components.worlds.effects import Changed, Incidental, Value
from components.worlds.oracle import Step, click, fill, press

NEWS = """SELECT p.id AS page, p.title, p.slug, p.live, n.date, n.intro, u.username AS author,
    u.first_name || ' ' || u.last_name AS author_name
    FROM wagtailcore_page p JOIN cms_newspage n ON n.page_ptr_id = p.id JOIN auth_user u ON u.id = p.owner_id
    ORDER BY n.date DESC, p.id DESC"""
EVENTS = """SELECT p.id AS page, p.title, p.slug, p.live, e.begins, e.ends, e.place, e.organiser, e.fee
    FROM wagtailcore_page p JOIN cms_eventpage e ON e.page_ptr_id = p.id ORDER BY e.begins, p.id"""
PRICES = """SELECT r.id AS price, r.service, r.amount, r.unit, p.id AS page, p.title
    FROM cms_price r JOIN wagtailcore_page p ON p.id = r.page_id ORDER BY r.sort_order"""
EDITORS = """SELECT u.id AS user_id, u.username AS user FROM auth_user u JOIN auth_user_groups m ON m.user_id = u.id
    JOIN auth_group g ON g.id = m.group_id WHERE g.name = 'Moderators' AND u.is_superuser = 0 ORDER BY u.username"""
TODAY = "2026-03-16"
"""The day on which every episode begins."""
FIXED_EVENTS = ("first-film-night", "film-night", "knots", "clean-up", "language-table")
"""Events that are the same in every seed, so a question about one of them would always have the same answer."""
FIXED_PRICES = (
    "Visitors' berth, to 7 April",
    "Visitors' berth, from 8 April",
    "Lost key of the showers",
    "Dinghy taken from the slipway",
    "Antifouling, one coat",
)
"""Services that cost the same in every seed."""
OF_BOATS = "midsummer-regatta"
"""The event whose fee is for a boat, however many sail in it."""
BOOKKEEPING = (
    "draft_title",
    "has_unpublished_changes",
    "latest_revision_id",
    "live_revision_id",
    "first_published_at",
)
"""Columns of a page that publishing changes by itself."""


def published(rows: Sequence[Row]) -> list[Row]:
    """The pages that visitors see."""
    return [row for row in rows if row["live"]]


def upcoming(events: Sequence[Row]) -> list[Row]:
    """The events that visitors see and that begin today or later, without those that are the same in every seed."""
    return [row for row in published(events) if row["begins"] > TODAY and row["slug"] not in FIXED_EVENTS]


def republished(facts: Facts, to: Mapping[str, Value]) -> Changed:
    """The effect of publishing the page `page` on its own row, with these new values."""
    return Changed("wagtailcore_page", {"id": facts["page"]}, {**to, "has_unpublished_changes": False}, BOOKKEEPING)


def revisions(facts: Facts) -> Incidental:
    """The revisions of the page that the editor keeps: one for each time that it is saved or published from its form,
    none if it is published from a list of pages."""
    return Incidental("wagtailcore_revision", {"object_id": str(facts["page"])})


def open_in_editor(title: str) -> list[Step]:
    """From the editor's first page to the form of a page."""
    return [fill("Search", title), press("Enter"), click("link", re.escape(title))]


def publish() -> list[Step]:
    """In a page's form, show it to visitors."""
    return [click("button", "More actions"), click("button", "Publish")]
