"""Sites that users serve themselves: placeholders in tasks, and the addresses that replace them.

WebArena writes `__SHOPPING__/…` for a page of its shop, and `a |AND| b` where an episode begins with two tabs;
questions begin at `__WIKIPEDIA__`. A task keeps the placeholder until `tasks.sites` gives the address. The
training tasks of WebArena-Lite, as WebAgent-R1 publishes them, contain the ports of its authors' machine (`LOCAL`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator

from components.records import Task, start_tabs
from components.tasks.fields import website_of

LOCAL = {
    "http://localhost:8080": "reddit",
    "http://localhost:8082": "shopping",
    "http://localhost:8083/admin": "shopping_admin",
    "http://localhost:9001": "gitlab",
    "http://localhost:9003": "map",
}
_PLACEHOLDER = re.compile(r"__([A-Z][A-Z_]*[A-Z])__")
_EITHER = re.compile(f"{_PLACEHOLDER.pattern}|(?:{'|'.join(map(re.escape, LOCAL))})(?![\\w.-])")


def site_of(url: str) -> str | None:
    """The site of a placeholder at the start of an address, in lower case; None for other addresses."""
    match = _PLACEHOLDER.match(url)
    return _site(match) if match else None


def website_of_start(start_url: str) -> str:
    """The website of the first tab: the name of a site, also of a port of `LOCAL`, else the host.

    Raises:
        ValueError: a tab has neither.
    """
    matches = {tab: _EITHER.match(tab) for tab in start_tabs(start_url)}
    websites = [_site(match) if match else website_of(tab) for tab, match in matches.items()]
    return websites[0]


def unserved(task: Task, sites: Mapping[str, str]) -> tuple[str, str] | None:
    """The first tab that begins on a site without an address in `sites`, and the site's name; None if there is none.
    The task is as before `at_sites`, whose addresses may be of `LOCAL`, too."""
    matches = ((tab, _pattern(task).match(tab)) for tab in start_tabs(task.start_url))
    return next(((tab, _site(match)) for tab, match in matches if match and _site(match) not in sites), None)


def at_sites(task: Task, sites: Mapping[str, str]) -> Task:
    """The task with the addresses of `sites` (name to address) in place of placeholders; unknown placeholders stay.

    The ports of `LOCAL` are replaced in WebArena's tasks only: in others they are addresses like any other. The
    evaluator's `eval` and `addresses` and the reference answer are rewritten too, so that pages are compared with
    pages of the same site. Not covered: `ssh://` addresses in a few answers, which the published GitLab shows.
    """

    def with_addresses(value: Any) -> Any:
        if isinstance(value, str):
            return pattern.sub(_address, value)  # in one pass: an address may be one of `LOCAL`
        if isinstance(value, dict):
            return {key: with_addresses(item) for key, item in value.items()}
        return [with_addresses(item) for item in value] if isinstance(value, list) else value

    def _address(match: re.Match[str]) -> str:
        site = _site(match)
        return sites[site].rstrip("/") if site in sites else match[0]

    pattern = _pattern(task)
    if not sites or (pattern is _PLACEHOLDER and site_of(task.start_url) is None):
        return task
    evaluator = task.evaluator | {
        key: with_addresses(task.evaluator[key]) for key in ("eval", "addresses") if key in task.evaluator
    }
    changes = {"start_url": with_addresses(task.start_url), "reference_answer": with_addresses(task.reference_answer)}
    return task.model_copy(update={**changes, "evaluator": evaluator})


def _pattern(task: Task) -> re.Pattern[str]:
    return _EITHER if task.evaluator.get("type") == "webarena" else _PLACEHOLDER


def _site(match: re.Match[str]) -> str:
    """The site of a match of `_PLACEHOLDER` or `_EITHER`."""
    return match[1].lower() if match[1] else LOCAL[match[0]]


def _require_start_url(start_url: object) -> object:
    if isinstance(start_url, str):
        website_of_start(start_url)
    return start_url


PlacedAddress = Annotated[str, BeforeValidator(_require_start_url)]
"""For each tab at the start, an http(s) address or an address on a site's placeholder."""
