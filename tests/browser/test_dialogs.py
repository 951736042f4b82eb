"""Dialogs that the agent answers: they are asked, drawn and listed, nothing hangs, and none stays open for ever."""

from __future__ import annotations

import asyncio
import io
import time

import pytest
from PIL import Image

from components.browser import check_call, parse_elements
from components.browser.dialogs import MAX_REFUSED
from components.browser.tools import ALL_TOOLS
from components.records import ToolCall

from .dialog_pages import BUTTON, CAREFUL, CLICK, WAIT, keys, visitor, write

CONFIRM = BUTTON.format("document.title = confirm('Delete the tent?')")
CONFIRM_AT_ONCE = "<title>asks</title><script>document.title = confirm('Delete the tent?')</script>"
PROMPT = BUTTON.format("document.title = prompt('Your name?', 'Ada')")


@pytest.fixture
def visit(pages):
    return visitor(pages)


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("body", "answer", "title", "said"),
    [
        (CONFIRM, keys("enter"), "true", "answered the dialog with OK."),
        (CONFIRM, keys("escape"), "false", "answered the dialog with Cancel."),
        (PROMPT, write("Grace"), "Grace", 'answered the dialog with "Grace".'),
        (PROMPT, keys("enter"), "Ada", 'answered the dialog with "Ada".'),
        (PROMPT, keys("esc"), "null", "answered the dialog with Cancel."),
    ],
)
def test_the_next_call_answers_a_dialog(visit, body, answer, title, said):
    async def steps(session):
        asked = await session.step([CLICK])
        return asked, await session.step([answer])

    asked, answered = visit(body, steps)
    assert " and waits: " in asked.feedback[0]
    assert answered.observation.tabs[0].title == title
    assert said in answered.feedback[0]
    assert 'The call that had opened it: `click` on <button> "Go" at (500, 500) executed.' in answered.feedback[0]


def test_an_open_dialog_is_drawn_and_listed_and_its_buttons_are_clicked(visit):
    async def steps(session):
        before = await session.step([check_call("hover", {"x": 1, "y": 1})])
        asked = await session.step([CLICK])
        (cancel,) = (item for item in parse_elements(asked.observation.text) if item.name == "Cancel")
        return before, asked, await session.step([check_call("click", {"x": cancel.x, "y": cancel.y})])

    before, asked, answered = visit(CONFIRM, steps)
    assert [(item.role, item.name) for item in parse_elements(asked.observation.text)] == [
        ("button", "OK"),
        ("button", "Cancel"),
    ]
    drawn = Image.open(io.BytesIO(asked.observation.screenshot.data))
    assert drawn.size == (800, 600)
    assert asked.observation.screenshot != before.observation.screenshot
    assert drawn.convert("RGB").getpixel((5, 595)) == (153, 153, 153), "the page is darkened"
    assert answered.observation.tabs[0].title == "false"


@pytest.mark.parametrize(("control", "title"), [("OK", "true"), ("Cancel", "false")])
def test_a_dialog_of_a_smaller_window_is_answered_where_it_is_drawn(visit, pages, control, title):
    """It is drawn on the last observation, which is of the opener."""
    opener = BUTTON.format(f"open('{pages.add('/small', CONFIRM_AT_ONCE)}', '', 'width=400,height=300')")

    async def steps(session):
        asked = (await session.step([CLICK])).observation
        (button,) = [item for item in parse_elements(asked.text) if item.name == control]
        answered = await session.step([check_call("click", {"x": button.x, "y": button.y})])
        return answered.feedback[0], session.page.url, await session.page.title()

    said, url, seen = visit(opener, steps)
    assert f"answered the dialog with {control}." in said
    assert url.endswith("/small")
    assert seen == title


def test_a_person_sees_the_buttons_of_an_open_dialog_and_answers_it(visit):
    """A scripted teacher looks at the page behind it, which closes the dialog; a person does not."""

    async def steps(session):
        await session.step([CLICK])
        listed = await session.shown()
        answered = await session.step([keys("enter")])
        return listed, answered.feedback[0], await session.shown()

    listed, said, after = visit(CONFIRM, steps)
    assert [item.name for item in parse_elements(listed)] == ["OK", "Cancel"]
    assert "answered the dialog with OK." in said
    assert [item.name for item in parse_elements(after)] == ["Go"]


def test_calls_of_one_turn_may_open_and_answer(visit):
    async def steps(session):
        return await session.step([CLICK, write("Grace"), check_call("hover", {"x": 1, "y": 1})])

    result = visit(PROMPT, steps)
    assert [line.split(":")[0] for line in result.feedback] == ["Succeed"] * 3
    assert result.observation.tabs[0].title == "Grace"


def test_a_dialog_after_a_dialog_is_asked_too(visit):
    body = BUTTON.format("document.title = confirm('one') + '/' + confirm('two')")

    async def steps(session):
        return [(await session.step([call])) for call in (CLICK, keys("enter"), keys("escape"))]

    _, second, last = visit(body, steps)
    assert 'asks "two" and waits' in second.feedback[0]
    assert "The call that had opened it: `click` executed." in second.feedback[0]
    assert last.observation.tabs[0].title == "true/false"


def test_a_second_dialog_is_asked_once_and_names_its_opener(visit):
    body = BUTTON.format("document.title = confirm('one') + '/' + confirm('two')")
    hover = check_call("hover", {"x": 1, "y": 1})

    async def steps(session):
        await session.step([CLICK])
        return (await session.step([hover] * MAX_REFUSED)).feedback[-1]

    line = visit(body, steps)
    assert line.startswith("Failed: `hover` execution failed")
    assert line.count('asks "two"') == 1
    assert "`hover` executed" not in line


def test_other_calls_fail_and_at_last_the_dialog_is_confirmed(visit):
    hover = check_call("hover", {"x": 1, "y": 1})

    async def steps(session):
        await session.step([CLICK])
        return await session.step([hover] * MAX_REFUSED)

    result = visit(CONFIRM, steps)
    assert [line.split(":")[0] for line in result.feedback] == ["Failed"] * (MAX_REFUSED - 1) + ["Succeed"]
    assert 'asks "Delete the tent?"' in result.feedback[0]
    assert (
        "The dialog was confirmed, because no answer came. The call that had opened it: `click`" in result.feedback[-1]
    )
    assert result.observation.tabs[0].title == "true"


def test_a_refused_call_does_not_answer_a_dialog(visit):
    wrong = ToolCall(name="click_element", arguments={"element": "OK"}, error="unknown tool")

    async def steps(session):
        await session.step([CLICK])
        return await session.step([wrong])

    result = visit(CONFIRM, steps)
    assert "unknown tool" in result.feedback[0]
    assert result.observation.tabs[0].title not in ("true", "false")


@pytest.mark.parametrize("delay_ms", [300, 0])
def test_a_dialog_that_opens_by_itself_is_asked_before_it_is_answered(visit, delay_ms):
    body = BUTTON.format(f"setTimeout(() => {{ document.title = confirm('late') }}, {delay_ms})")

    async def steps(session):
        first = await session.step([CLICK])
        await asyncio.sleep(0.6)
        second = await session.step([keys("escape")])
        last = await session.step([keys("escape")]) if " and waits: " in second.feedback[0] else second
        return first, second, last

    first, second, last = visit(body, steps)
    assert any("late" in text for text in (first.feedback[0], first.observation.text, second.feedback[0]))
    assert last.observation.tabs[0].title == "false"


def test_a_dialog_without_an_answer_is_confirmed_after_its_time(visit):
    async def steps(session):
        await session.step([CLICK])
        await session.page.wait_for_function("document.title === 'true'")  # the page stands still until the answer
        return await session.step([check_call("wait", {"seconds": 0})])

    result = visit(CONFIRM, steps, dialog_wait_s=0.3)
    assert result.observation.tabs[0].title == "true"
    assert result.feedback[0].startswith("Succeed: `wait`")
    assert "The call that had opened it: `click`" in result.feedback[0]
    assert 'said "Delete the tent?" and was confirmed, because no answer came.' in result.feedback[0]


def test_the_end_of_an_episode_confirms_the_dialog_and_reads_the_page(visit):
    async def steps(session):
        await session.step([CLICK])
        began = time.monotonic()
        reading = await session.oracle()
        return reading, time.monotonic() - began, await session.page.title()

    text, seconds, title = visit(CONFIRM, steps)
    assert '"Go"' in text
    assert title == "true"
    assert seconds < 5


def test_done_ends_the_episode_whatever_is_open(visit):
    async def steps(session):
        await session.step([CLICK])
        return await session.step([check_call("done", {"answer": "42"})])

    result = visit(CONFIRM, steps)
    assert (result.done, result.answer) == (True, "42")


@pytest.mark.parametrize("text", ["axtree", "html"])
def test_protocols_with_ids_answer_by_the_ids_ok_and_cancel(visit, text):
    async def steps(session):
        asked = await session.step([CLICK])
        answer = check_call("click_element", {"element": "Cancel"}, ALL_TOOLS)
        return asked.observation.text, await session.step([answer])

    shown, answered = visit(CONFIRM, steps, text=text)
    assert "Delete the tent?" in shown
    assert "Cancel" in shown
    assert answered.observation.tabs[0].title == "false"


@pytest.mark.parametrize("dialogs", ["ask", "ask_or_dismiss"])
def test_alerts_and_pages_that_want_to_stay_are_still_confirmed(visit, pages, dialogs):
    url = pages.add("/next", "there")
    body = BUTTON.format("alert('saved')") + "<script>onbeforeunload = event => event.preventDefault()</script>"

    async def steps(session):
        return await session.step([CLICK, check_call("goto_url", {"url": url})])

    result = visit(body, steps, dialogs=dialogs)
    assert result.feedback[0].endswith('A dialog (alert) said "saved" and was confirmed.')
    assert result.feedback[1].endswith("The page warned that changes may be lost; it was left.")
    assert result.observation.url == url


# ---- dialogs without an answer that are dismissed


@pytest.mark.every(3)
@pytest.mark.parametrize(("body", "title"), [(CONFIRM, "false"), (PROMPT, "null")])
@pytest.mark.parametrize("calls", [[WAIT] * MAX_REFUSED, [check_call("done", {"answer": ""})], []])
def test_a_dialog_without_an_answer_is_dismissed_if_the_recipe_says_so(visit, body, title, calls):
    """After other calls, with `done`, and at the end of the episode."""

    async def steps(session):
        lines = [line for call in (CLICK, *calls) for line in (await session.step([call])).feedback]
        await session.settle_dialogs()
        return lines, await session.page.title()

    lines, seen = visit(body, steps, **CAREFUL)
    assert seen == title
    assert " and waits: " in lines[0]
    assert ("The dialog was dismissed, because no answer came." in lines[-1]) == (len(calls) == MAX_REFUSED)


def test_a_dialog_is_dismissed_when_its_time_is_over(visit):
    async def steps(session):
        await session.step([CLICK])
        await asyncio.sleep(0.5)
        return await session.step([WAIT])

    result = visit(CONFIRM, steps, dialog_wait_s=0.2, **CAREFUL)
    assert 'A dialog (confirm) said "Delete the tent?" and was dismissed, because no answer came.' in result.feedback[0]
    assert result.observation.tabs[0].title == "false"


def test_an_answer_counts_where_others_are_dismissed(visit):
    async def steps(session):
        await session.step([CLICK])
        return await session.step([keys("enter")])

    assert visit(CONFIRM, steps, **CAREFUL).observation.tabs[0].title == "true"


def test_dialogs_of_the_start_page_are_dismissed_and_alerts_confirmed(visit):
    """They open before the agent's first call."""
    body = "<script>document.title = [confirm('Start?'), prompt('Who?', 'Ada'), alert('hello')].join()</script>"

    async def steps(session):
        return await session.page.title(), (await session.step([WAIT])).feedback[0]

    title, line = visit(body, steps, **CAREFUL)
    assert title == "false,,"
    assert 'A dialog (confirm) said "Start?" and was dismissed.' in line
    assert 'A dialog (alert) said "hello" and was confirmed.' in line
