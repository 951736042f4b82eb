"""Dialogs of windows that are no tabs yet, and of tabs in the background: none is answered unsaid."""

from __future__ import annotations

import asyncio

import pytest

from components.browser import check_call, tab, tabs

from .dialog_pages import BUTTON, CLICK, WAIT, keys, visitor

WINDOW = "document.title = confirm('Sure?')"
OPENS = BUTTON.format("window.open('/dialog-window')")
WHEN = {
    "while it loads": f"<script>{WINDOW}</script>",
    "once it has loaded": f"<script>setTimeout(() => {{ {WINDOW} }}, 150)</script>",
}


def titles(observation):
    """The titles of the tabs, the active one in capitals."""
    return [shown.title.upper() if shown.active else shown.title for shown in observation.tabs]


@pytest.fixture
def visit(pages):
    return visitor(pages)


@pytest.mark.parametrize("when", WHEN)
@pytest.mark.parametrize(("answer", "title"), [("enter", "TRUE"), ("escape", "FALSE")])
def test_a_dialog_of_a_new_window_is_asked_before_the_window_is_shown(visit, pages, when, answer, title):
    pages.add("/dialog-window", WHEN[when])

    async def steps(session):
        return await session.step([CLICK]), await session.step([keys(answer)])

    asked, answered = visit(OPENS, steps)
    assert 'A dialog (confirm) asks "Sure?" and waits' in asked.feedback[0]
    assert titles(asked.observation) == ["A PAGE"]
    assert answered.feedback[0].endswith(f"New tab 1 opened ({pages.origin}/dialog-window) and is active.")
    assert titles(answered.observation) == ["a page", title]


def test_a_new_window_is_awaited_however_long_the_agent_thinks(visit, pages, monkeypatch):
    monkeypatch.setattr(tabs, "ATTACH_TIMEOUT_S", 0.5)
    monkeypatch.setattr(tab, "PROBE_TIMEOUT_S", 0.5)
    pages.add("/dialog-window", WHEN["while it loads"])

    async def steps(session):
        await session.step([CLICK])
        await asyncio.sleep(1.5)
        return await session.step([keys("enter")])

    assert titles(visit(OPENS, steps, settle_ms=500).observation) == ["a page", "TRUE"]


@pytest.mark.parametrize("when", WHEN)
def test_a_dialog_of_a_window_that_opens_by_itself_is_asked(visit, pages, when):
    """The window arrives while the page is observed, or at the next call."""
    pages.add("/dialog-window", WHEN[when])
    body = BUTTON.format("setTimeout(() => window.open('/dialog-window'), 400)")

    async def steps(session):
        results = [await session.step([CLICK])]
        while len(results) < 4 and "Sure?" not in f"{results[-1].feedback} {results[-1].observation.text}":
            results.append(await session.step([WAIT]))
        return results[-1], await session.step([keys("escape")])

    asked, answered = visit(body, steps)
    assert titles(asked.observation) == ["A PAGE"]
    assert titles(answered.observation) == ["a page", "FALSE"]


SAID = 'A dialog (confirm) said "Sure?" and was {}. New tab 1 opened'


@pytest.mark.parametrize("when", WHEN)
def test_a_dialog_of_a_new_window_is_answered_and_said(visit, pages, when):
    pages.add("/dialog-window", WHEN[when])

    async def steps(session):
        return await session.step([CLICK])

    result = visit(OPENS, steps, dialogs="accept")
    assert SAID.format("confirmed") in result.feedback[0]
    assert titles(result.observation) == ["a page", "TRUE"]


@pytest.mark.parametrize(("dialogs", "answer"), [("ask", "confirmed"), ("ask_or_dismiss", "dismissed")])
def test_a_dialog_of_a_window_in_the_background_is_answered_and_said(visit, pages, dialogs, answer):
    """A middle click opens one, and so does a start page."""
    pages.add("/dialog-window", WHEN["while it loads"])
    link = '<a href="/dialog-window" style="position:absolute;left:390px;top:290px">a link</a>'

    async def steps(session):
        return await session.step([check_call("click", {"x": 500, "y": 500, "button": "middle"})])

    result = visit(link, steps, dialogs=dialogs)
    assert SAID.format(answer) in result.feedback[0]
    assert "in the background" in result.feedback[0]
    assert titles(result.observation) == ["A PAGE", "true" if answer == "confirmed" else "false"]


def test_a_dialog_of_a_tab_in_the_background_is_not_asked(visit, pages):
    """Also if the active tab once opened it."""
    pages.add("/dialog-window", f"<script>setTimeout(() => {{ {WINDOW} }}, 1500)</script>")

    async def steps(session):
        await session.step([CLICK, check_call("switch_tab", {"index": 0})])
        return await session.step([check_call("wait", {"seconds": 2})])

    result = visit(OPENS, steps)
    assert " and waits" not in result.feedback[0]
    assert titles(result.observation) == ["A PAGE", "true"]


def test_a_dialog_of_a_window_that_its_opener_fills_is_asked(visit):
    """It opens before the window is reported, and keeps its opener waiting."""
    body = BUTTON.format("document.title = window.open('about:blank').confirm('Sure?')")

    async def steps(session):
        return await session.step([CLICK]), await session.step([keys("escape")])

    asked, answered = visit(body, steps)
    assert 'A dialog (confirm) asks "Sure?" and waits' in asked.feedback[0]
    assert titles(answered.observation)[0] == "false"
