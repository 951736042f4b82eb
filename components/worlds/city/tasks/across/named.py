"""What one site's texts say about another site's rows: a ticket names an order, a topic names articles."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from components.worlds.answers import Answer
from components.worlds.city.tasks.template import Data, Facts, Row
from components.worlds.effects import Added, Effect
from components.worlds.oracle import Step, click, fill, goto, press

TICKETS = """SELECT t.id AS ticket, t.title, t.description, t.status, t.submitter_email AS email,
    trim(u.first_name || ' ' || u.last_name) AS person, o.id AS order_id, o.number, o.status AS order_status,
    o.total_incl_tax AS total, o.shipping_address_id AS address
    FROM helpdesk_ticket t JOIN order_order o ON instr(t.title || ' ' || t.description, 'rder ' || o.number) > 0
    JOIN auth_user u ON u.email = t.submitter_email WHERE u.id = o.user_id"""
"""Tickets that name an order of their author."""
WAITING = " AND t.status IN (1, 2)"
"""Of tickets that are open or reopened."""
STAFF = {"desk": "dana", "shop": "admin"}
PRODUCTS = """SELECT p.id AS product, p.title, s.price, s.num_in_stock - coalesce(s.num_allocated, 0) AS free
    FROM catalogue_product p JOIN partner_stockrecord s ON s.product_id = p.id WHERE p.is_public = 1 ORDER BY p.id"""
TOPICS = """SELECT t.id AS topic, t.subject, t.slug, t.status, t.type, t.forum_id, f.slug AS forum_slug,
    u.username AS opener, group_concat(p.content, ' ') AS text FROM forum_conversation_topic t
    JOIN forum_forum f ON f.id = t.forum_id JOIN auth_user u ON u.id = t.poster_id
    JOIN (SELECT * FROM forum_conversation_post ORDER BY id) p ON p.topic_id = t.id WHERE t.status = 0
    GROUP BY t.id ORDER BY t.id"""


def topics(data: Data, *patterns: str) -> list[dict[str, Any]]:
    """The topics whose subject matches one of the patterns, with the articles that their posts name, in that order."""
    products = sorted(data.rows(PRODUCTS), key=lambda row: -len(row["title"]))
    return [
        {**row, "articles": _articles(row["text"], products)}
        for row in data.rows(TOPICS)
        if any(re.fullmatch(pattern, row["subject"]) for pattern in patterns)
    ]


def _articles(text: str, products: Sequence[Row]) -> list[Row]:
    places: list[tuple[int, Row]] = []
    for product in products:  # a longer title first, because it may contain a shorter one
        at = text.find(product["title"])
        if at >= 0:
            places.append((at, product))
            text = text.replace(product["title"], " " * len(product["title"]))
    return [product for _, product in sorted(places, key=lambda pair: pair[0])]


def numbers(text: str) -> list[str]:
    """The numbers in a text."""
    return re.findall(r"\d+(?:\.\d+)?", text)


def says(answer: Answer) -> Callable[[str | None], bool]:
    """A text that is a right answer."""
    return lambda text: text is not None and answer.accepts(text)


def comment(facts: Facts, text: Callable[[str | None], bool], new_status: int | None = None) -> Effect:
    """A public comment on the ticket by the person at the desk."""
    values = {"ticket_id": facts["ticket"], "public": True, "user_id": facts["desk_id"], "new_status": new_status}
    return Added("helpdesk_followup", values | {"comment": text})


def desk_id(data: Data) -> int:
    """The id of the person at the desk."""
    return data.rows("SELECT id FROM auth_user WHERE username = ?", STAFF["desk"])[0]["id"]


def open_order(facts: Facts) -> list[Step]:
    """From any page to the order in the shop's dashboard."""
    return [goto("http://shop.test/dashboard/orders/"), fill("Order number.*", facts["number"]), press("Enter")]


def write_comment(facts: Facts, text: str, *status: Step) -> list[Step]:
    """From any page to a comment on the ticket."""
    return [
        goto(f"http://desk.test/tickets/{facts['ticket']}/"),
        click("tab", "Respond"),
        fill("Comment / Resolution", text),
        *status,
        click("button", "Save"),
    ]


def open_article(title: str) -> list[Step]:
    """From any page to an article of the shop."""
    return [goto("http://shop.test/"), fill("Search.*", title), press("Enter"), click("link", re.escape(title))]


def money(amount: object) -> str:
    """An amount with cents."""
    return f"{float(str(amount)):.2f}"
