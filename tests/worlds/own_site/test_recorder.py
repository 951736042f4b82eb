"""Each kind of event of a person in a real browser becomes a step, and the steps do the same on a fresh page."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from contextvars import ContextVar

import pytest
from playwright.async_api import Error as PlaywrightError

from components.browser import Session
from components.worlds.oracle import Oracle
from components.worlds.own_site.recording import recorder
from components.worlds.own_site.recording.recorder import PersonRecorder
from components.worlds.own_site.recording.transcription import PASSWORD, Transcription
from components.worlds.own_site.steps import parsed
from components.worlds.playing import play
from tests.worlds.own_site.recorder_cases import CASES, LATER_S, OTHER, REACTION_S, TITLE, Act, click

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def quick_person(monkeypatch):
    """The person of these tests acts again sooner than a real one."""
    monkeypatch.setattr(recorder, "REACTION_S", REACTION_S)


HEARD: ContextVar[Transcription] = ContextVar("HEARD")
"""The transcription of the recording that runs."""


async def wait_for_steps(steps: int) -> None:
    """Wait until so many steps are written down, and then for as long as a reaction of the page may take."""
    heard, deadline = HEARD.get(), time.monotonic() + 30
    while len(heard._steps) < steps:
        assert time.monotonic() < deadline, f"waited for {steps} steps, heard {heard._steps}, remarks {heard.remarks}"
        await asyncio.sleep(0.02)
    await asyncio.sleep(LATER_S)


async def record(session: Session, act: Act, origin: str, own: set[str] | None = None) -> Transcription:
    transcription = Transcription(own or set())
    HEARD.set(transcription)
    async with PersonRecorder(session, origin, transcription) as recorder:
        await act(session.page)
        for _ in range(3):  # on a busy machine the browser tells late what has happened
            await recorder.settle()
            await asyncio.sleep(0.2)
    return transcription


@pytest.fixture
def perform(visit) -> Callable:
    """`perform(url, act)` lets a person act on a page; `perform(url, steps=steps)` lets an oracle take steps.

    Each returns the transcription, the value of an expression afterwards, and the addresses of the tabs.
    """

    def run(url: str, act: Act | None = None, steps: list | None = None, state: str = TITLE) -> tuple:
        origin = url.rpartition("/")[0]

        async def episode(session: Session, _: object) -> tuple:
            transcription = Transcription()
            if act is not None:
                transcription = await record(session, act, origin)
            if steps is not None:
                raw = [parsed(step, origin) for step in steps]
                await play(session, Oracle(raw, "done", random.Random(0)))
            return transcription, await session.tabs[0].page.evaluate(state), [tab.page.url for tab in session.tabs]

        return visit(url, episode)

    return run


@pytest.mark.parametrize("name", CASES)
def test_what_a_person_does_is_done_again_by_the_steps(pages, perform, name):
    case = CASES[name]
    pages.add("/other", OTHER, title="other")
    url = pages.add("/page", case.body)
    transcription, state, _ = perform(url, case.act, state=case.state)
    assert (transcription.steps(), state) == (case.steps, case.then)
    assert transcription.remarks == case.remarks
    assert perform(url, steps=case.steps, state=case.state)[1] == state


def test_typed_addresses_and_going_back_are_steps(pages, perform):
    pages.add("/other", OTHER, title="other")
    pages.add("/other?x={1}", OTHER, title="other")
    url = pages.add("/page", "<a href=/other>Details</a>")

    async def act(page):
        await page.goto(f"{pages.origin}/other?x={{1}}")
        await wait_for_steps(1)
        await page.go_back()
        await wait_for_steps(2)
        await click(page, "a")
        await wait_for_steps(3)
        await page.reload()
        await wait_for_steps(4)

    steps = [{"goto": "/other?x={1}"}, {"back": None}, {"click": "link Details"}, {"goto": "/other"}]
    assert perform(url, act)[0].steps() == steps


def test_a_tab_that_gets_another_renderer_is_asked_again(pages, perform, monkeypatch):
    pages.add("/other", OTHER, title="other")
    url, history, times = pages.add("/page", "<p>A page</p>"), recorder._history, []

    async def refused_every_other_time(cdp):
        times.append(cdp)
        if len(times) % 2 == 0:  # the first is when the recording begins
            raise PlaywrightError("Protocol error (Page.getNavigationHistory): Not attached to an active page")
        return await history(cdp)

    async def act(page):
        await page.goto(f"{pages.origin}/other")
        await wait_for_steps(1)
        await page.go_back()
        await wait_for_steps(2)

    monkeypatch.setattr(recorder, "_history", refused_every_other_time)
    assert perform(url, act)[0].steps() == [{"goto": "/other"}, {"back": None}]


def test_a_fault_costs_one_step_and_is_told(pages, perform, monkeypatch):
    pages.add("/other", OTHER, title="other")
    url, goto, calls = pages.add("/page", "<p>A page</p>"), PersonRecorder._goto, []

    def fail_first(self, *arguments):
        calls.append(arguments)
        if len(calls) == 1:
            raise KeyError("id")
        goto(self, *arguments)

    async def act(page):
        await page.goto(f"{pages.origin}/other")
        while not HEARD.get().remarks:  # two navigations at once may be heard as one
            await asyncio.sleep(0.05)
        await page.goto(f"{pages.origin}/page")
        await wait_for_steps(1)

    monkeypatch.setattr(PersonRecorder, "_goto", fail_first)
    transcription = perform(url, act)[0]
    assert transcription.steps() == [{"goto": "/page"}]
    assert transcription.remarks == [
        "A step was lost after step 0, by a fault of Waymark: KeyError('id'). Please report it."
    ]


def test_going_back_by_a_button_of_the_page_is_only_the_click(pages, perform):
    pages.add("/other", '<button onclick="history.back()">Cancel</button>')
    url = pages.add("/page", "<a href=/other>Details</a>")

    async def act(page):
        await click(page, "a")
        await page.wait_for_url("**/other")
        await click(page, "button")
        await page.wait_for_url("**/page")

    assert perform(url, act)[0].steps() == [{"click": "link Details"}, {"click": "button Cancel"}]


SEND = "<button onclick=\"document.title = 'sent'\">Send</button>"


def test_a_window_that_opens_is_shown_and_a_choice_of_tab_is_a_step(pages, perform):
    other = pages.add("/other", OTHER, title="other")
    url = pages.add("/page", f"<a href=/other target=_blank>Terms</a>{SEND}")

    async def act(page):
        async with page.context.expect_page() as opened:
            await click(page, "a")
        window = await opened.value
        await window.wait_for_load_state()
        await asyncio.sleep(1.0)
        await click(window, "button")
        await click(page, "button")

    steps = [{"click": "link Terms"}, {"click": "button Agree"}, {"switch_tab": 0}, {"click": "button Send"}]
    assert perform(url, act)[0].steps() == steps
    assert perform(url, steps=steps)[1:] == ("sent", [url, other])


def test_a_tab_of_the_persons_own_is_opened_and_closed_by_steps(pages, perform):
    pages.add("/other", OTHER, title="other")
    url = pages.add("/page", SEND)

    async def act(page):
        own = await page.context.new_page()
        await own.goto(f"{pages.origin}/other")
        await wait_for_steps(2)
        await click(own, "button")
        await wait_for_steps(3)
        await own.close()
        await wait_for_steps(4)
        await click(page, "button")

    opened = [{"new_tab": None}, {"goto": "/other"}, {"click": "button Agree"}, {"close_tab": None}]
    steps = [*opened, {"click": "button Send"}]
    assert perform(url, act)[0].steps() == steps
    assert perform(url, steps=steps)[1:] == ("sent", [url])


def test_closing_a_tab_that_is_not_shown_shows_it_first(pages, perform):
    pages.add("/other", OTHER, title="other")
    url = pages.add("/page", '<button onclick="document.title += 1">Count</button>')

    async def act(page):
        own = await page.context.new_page()
        await own.goto(f"{pages.origin}/other")
        await wait_for_steps(2)
        await click(page, "button")
        await wait_for_steps(4)
        await own.close()
        await wait_for_steps(6)
        await click(page, "button")

    opened = [{"new_tab": None}, {"goto": "/other"}, {"switch_tab": 0}, {"click": "button Count"}]
    steps = [*opened, {"switch_tab": 1}, {"close_tab": None}, {"click": "button Count"}]
    assert perform(url, act)[0].steps() == steps
    assert perform(url, steps=steps)[1:] == ("a page11", [url])


def test_closing_the_last_tab_ends_the_recording(pages, visit):
    async def person(session, _):
        transcription = Transcription()
        async with PersonRecorder(session, pages.origin, transcription) as hearing:
            await click(session.page, "button")
            await session.page.close()
            await asyncio.wait_for(hearing.closed.wait(), 5)
        return transcription.steps()

    assert visit(pages.add("/page", SEND), person) == [{"click": "button Send"}]


DELETE = "<button onclick=\"document.title = confirm('Delete the order?') ? 'gone' : 'kept'\">Delete</button>"


@pytest.mark.parametrize(
    ("accepts", "title", "remark"),
    [(True, "gone", ""), (False, "kept", 'The dialog "Delete the order?" was cancelled. An oracle cannot do so')],
)
def test_a_dialog_is_the_persons_and_a_cancelled_one_is_said(pages, perform, accepts, title, remark):
    async def act(page):
        page.on("dialog", lambda dialog: dialog.accept() if accepts else dialog.dismiss())
        await click(page, "button")

    transcription, shown, _ = perform(pages.add("/page", DELETE), act)
    assert (transcription.steps(), shown) == ([{"click": "button Delete"}], title)
    assert [sentence[: len(remark)] for sentence in transcription.remarks] == ([remark] if remark else [])


@pytest.mark.parametrize(("own", "text"), [({"harbour"}, "harbour"), (set(), PASSWORD)])
def test_a_password_is_written_only_if_it_is_the_sites_own(pages, visit, own, text):
    async def act(page):
        await click(page, "input")
        await page.keyboard.type("harbour")

    async def person(session, _):
        return (await record(session, act, pages.origin, own)).steps()

    url = pages.add("/page", "<label>Password <input type=password></label>")
    assert visit(url, person) == [{"fill": {"field": "Password", "text": text}}]
