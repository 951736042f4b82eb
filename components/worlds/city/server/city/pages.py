"""HTML pages that applications have answered: what counts as one, and how modifiers edit it."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping

from django.http import HttpRequest, HttpResponse, HttpResponseBase

_TOKEN = re.compile(
    r"<!--.*?-->|<(?P<raw>script|style|textarea|svg)\b.*?</(?P=raw)\s*>"
    r"|<(?P<close>/?)(?P<name>[a-zA-Z][\w:-]*)(?:[^>\"']|\"[^\"]*\"|'[^']*')*>",
    re.DOTALL | re.IGNORECASE,
)
_ATTRIBUTE = re.compile(
    r"(\s(?P<name>value|placeholder|aria-label|title)\s*=\s*)(?P<quote>[\"'])(?P<text>.*?)(?P=quote)"
)
_IS_BUTTON = re.compile(r"\stype\s*=\s*[\"']?(?:submit|button|reset)\b", re.IGNORECASE)
_LABELLED = frozenset({"a", "button", "label", "legend", "th", "summary"})
"""Elements whose whole text may be a label of the interface. Headings and cells show what users wrote."""


def is_visit(request: HttpRequest) -> bool:
    """Whether a browser asks for a whole page, not a script for data."""
    accepted = request.headers.get("Accept", "text/html")
    return request.method == "GET" and "text/html" in accepted and request.headers.get("X-Requested-With", "") == ""


def is_page(response: HttpResponseBase) -> bool:
    """Whether an answer is HTML that can be edited."""
    return (
        isinstance(response, HttpResponse)
        and response.headers.get("Content-Type", "").startswith("text/html")
        and "Content-Encoding" not in response.headers
    )


def edit(response: HttpResponse, css: str, markup: str, labels: Mapping[str, str]) -> None:
    """Add rules and elements to a page, and rename labels. Fragments of pages get the labels alone."""
    page = response.content.decode(response.charset)
    if labels:
        page = rename(page, labels)
    end = page.lower().rfind("</body>")
    if markup and end >= 0:
        page = f"{page[:end]}{markup}\n{page[end:]}"
    head = page.lower().find("</head>")
    if css and head >= 0:
        page = f"{page[:head]}<style>\n{css}\n</style>\n{page[head:]}"
    response.content = page.encode(response.charset)
    if "Content-Length" in response.headers:
        response.headers["Content-Length"] = str(len(response.content))


def rename(page: str, labels: Mapping[str, str]) -> str:
    """Replace the labels of buttons, links and fields: text nodes and attributes that are a label as a whole."""
    parts: list[str] = []
    last, depth = 0, 0
    for token in _TOKEN.finditer(page):
        text = page[last : token.start()]
        parts.append(_renamed(text, labels) if depth and text else text)
        last = token.end()
        name = (token["name"] or "").lower()
        if name in _LABELLED:
            depth = max(0, depth - 1) if token["close"] else depth + 1
        parts.append(_tag(token[0], name, labels) if name else token[0])
    return "".join([*parts, page[last:]])


def _tag(tag: str, name: str, labels: Mapping[str, str]) -> str:
    is_button = name == "input" and _IS_BUTTON.search(tag) is not None

    def attribute(match: re.Match[str]) -> str:
        if match["name"] == "value" and not is_button:
            return match[0]
        return f"{match[1]}{match['quote']}{_renamed(match['text'], labels)}{match['quote']}"

    return _ATTRIBUTE.sub(attribute, tag)


def _renamed(text: str, labels: Mapping[str, str]) -> str:
    stripped = text.strip()
    if not stripped:
        return text
    words = " ".join(html.unescape(stripped).split())
    bare = words.rstrip(":.… ")
    if bare not in labels:
        return text
    return text.replace(stripped, html.escape(labels[bare] + words[len(bare) :]), 1)
