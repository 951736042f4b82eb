"""A trajectory's page shows what happened, and nothing that a model or a page wrote can do more than be read."""

from __future__ import annotations

import math
import re

import pytest
from playwright.sync_api import sync_playwright

from components.browser.chromium import find_chromium, launch_flags
from components.records import Image, Outcome, RowChange, StateCheck, Tab, Termination, ToolCall
from components.reports import write_page
from components.reports.viewer import Limits, marks, view
from tests.evaluation.run_records import DONE, observation, png, task, trajectory, turn, verdict

HOSTILE = "</pre><script>window.pwned = 1</script><img src=x onerror='window.pwned = 1'>\"'--><svg onload=alert(1)>"


def call(name, **arguments):
    return ToolCall(name=name, arguments=arguments)


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=str(find_chromium()), args=launch_flags())
        yield browser
        browser.close()


@pytest.fixture
def opened(browser, tmp_path):
    """Opens the page of a trajectory and keeps the addresses that it asked for beyond its own."""
    context = browser.new_context(viewport={"width": 1200, "height": 900})

    def open_page(of, said=None):
        path = tmp_path / "page.html"
        write_page(of, said, path)
        page = context.new_page()
        page.asked = []
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(path.as_uri())
        page.asked = [url for url in page.asked if not url.startswith(("file:", "data:"))]
        return page

    yield open_page
    context.close()


def hostile():
    calls = [call("write", text=HOSTILE), ToolCall(name=HOSTILE, arguments={HOSTILE: HOSTILE}, error=HOSTILE)]
    seen = observation(
        text=HOSTILE, url=HOSTILE, tabs=[Tab(index=i, title=HOSTILE, url="u", active=False) for i in (0, 1)]
    )
    turns = [
        turn(0, *calls, thought=HOSTILE, feedback=[HOSTILE, HOSTILE], observation=seen),
        turn(1, response=HOSTILE, tool_calls=[], feedback=[HOSTILE], parse_error=HOSTILE, timings={HOSTILE: 1.0}),
    ]
    of = task("t0", HOSTILE, intent=HOSTILE, start_url="javascript:alert(1)")
    return trajectory(of, turns, policy=HOSTILE, answer=HOSTILE)


def test_hostile_text_is_shown_and_never_run(opened):
    one = hostile()
    page = opened(one, verdict(one, rationale=HOSTILE))
    assert page.evaluate(
        "[typeof window.pwned, document.scripts.length, document.querySelectorAll('[onerror],[onload]').length]"
    ) == [
        "undefined",
        0,
        0,
    ]
    assert page.locator(".intent").inner_text() == HOSTILE
    assert HOSTILE in page.locator(".verdict").inner_text()
    assert HOSTILE in page.locator(".think").first.inner_text()
    assert page.asked == []


def test_hostile_addresses_are_no_links(opened):
    assert opened(hostile()).locator("a").count() == 0


def test_a_click_is_marked_where_it_was(opened):
    # (250, 500) of 1000 on 160 x 210 px shown twice as large: 80 and 210 px from the corner
    page = opened(trajectory(turns=[turn(0, call("click", x=250, y=500))]))
    image, ring = page.locator(".shot img").bounding_box(), page.locator(".shot .dot").bounding_box()
    assert (image["width"], image["height"]) == (320, 420)
    centre = ring["x"] + ring["width"] / 2 - image["x"], ring["y"] + ring["height"] / 2 - image["y"]
    assert centre == pytest.approx((80, 210), abs=1)


def test_a_page_shows_reasoning_calls_feedback_and_verdict(opened):
    feedback = ["Succeed: `click` executed.", "Failed: `write` execution failed: no field has focus."]
    turns = [
        turn(0, call("click", x=1, y=2), call("write", text="Ada"), thought="First the field.", feedback=feedback),
        turn(1, DONE),
    ]
    one = trajectory(turns=turns)
    page = opened(one, verdict(one, Outcome.FAILURE, "the field is empty"))
    assert page.locator(".think").first.inner_text() == "First the field."
    assert [c.inner_text() for c in page.locator(".call code").all()] == [
        "click x=1 y=2",
        'write text="Ada"',
        'done answer="ok"',
    ]
    assert page.locator(".feedback.failed").inner_text() == feedback[1]
    assert page.locator(".verdict.failure").inner_text().startswith("Failure by rules (site-reward-1)")
    assert "212 prompt tokens · 43 sampled · policy 0.4 s · browser 83 ms" in page.locator(".words").first.inner_text()


def test_the_element_list_is_shown_folded(opened):
    page = opened(trajectory())
    elements = page.locator("details", has_text="beside the screenshot").first
    assert elements.evaluate("e => e.open") is False
    assert '- button "cancel" 688 710' in elements.locator("pre").text_content()


def test_an_episode_that_never_started_has_a_page(opened):
    page = opened(trajectory(turns=[], termination=Termination.ENV_INIT_ERROR))
    assert "env init error" in page.locator("header").inner_text()


def test_without_turns_the_last_page_is_shown_in_its_own_size():
    last_page = trajectory(turns=[], final_screenshot=png(viewport=(1280, 720)))
    assert (view(last_page, None).tiny, view(last_page, None).wide) == (None, True)
    small = trajectory(turns=[], final_screenshot=png(viewport=(160, 210)))
    assert (view(small, None).tiny, view(small, None).wide) == (160, False)
    broken = trajectory(turns=[], final_screenshot=Image.of(b"no image"))
    assert view(broken, None).final == ""


def test_an_unreadable_screenshot_is_marked_as_unreadable(opened):
    broken = observation(screenshot=Image.of(b"no image"))
    assert (
        opened(trajectory(turns=[turn(0, observation=broken)])).locator(".missing").inner_text()
        == "this image is unreadable"
    )


def test_a_lone_surrogate_does_not_lose_the_page(tmp_path):
    one = trajectory(turns=[turn(0, call("write", text="x"), feedback=["ok"])])
    raw = one.turns[0].model_copy(
        update={"tool_calls": [ToolCall.model_construct(name="write", arguments={"text": "\ud800"})]}
    )
    write_page(one.model_copy(update={"turns": [raw]}), None, tmp_path / "page.html")
    assert "\\ud800" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    ("made", "kind", "place"),
    [
        (call("click", x=512, y=86), "click", (51.2, 8.6, 0, 0)),
        (call("click", x="512", y="86"), "click", (51.2, 8.6, 0, 0)),  # as the browser reads it
        (call("click", x=0, y=1000, click_type="double"), "double", (0, 100, 0, 0)),
        (call("hover", x=500, y=500), "hover", (50, 50, 0, 0)),
        (call("drag", x1=100, y1=200, x2=300, y2=400), "drag", (10, 20, 30, 40)),
        (call("scroll", direction="down", amount=0.5), "scroll", (50, 38, 50, 62)),
        (call("click", x=-40, y=2500), "click", (0, 100, 0, 0)),  # where the browser clamps it to
    ],
)
def test_a_pointer_call_leaves_its_mark_in_percent(made, kind, place):
    (mark,) = marks([made])
    assert (mark.kind, mark.x, mark.y, mark.x2, mark.y2) == (kind, *place)


@pytest.mark.parametrize(
    "made",
    [
        call("write", text="Ada"),
        call("click"),
        call("click", x="half", y="86"),
        ToolCall(name="click", arguments={"x": 1, "y": 2}, error="x: input should be a valid number"),
        call("click", x=math.nan, y=1),
        call("click", x=int("5" * 400), y=1),
        call("drag", x1=1, y1=2, x2=3, y2=-int("5" * 400)),
        call("drag", x1=1, y1=2),
        call("scroll", direction="sideways"),
    ],
)
def test_a_call_without_usable_coordinates_leaves_no_mark(made):
    assert marks([made]) == []


def test_marks_are_numbered_as_the_calls_are():
    found = marks([call("click", x=1, y=1), call("write", text="a"), call("click", x=2, y=2)])
    assert [mark.number for mark in found] == [1, 3]


def test_a_call_that_the_browser_did_not_run_leaves_no_mark():
    clicks = [call("click", x=place, y=1) for place in range(1, 5)]
    feedback = [
        "Succeed: `click` at (1, 1) executed.",
        "Failed: `click` execution failed: nothing is there.",
        "Failed: `click` execution failed: the page has ended its task and no longer reacts.",
        "Failed: `click` execution failed: it was not run, because the turn's time is over. A dialog opened.",
    ]
    shown = view(trajectory(turns=[turn(0, *clicks, feedback=feedback)]), None)
    assert [mark.number for mark in shown.turns[0].marks] == [1, 2]


def test_limits_leave_out_turns_and_cut_words_and_images():
    big = observation(viewport=(1280, 720), screenshot=png(viewport=(1280, 720)), text="x" * 100)
    shown = view(
        trajectory(turns=[turn(i, observation=big) for i in range(5)]), None, limits=Limits(turns=2, width=320, text=10)
    )
    assert (len(shown.turns), shown.skipped) == (2, 3)
    assert shown.turns[0].text == "xxxxxxxxxx … (90 characters more)"
    assert re.match("data:image/webp;base64,", shown.turns[0].screenshot)


def test_the_last_page_is_shown_only_if_it_changed():
    seen = observation()
    same = trajectory(turns=[turn(0, observation=seen)], final_screenshot=seen.screenshot)
    other = trajectory(turns=[turn(0, observation=seen)], final_screenshot=png(intent="Bye"))
    assert view(same, None).final is None
    assert view(other, None).final.startswith("data:image/png")


def test_changes_of_state_are_shown_with_side_effects(opened):
    rows = [
        RowChange(table="basket_line", key="1", before=None, after={"product_id": "5", "note": HOSTILE}),
        RowChange(table="ticket", key="3", before={"id": "3", "status": "1"}, after={"id": "3", "status": "4"}),
    ]
    check = StateCheck(
        reward=0, credit=0.5, side_effects=["also changed row 3 of ticket"], answer_ok=False, changes=rows
    )
    page = opened(trajectory(task("t0", "shop"), [turn(0, call("scroll", direction="down"))], state_check=check))
    text = page.locator("article").inner_text()
    assert "2 rows · 50% of what was asked for · the answer is wrong" in text
    assert "also changed row 3 of ticket" in text
    page.locator("summary", has_text="the rows").click()
    assert "~ status: 1 → 4" in page.locator("article").inner_text()
    assert page.evaluate("typeof window.pwned") == "undefined"
    assert page.asked == []


def test_a_row_that_was_added_without_a_column_is_shown(tmp_path):
    rows = [RowChange(table="session", key="9", before=None, after={})]  # `state.noise` has all of its columns
    check = StateCheck(reward=0, credit=0, changes=rows)
    write_page(trajectory(state_check=check), None, tmp_path / "page.html")
    assert "<pre>session 9</pre>" in (tmp_path / "page.html").read_text()
