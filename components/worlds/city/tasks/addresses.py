"""Patterns of the addresses of pages that show an answer, or why a task is impossible (`Template.evidence`).

A page that is not there, or that the user may not see, has its status before its address: `404 desk.test/tickets/57/`.
What a form sent has its method before: `POST shop.test/basket/vouchers/add/`.
"""

from __future__ import annotations

import re
import unicodedata

ORDERS_OF_STAFF = r"shop\.test/dashboard/(orders|users|reports)/.*"
"""In the shop's dashboard, the pages that show orders and their status."""
ARTICLE_LISTS = r"shop\.test/(search/|catalogue/category/.*|catalogue/\?page=([2-9]|\d\d+))"
"""Lists of articles, with prices and stock, besides the first page of the shop."""
FIRST_ARTICLES = r"shop\.test/catalogue/"
"""The first page of the shop, for tasks that begin elsewhere."""


def article(title: str) -> str:
    """The pages of an article in the shop, such as that of its reviews."""
    return rf"shop\.test/catalogue/{slug(title)}_\d+/.*"


def topic(subject: str) -> str:
    """The pages of a topic in the forum, such as that of an answer to it."""
    return rf"forum\.test/forum/[^/]+/topic/{slug(subject)}-\d+/.*"


TOPIC_LISTS = r"forum\.test/(forum/[^/]+/|(search|topics|member)/.*)"
"""Lists of topics, with their authors and numbers of replies."""


def slug(text: str) -> str:
    """A title as the applications write it in an address (Django's `slugify`)."""
    text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", text.lower())).strip("-_")
