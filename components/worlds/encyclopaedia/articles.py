"""Renders entities as small HTML pages: a search field, a heading, a sentence and a list of facts with links.

Pages are short: the accessibility tree of a page has about 20 lines, so that it fits into the context of a small model.
The search field sends its text to the full-text search of Kiwix.
"""

from __future__ import annotations

import html
from urllib.parse import quote

from components.worlds.encyclopaedia.facts import SOURCES, Entity, Value

BOOK = "encyclopaedia"
"""The name under which Kiwix serves the encyclopaedia."""
MAIN = "index"
RESULTS = 5
"""Search results per page."""
TITLE = "Encyclopaedia"
STYLE = (
    "body{margin:6px;font:14px/1.3 sans-serif}h1{font-size:18px;margin:6px 0}"
    "ul{margin:0;padding-left:18px}p{margin:4px 0}"
)
"""The style is part of each page, because a separate style sheet would need one more request."""


def path_of(title: str) -> str:
    """The path of an article inside the ZIM."""
    return title.replace(" ", "_").replace("/", "-").replace("?", "").replace("#", "")


def article(entity: Entity) -> str:
    """The page of an entity."""
    rows = "".join(
        f"<li>{html.escape(fact.label)}: {', '.join(_value(value) for value in fact.values)}</li>"
        for fact in entity.facts
    )
    body = f"<h1>{html.escape(entity.title)}</h1><p>{html.escape(entity.summary)}</p><ul>{rows}</ul>"
    return _page(entity.title, body)


def main_page(count: int) -> str:
    """The first page of the book, which says what the book contains."""
    return _page(TITLE, f"<h1>{TITLE}</h1><p>{count:,} articles on countries, cities, languages and elements.</p>")


def start_page(book: str | None) -> str:
    """The page on which an episode begins: a field that searches a book, or with None all that the server has."""
    return _page(TITLE, f"<h1>{TITLE}</h1>", book)


def about() -> str:
    """The sources and their licences."""
    rows = "".join(
        f"<li>{html.escape(f'{source.package} {source.version} ({source.licence}): {source.holds}')}</li>"
        for source in SOURCES
    )
    return _page("About", f"<h1>About</h1><p>The facts are taken from these packages.</p><ul>{rows}</ul>")


def _page(title: str, body: str, book: str | None = BOOK) -> str:
    content = f'<input type="hidden" name="content" value="{html.escape(book)}">' if book is not None else ""
    form = (
        f'<form action="/search" role="search">{content}'
        f'<input type="hidden" name="pageLength" value="{RESULTS}">'
        '<input type="text" name="pattern" aria-label="Search"></form>'
    )
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f"<style>{STYLE}</style></head><body>{form}{body}</body></html>"
    )


def _value(value: Value) -> str:
    text = html.escape(value.text)
    return text if value.article is None else f'<a href="{quote(path_of(value.article))}">{text}</a>'
