"""Each kind of event of a person in a real browser becomes a step, and the steps do the same on a fresh page."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass, field

import pytest
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page

from components.browser import Session
from components.worlds.oracle import Oracle
from components.worlds.own_site.recording import recorder
from components.worlds.own_site.recording.recorder import PersonRecorder
from components.worlds.own_site.recording.transcription import PASSWORD, Transcription
from components.worlds.own_site.task_file import _parsed
from components.worlds.playing import play

pytestmark = pytest.mark.slow

Act = Callable[[Page], Awaitable[None]]
VALUES = """[...document.querySelectorAll('input, textarea, select')].map((el) =>
  el.type === 'checkbox' || el.type === 'radio' ? el.checked : el.value).join('|')"""
TITLE = "document.title"
REACTION_S = 0.3
LATER_S = REACTION_S + 0.1
OTHER = "<p>The other page</p><button onclick=\"document.title += '!'\">Agree</button>"


@dataclass(frozen=True)
class Case:
    """A page, what a person does on it, the steps, and an expression with the same value after the replay."""

    body: str
    act: Act
    steps: list
    state: str = TITLE
    then: str = ""
    """The value of `state` that shows that the person's action had its effect."""
    remarks: list[str] = field(default_factory=list)


async def click(page: Page, selector: str, **how) -> None:
    """Move the mouse to the middle of an element, as it is now, and click. Playwright scrolls nothing."""
    box = await page.locator(selector).first.bounding_box()
    assert box is not None
    await page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, **how)
    await page.wait_for_timeout(100)


async def keys(page: Page, *names: str) -> None:
    for name in names:
        await page.keyboard.press(name)
    await page.wait_for_timeout(100)


async def two_fields(page: Page) -> None:
    await click(page, "#a")
    await page.keyboard.type("Ropr")
    await keys(page, "Backspace", "e", "Tab")
    await page.keyboard.type("12 m")


async def text_of_lines(page: Page) -> None:
    await click(page, "textarea")
    await page.keyboard.type("one")
    await keys(page, "Enter")
    await page.keyboard.type("two")


async def enter_sends(page: Page) -> None:
    await click(page, "input")
    await page.keyboard.type("tea")
    await keys(page, "Enter")


async def chat(page: Page) -> None:
    await click(page, "textarea")
    await page.keyboard.type("hello")
    await keys(page, "Enter")


async def select_by_keys(page: Page) -> None:
    await click(page, "#a")
    await keys(page, "Tab", "C")


async def replace_text(page: Page) -> None:
    await click(page, "[contenteditable]")
    await keys(page, "Control+a")
    await page.keyboard.type("new words")


async def slide(page: Page) -> None:
    await page.keyboard.press("Tab")
    await keys(page, "ArrowRight", "ArrowRight")


async def pick_date(page: Page) -> None:
    await click(page, "#a")
    await keys(page, "Tab")
    await page.keyboard.type("12242026")
    await page.wait_for_timeout(100)


async def scroll_and_click(page: Page) -> None:
    await page.mouse.move(400, 300)
    await page.mouse.wheel(0, 900)
    await page.wait_for_timeout(300)
    await click(page, "#far")


async def scroll_to_another(page: Page) -> None:
    await page.mouse.move(400, 300)
    await page.mouse.wheel(0, 900)
    await page.wait_for_timeout(300)
    await click(page, "button:nth-of-type(2)")


async def scroll_area(page: Page) -> None:
    await page.mouse.move(50, 50)
    await page.mouse.wheel(0, 500)
    await page.wait_for_timeout(300)
    await click(page, "#far")


async def shortcut(page: Page) -> None:
    await keys(page, "c", "Control+Enter", "Escape")


async def modifiers(page: Page) -> None:
    await click(page, "#twice", click_count=2)
    await click(page, "#right", button="right")


async def script_acts(page: Page) -> None:
    await page.evaluate("document.querySelector('#b').click()")
    await page.evaluate("const a = document.querySelector('#a'); a.value = 'x'; a.dispatchEvent(new Event('input'))")
    await click(page, "#b")


@pytest.fixture(autouse=True)
def quick_person(monkeypatch):
    """The person of these tests acts again sooner than a real one."""
    monkeypatch.setattr(recorder, "REACTION_S", REACTION_S)


ROW = "<div><a href='#{0}'>{0}</a> <button onclick=\"document.title='{0}'\">Delete</button></div>"
CASES = {
    "typing, one step per field": Case(
        "<label>Name <input id=a></label><label>Length <input id=b></label>",
        two_fields,
        [{"fill": {"field": "Name", "text": "Rope"}}, {"fill": {"field": "Length", "text": "12 m"}}],
        VALUES,
        "Rope|12 m",
    ),
    "lines of a text": Case(
        "<label>Note <textarea></textarea></label>",
        text_of_lines,
        [{"fill": {"field": "Note", "text": "one\ntwo"}}],
        VALUES,
        "one\ntwo",
    ),
    "Enter that sends a form": Case(
        "<form onsubmit=\"document.title = 'sent ' + this.q.value; return false\"><label>Search <input name=q></label>"
        "<button>Go</button></form>",
        enter_sends,
        [{"fill": {"field": "Search", "text": "tea"}}, {"press": ["Enter"]}],
        TITLE,
        "sent tea",
    ),
    "Enter that a page takes from a text": Case(
        "<label>Message <textarea onkeydown=\"if (event.key === 'Enter') { document.title = this.value;"
        " this.value = ''; event.preventDefault(); }\"></textarea></label>",
        chat,
        [{"fill": {"field": "Message", "text": "hello"}}, {"press": ["Enter"]}],
        TITLE,
        "hello",
    ),
    "a select by keys": Case(
        "<label>Name <input id=a></label><label>State <select><option>Open<option>Closed</select></label>",
        select_by_keys,
        [{"click": "field Name"}, {"choose": {"select": "State", "option": "Closed"}}],
        VALUES,
        "|Closed",
    ),
    "a checkbox by its label": Case(
        "<label><input type=checkbox> <b>I agree</b></label>",
        lambda page: click(page, "b"),
        [{"click": "checkbox I agree"}],
        VALUES,
        "true",
    ),
    "a checkbox by the space key": Case(
        "<label><input type=checkbox> I agree</label>",
        lambda page: keys(page, "Tab", "Space"),
        [{"click": "checkbox I agree"}],
        VALUES,
        "true",
    ),
    "a radio button by an arrow": Case(
        "<label><input type=radio name=r> Red</label><label><input type=radio name=r> Blue</label>",
        lambda page: keys(page, "Tab", "ArrowDown"),
        [{"click": "radio Blue"}],
        VALUES,
        "false|true",
    ),
    "a button by Enter": Case(
        "<button onclick=\"document.title = 'saved'\">Save</button>",
        lambda page: keys(page, "Tab", "Enter"),
        [{"click": "button Save"}],
        TITLE,
        "saved",
    ),
    "a link": Case(
        "<a href=/other>Details</a>", lambda page: click(page, "a"), [{"click": "link Details"}], TITLE, "other"
    ),
    "one of many buttons, after the name of its row": Case(
        "".join(ROW.format(name) for name in ("Ada", "Ben", "Cy")),
        lambda page: click(page, "div:nth-of-type(2) button"),
        [{"click": {"role": "button", "name": "Delete", "after": "Ben"}}],
        TITLE,
        "Ben",
    ),
    "scrolling that the oracle does by itself": Case(
        "<div style='height:600px'>text</div><a href=/other>Half</a><div style='height:600px'>text</div>"
        "<button id=far onclick=\"document.title = 'far'\">Far</button>",
        scroll_and_click,
        [{"click": "button Far"}],
        TITLE,
        "far",
    ),
    "scrolling to one of several alike": Case(
        "<button onclick=\"document.title = 'near'\">Edit</button><div style='height:1300px'></div>"
        "<button onclick=\"document.title = 'far'\">Edit</button>",
        scroll_to_another,
        [{"scroll": {"direction": "down", "amount": 1.24}}, {"click": "button Edit"}],
        TITLE,
        "far",
    ),
    "scrolling in an area": Case(
        "<div style='height:100px; overflow:auto'><button>Top</button><div style='height:400px'></div>"
        "<button id=far onclick=\"document.title = 'inner'\">Inner</button></div>",
        scroll_area,
        [{"scroll": {"direction": "down", "amount": 3.42, "over": "button Top"}}, {"click": "button Inner"}],
        TITLE,
        "inner",
    ),
    "keys outside of fields": Case(
        "<script>addEventListener('keydown', (event) => { document.title += (event.ctrlKey ? '^' : '') + event.key; })"
        "</script>",
        shortcut,
        [{"press": ["c"]}, {"press": ["Control+Enter"]}, {"press": ["Escape"]}],
        "document.title.replace('^Control', '')",
        "a pagec^EnterEscape",
    ),
    "a double click and a right click": Case(
        "<button id=twice ondblclick=\"document.title += '2'\">Twice</button>"
        "<button id=right oncontextmenu=\"document.title += 'r'; return false\">Right</button>",
        modifiers,
        [
            {"click": {"role": "button", "name": "Twice", "click_type": "double"}},
            {"click": {"role": "button", "name": "Right", "button": "right"}},
        ],
        TITLE,
        "a page2r",
    ),
    "an editor": Case(
        "<div contenteditable aria-label=Body>old</div>",
        replace_text,
        [{"fill": {"field": "Body", "text": "new words"}}],
        "document.querySelector('[contenteditable]').innerText.trim()",
        "new words",
    ),
    "a slider": Case(
        "<label>Volume <input type=range min=0 max=10 value=5></label>",
        slide,
        [{"fill": {"field": "Volume", "role": "slider", "text": "7"}}],
        VALUES,
        "7",
    ),
    "a date": Case(
        "<label>Name <input id=a></label><label>Due <input type=date></label>",
        pick_date,
        [{"click": "field Name"}, {"fill": {"field": "Due", "text": "2026-12-24"}}],
        VALUES,
        "|2026-12-24",
    ),
    "an element in a shadow root": Case(
        "<div id=host></div><script>host.attachShadow({mode: 'open'}).innerHTML ="
        " '<button onclick=\"document.title = 1\">Inside</button>'</script>",
        lambda page: click(page, "#host button"),
        [{"click": "button Inside"}],
        TITLE,
        "1",
    ),
    "an element in a frame": Case(
        "<iframe srcdoc=\"<button onclick='top.document.title = 2'>Framed</button>\"></iframe>",
        lambda page: page.mouse.click(45, 25),
        [{"click": "button Framed"}],
        TITLE,
        "2",
    ),
    "what a script does is not a person's": Case(
        "<label>Name <input id=a></label><button id=b onclick=\"document.title += 'b'\">Save</button>",
        script_acts,
        [{"click": "button Save"}],
        "document.title.slice(-1)",
        "b",
    ),
    "a click on nothing": Case(
        "<p id=plain>Only words</p>",
        lambda page: click(page, "#plain"),
        [],
        TITLE,
        "a page",
        ["A click on <p> was left out: it is in no line of the element list."],
    ),
}


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
                raw = [_parsed(step, {}, origin) for step in steps]
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
