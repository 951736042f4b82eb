"""Recognises pages with which a site refuses automated visitors.

No single signal decides. A title such as "CAPTCHA - Wikipedia" is an article's, a login form may hold a CAPTCHA, and
the scripts of a bot protection are on all pages of the sites that use it. `PageEvidence` is what the rules see: the
status, the title, the visible text, links and fields, and the marks of known protections (`block_marks`).

- A **challenge** asks whether the visitor is human, or is the refusal of a protection in front of the site. It ends the
  episode on any page. A page is a challenge if it has a mark of a challenge page and little else; if a visible CAPTCHA
  is the page or lies over it and is no part of a form; or if two signals of wording and status agree on a page with
  little content, or two of wording in what lies over a page.
- A **denial** counts only on the start page: a status such as 403, or a short page whose title denies access. Later,
  the agent itself may have caused it. A page of status 401 or 403 with a password field is a login, which is no denial.
- Status 503 without signs of a challenge is maintenance: the start page is then unavailable, and no block.

The wording is in `block_wording`; pages in languages that it lacks are recognised by marks and status.
`tests/browser/test_block_pages.py` measures precision and recall.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

from components.browser.block_marks import GATES, SENSORS, SOURCES, WIDGETS
from components.browser.block_wording import CHALLENGE_TITLE, DENIAL_TITLE, REFUSAL, WORDING
from components.browser.errors import BlockedError, EnvInitError
from components.browser.page_state import Answer, Text

MAX_TEXT = 1200
"""Characters of visible text up to which a page may be a block page."""
MAX_LINKS = 8
"""Visible links up to which a page may be a block page."""
SHORT_TEXT = 500
"""Characters of visible text up to which a page of status 200 may be a challenge by its wording alone."""
EMPTY_TEXT = 300
"""Characters of visible text up to which a page is nearly empty."""
COVERING = 0.4
"""Share of the viewport from which a challenge covers the page behind it."""
_REFUSED = frozenset({401, 403, 405, 406, 418, 429, 451, 468, 503, 999})
"""Statuses with which protections answer. One of them is one signal of a challenge."""
_PROTECTIONS = frozenset({468, 999})
"""Statuses that only protections use. On a page with nearly no content, one of them is a challenge."""
_DENIED = frozenset({401, 403, 407, 418, 429, 451}) | _PROTECTIONS
"""Statuses of a start page that is denied."""
_LOGIN = frozenset({401, 403})

_ADDRESS = re.compile(
    r"/cdn-cgi/challenge|[?&]__cf_chl|://[^/]*captcha-delivery\.com/|/errors/validatecaptcha|google\.[a-z.]+/sorry/",
    re.IGNORECASE,
)


class Covering(Answer):
    """A dialog or a fixed part that lies over the middle of a page and has no fields, other than those of a CAPTCHA."""

    text: Text
    """Its visible text."""
    captchas: list[str]
    """Names of the CAPTCHAs in it."""


class PageEvidence(Answer):
    """What the rules see of a page."""

    title: str = ""
    status: int | None = None
    """Of the document's response; None if the page came without one."""
    text: Text
    """Its visible text up to 3000 characters, without frames."""
    links: int
    """Visible links in the viewport, as far as `text` goes."""
    navigation: int
    """Links among them in a navigation or header."""
    fields: int
    """Fields, as the links. A CAPTCHA's own field does not count."""
    passwords: int
    """Password fields among the fields."""
    covering: Covering | None
    """What lies over the middle of the page: a dialog or a fixed part, without fields."""
    marks: dict[str, float]
    """Names of marks that were found, and the share of the viewport that each covers, from 0 to 1."""

    @classmethod
    def parse(cls, answer: object, title: str, status: int | None) -> PageEvidence:
        """From the answer of `evidence_script`.

        Raises:
            pydantic.ValidationError: it lacks a field, which is a bug of the harness.
        """
        return cls.model_validate(answer).model_copy(update={"title": title, "status": status})

    @property
    def is_scarce(self) -> bool:
        """Whether the page has as little content as a block page."""
        return len(self.text) <= MAX_TEXT and self.links <= MAX_LINKS

    @property
    def is_empty(self) -> bool:
        """Whether the page has nearly no content."""
        return len(self.text) <= EMPTY_TEXT and self.links <= 2 and self.fields == 0


@cache
def evidence_script() -> str:
    """The JavaScript expression that reads a page's evidence."""
    source = (Path(__file__).parent / "block_evidence.js").read_text(encoding="utf-8")
    request = {"gates": GATES, "others": SENSORS | WIDGETS, "widgets": WIDGETS, "sources": SOURCES, "enough": MAX_TEXT}
    return f"(() => {{{source}\nreturn blockEvidence({json.dumps(request)});}})()"


def refuses(title: str, url: str = "") -> bool:
    """Whether a page that was recorded without its evidence is probably a block page."""
    return any(pattern.search(title) for pattern in (CHALLENGE_TITLE, DENIAL_TITLE)) or _ADDRESS.search(url) is not None


def signals(text: str) -> int:
    """How many things a text says that challenges say."""
    return sum(pattern.search(text) is not None for pattern in WORDING)


def challenge(page: PageEvidence) -> str | None:
    """Why the page asks whether the visitor is human, or is a protection's refusal; None if it is neither."""
    gates = {name: share for name, share in page.marks.items() if name in GATES or name in SOURCES}
    covering = [name for name, share in gates.items() if share >= COVERING]
    if gates and (page.is_scarce or covering):
        return f"it is the challenge of {(covering or list(gates))[0]}"
    if (over := page.covering) is not None and len(over.text) <= SHORT_TEXT:
        if over.captchas:
            return f"a CAPTCHA of {over.captchas[0]} lies over the page"
        if signals(over.text) >= 2:
            return "what lies over the page has the wording of a challenge"
    if not page.is_scarce:
        return None
    if any(pattern.search(page.text) for pattern in REFUSAL):
        return "a protection in front of the site refuses the visitor"
    if page.status in _PROTECTIONS and page.is_empty:
        return f"only protections answer with status {page.status}"
    wording = signals(page.text)
    titled = CHALLENGE_TITLE.search(page.title) is not None
    refused = page.status in _REFUSED
    widgets = [name for name, share in page.marks.items() if name in WIDGETS and share > 0]
    if page.fields == 0:
        if widgets and (page.is_empty or wording or titled or refused):
            return f"the page is a CAPTCHA of {widgets[0]}"
        speaks = titled or refused or len(page.text) <= SHORT_TEXT
        if wording and wording + titled + refused >= 2 and speaks and page.navigation < 2:
            return "its wording and status are those of a challenge"
        if titled and refused and page.is_empty:
            return "its title and status are those of a challenge"
    sensors = [name for name in page.marks if name in SENSORS]
    if sensors and page.is_empty:
        return f"the page holds only the script of {sensors[0]}"
    return None


def denial(page: PageEvidence) -> str | None:
    """Why a start page denies access; None if it does not."""
    if page.status in _DENIED and not (page.status in _LOGIN and page.passwords):
        return f"status {page.status} denies access"
    if DENIAL_TITLE.search(page.title) and page.is_scarce and page.fields == 0:
        return "its title denies access"
    return None


def refuse_start_page(url: str, page: PageEvidence) -> None:
    """Check the start page.

    Raises:
        BlockedError: the page is a challenge or denies access.
        EnvInitError: the page is an error page.
    """
    if reason := challenge(page) or denial(page):
        raise BlockedError(
            f'{url} was answered with a block page (status {page.status}, title "{page.title}"): {reason}'
        )
    if page.status is not None and page.status >= 400 and not (page.status in _LOGIN and page.passwords):
        raise EnvInitError(f"{url} was answered with status {page.status}")


def refuse_challenge(url: str, page: PageEvidence) -> None:
    """Check a later page.

    Raises:
        BlockedError: the page is a challenge.
    """
    if reason := challenge(page):
        raise BlockedError(
            f'{url} asks whether the visitor is human (status {page.status}, title "{page.title}"): {reason}'
        )
