"""What the agent is told about its calls, on real pages in a real Chromium. Viewport 800 × 600."""

import io
import socket

import pytest
from PIL import Image
from playwright.async_api import CDPSession
from playwright.async_api import Error as PlaywrightError

from components.browser import BlockedError, EnvInitError, check_call
from components.records import ToolCall

BUTTON = '<button style="position:absolute;left:360px;top:285px;width:80px;height:30px" onclick="{}">Go</button>'
FIELD = '<input style="position:absolute;left:300px;top:285px;width:200px;height:30px" aria-label=Search {}>'
HAS_FOCUS = "<input autofocus><script>document.onmousedown = (event) => event.preventDefault()</script>"


@pytest.fixture
def tell(pages, visit):
    """The feedback (and more, if asked) of calls on a body of HTML."""

    def of(body, *calls, path="/page"):
        async def steps(session, observation):
            return await session.step([check_call(name, arguments) for name, arguments in calls])

        return visit(pages.add(path, body), steps)

    return of


CLICK = ("click", {"x": 500, "y": 500})


def test_a_click_without_effect_names_its_target_and_says_so(tell):
    assert tell(BUTTON.format(""), CLICK).feedback == [
        'Succeed: `click` on <button> "Go" at (500, 500) executed. Note: no visible navigation or new tab detected.'
    ]


def test_a_click_that_navigates_says_where_to(tell, pages):
    url = pages.add("/next", "there")
    result = tell(BUTTON.format("location.href='/next'"), CLICK)
    assert result.feedback[0].endswith(f"executed. Page navigated to {url}.")
    assert result.observation.url == url


def test_a_click_that_opens_a_tab_makes_it_active(tell, pages):
    url = pages.add("/next", "there", title="next")
    result = tell('<a href="/next" target=_blank style="position:absolute;left:390px;top:290px">open it</a>', CLICK)
    assert result.feedback[0].endswith(f"New tab 1 opened ({url}) and is active.")
    assert [(tab.url, tab.active) for tab in result.observation.tabs][1] == (url, True)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (BUTTON.format("document.body.append('more')"), "The page changed."),
        (BUTTON.format("this.style.background='red'"), "The page changed."),
        (BUTTON.format("document.body.dataset.seen=1"), "Note: no visible navigation or new tab detected."),
        (BUTTON.format("document.head.append(document.createElement('meta'))"), "Note: no visible navigation"),
        ('<input style="position:absolute;left:390px;top:290px">', "The field is focused."),
        ('<input style="position:absolute;left:390px;top:290px" onclick="this.title=1">', "The field is focused."),
        ('<input readonly style="position:absolute;left:390px;top:290px">', "Note: no visible navigation"),
        (HAS_FOCUS + BUTTON.format("document.body.append('more')"), "The page changed."),
        (HAS_FOCUS + BUTTON.format(""), "Note: no visible navigation"),
        (HAS_FOCUS + BUTTON.format("document.querySelector('input').focus()"), "Note: no visible navigation"),
        ('<input>' + BUTTON.format("document.querySelector('input').focus()"), "The field is focused."),
        ('<input autofocus style="position:absolute;left:390px;top:290px">', "The field is focused."),
        ('<iframe srcdoc="<input style=height:150px>" style="position:absolute;left:390px;top:250px">',
         "The field is focused."),
    ],
)  # fmt: skip
def test_a_click_reports_its_effect_on_the_page(tell, body, said):
    (line,) = tell(body, CLICK).feedback
    assert line.split("executed. ")[1].startswith(said)


def test_menus_under_the_cursor_and_effects_of_keys_are_reported(tell):
    body = (
        BUTTON.format("")
        + "<script>document.querySelector('button').onmouseenter = () => document.body.append('menu')</script>"
    )
    body += "<script>document.onkeydown = () => document.body.append('key')</script>"
    lines = tell(
        body, ("hover", {"x": 500, "y": 500}), ("press_keys", {"keys": ["a"]}), ("hover", {"x": 1, "y": 1})
    ).feedback
    assert [line.endswith("The page changed.") for line in lines] == [True, True, False]


def test_a_click_on_a_checkbox_or_its_label_says_the_state(tell):
    body = '<label style="position:absolute;left:390px;top:290px"><input type=checkbox>news</label>'
    result = tell(body, CLICK, CLICK)
    assert [line.split("executed. ")[1] for line in result.feedback] == ["Checked.", "Unchecked."]


def test_a_double_and_a_right_click_reach_the_page(tell):
    body = (
        BUTTON.format("")
        + "<script>for (const e of ['dblclick','contextmenu']) addEventListener(e, () => document.title += e)</script>"
    )
    double = ("click", {"x": 500, "y": 500, "click_type": "double"})
    right = ("click", {"x": 500, "y": 500, "button": "right"})
    assert tell(body, double, right).observation.tabs[0].title == "a pagedblclickcontextmenu"


def test_coordinates_outside_are_clamped_with_a_note(tell):
    line = tell("", ("click", {"x": 1200, "y": -5})).feedback[0]
    assert "at (1000, 0) executed. Note: the coordinates were outside 0-1000 and were clamped." in line


def test_writing_replaces_what_the_field_held(tell):
    result = tell(FIELD.format("value=old"), CLICK, ("write", {"text": "Alpine Ridge"}))
    assert result.feedback[1] == 'Succeed: `write` typed "Alpine Ridge" into <input> "Search".'
    assert 'value "Alpine Ridge" focused' in result.observation.text


def test_a_field_that_changes_what_was_typed_is_reported(tell):
    line = tell(FIELD.format("maxlength=3"), CLICK, ("write", {"text": "abcdef"})).feedback[1]
    assert line.endswith('Note: the field\'s actual value is "abc", which differs from the typed text.')


def test_writing_with_nothing_focused_fails(tell):
    assert tell(FIELD.format(""), ("write", {"text": "x"})).feedback == [
        "Failed: `write` execution failed: no field has the focus; click a field first."
    ]


def test_writing_into_a_button_fails(tell):
    assert "which takes no text" in tell(BUTTON.format(""), CLICK, ("write", {"text": "x"})).feedback[1]


def test_a_date_field_takes_an_iso_date(tell):
    line = tell(FIELD.format("type=date"), CLICK, ("write", {"text": "2024-02-03"})).feedback[1]
    assert line == 'Succeed: `write` typed "2024-02-03" into <input> "Search".'


def test_enter_submits_a_form_and_the_navigation_is_reported(tell, pages):
    url = pages.add("/found?q=x", "there")
    body = f'<form action="/found">{FIELD.format("name=q")}</form>'
    result = tell(body, CLICK, ("write", {"text": "x"}), ("press_keys", {"keys": ["return"]}))
    assert result.feedback[2] == f"Succeed: `press_keys` ['Enter'] executed. Page navigated to {url}."


def test_an_unknown_key_fails(tell):
    assert (
        tell("", ("press_keys", {"keys": ["nokey"]})).feedback[0].startswith("Failed: `press_keys` execution failed: ")
    )


def test_scrolling_says_when_it_is_at_the_boundary(tell):
    down, up = ("scroll", {"direction": "down", "amount": 1}), ("scroll", {"direction": "up", "amount": 2})
    lines = tell("<div style='height:900px'></div>", down, down, up).feedback
    assert lines[0] == "Succeed: `scroll` down by 100% executed."
    assert lines[1].endswith("Note: page scroll position did not change and may be at a boundary.")
    assert lines[2] == "Succeed: `scroll` up by 200% executed."


def test_scrolling_at_a_point_scrolls_the_element_there(pages, visit):
    body = "<div id=d style='height:200px;overflow:auto'><div style='height:900px'></div></div>"

    async def scroll(session, observation):
        await session.step([check_call("scroll", {"direction": "down", "amount": 0.1, "x": 500, "y": 100})])
        return await session.page.evaluate("d.scrollTop")

    assert visit(pages.add("/page", body), scroll) == 20, "a tenth of the element"


def test_goto_url_says_where_it_went_or_the_browsers_reason(tell, pages):
    url = pages.add("/next", "there")
    lines = tell("", ("goto_url", {"url": url}), ("goto_url", {"url": "http://127.0.0.1:1/"})).feedback
    assert lines[0] == f"Succeed: `goto_url` executed. Page navigated to {url}."
    assert lines[1].startswith("Failed: `goto_url` execution failed: Page.goto: net::ERR_")


def test_local_files_cannot_be_opened(tell):
    assert "only http and https" in tell("", ("goto_url", {"url": "file:///etc/passwd"})).feedback[0]


def test_going_back_needs_a_previous_page(tell, pages):
    url = pages.add("/next", "there")
    lines = tell("", ("goto_url", {"url": url}), ("go_back", {})).feedback
    assert lines[1] == f"Succeed: `go_back` executed. Page navigated to {pages.origin}/page."


def test_going_back_from_the_start_page_fails(tell):
    assert tell("", ("go_back", {})).feedback == ["Failed: `go_back` execution failed: there is no previous page."]


def test_going_back_waits_while_the_browser_swaps_renderers(tell, pages, monkeypatch):
    url, send, times = pages.add("/next", "there"), CDPSession.send, []

    async def refuse_the_history_once(self, method, params=None):
        if method == "Page.getNavigationHistory":
            times.append(method)
            if len(times) == 1:
                raise PlaywrightError("Protocol error (Page.getNavigationHistory): Not attached to an active page")
        return await send(self, method, params)

    monkeypatch.setattr(CDPSession, "send", refuse_the_history_once)
    lines = tell("", ("goto_url", {"url": url}), ("go_back", {})).feedback
    assert (lines[1], len(times)) == (f"Succeed: `go_back` executed. Page navigated to {pages.origin}/page.", 2)


def test_tabs_can_be_opened_switched_and_closed(tell, pages):
    calls = [
        ("new_tab", {}),
        ("switch_tab", {"index": 0}),
        ("switch_tab", {"index": 1}),
        ("close_tab", {}),
        ("close_tab", {}),
    ]
    result = tell("", *calls, ("switch_tab", {"index": 7}))
    assert result.feedback == [
        "Succeed: `new_tab` opened tab 1.",
        f"Succeed: `switch_tab` switched to tab 0 ({pages.origin}/page).",
        "Succeed: `switch_tab` switched to tab 1 (about:blank).",
        f"Succeed: `close_tab` closed tab 1. Tab 0 ({pages.origin}/page) is active.",
        "Failed: `close_tab` execution failed: the last tab cannot be closed.",
        "Failed: `switch_tab` execution failed: there is no tab 7; tabs are 0 to 0.",
    ]


def test_a_drag_moves_what_it_holds(tell):
    body = (
        "<script>let s='';addEventListener('mousedown',()=>s+='d');addEventListener('mousemove',()=>s+='m');"
        "addEventListener('mouseup',()=>document.title=s+'u')</script>"
    )
    result = tell(body, ("drag", {"x1": 100, "y1": 100, "x2": 500, "y2": 500}))
    assert result.feedback == ["Succeed: `drag` from (100, 100) to (500, 500) executed."]
    assert "dm" in result.observation.tabs[0].title
    assert result.observation.tabs[0].title.endswith("mu")


def test_done_counts_at_any_position_and_bad_calls_do_not_affect_others(pages, visit):
    async def steps(session, observation):
        return await session.step(
            [
                ToolCall(name="done", arguments={"answer": "42"}),
                ToolCall(name="click", error="not JSON"),
                ToolCall(name="fly"),
                ToolCall(name="hover", arguments={"x": 500, "y": 500}),
            ]
        )

    result = visit(pages.add("/page", BUTTON.format("")), steps)
    assert (result.done, result.answer) == (True, "42")
    assert [line.split(":")[0] for line in result.feedback] == ["Succeed", "Failed", "Failed", "Succeed"]
    assert result.feedback[1] == "Failed: `click` execution failed: not JSON."
    assert result.feedback[3] == 'Succeed: `hover` on <button> "Go" at (500, 500) executed.'


def test_the_screenshot_shows_the_page_after_the_calls(tell):
    result = tell(BUTTON.format("document.body.style.background='rgb(1,200,3)'"), CLICK)
    image = Image.open(io.BytesIO(result.observation.screenshot.data)).convert("RGB")
    assert (image.size, image.getpixel((5, 5))) == ((800, 600), (1, 200, 3))


def test_a_page_that_is_still_moving_is_waited_for(tell):
    body = (
        BUTTON.format(
            "let n=0;const f=()=>{document.title='n'+ ++n;b.style.left=n+'px';if(n<12)requestAnimationFrame(f)};f()"
        )
        + "<b id=b>x</b>"
    )
    assert tell(body, CLICK).observation.tabs[0].title == "n12"


def test_an_unreachable_start_page_is_an_init_error_after_its_retries(visit):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(
        EnvInitError, match=r"could not be opened in 2 attempts: the server cannot be reached: .*Connect call failed"
    ):
        visit(f"http://127.0.0.1:{port}/", None)


@pytest.mark.parametrize(
    ("status", "title", "body"), [(403, "x", "no"), (429, "x", "no"), (200, "Access denied", "no")]
)
def test_a_block_page_is_recognised(pages, visit, status, title, body):
    with pytest.raises(BlockedError, match="block page"):
        visit(pages.add("/blocked", body, status, title), None)


def test_a_start_page_under_maintenance_is_unavailable_not_a_block(pages, visit):
    with pytest.raises(EnvInitError, match="status 503") as error:
        visit(pages.add("/maintenance", "back soon", 503, "Maintenance"), None)
    assert not isinstance(error.value, BlockedError)


def test_cookies_and_storage_do_not_reach_the_next_episode(pages, visit):
    url = pages.add(
        "/store",
        "<script>document.title=document.cookie+(localStorage.a||'clean');document.cookie='a=1';localStorage.a='dirty'</script>",
    )

    async def look(session, observation):
        return observation.tabs[0].title

    assert [visit(url, look), visit(url, look)] == ["clean", "clean"]


def test_a_later_challenge_ends_the_episode_and_a_denial_does_not(pages, visit):
    pages.add("/challenge", "prove it", 403, title="Verify you are human")
    denied = pages.add("/denied", "members only", 403, title="Access denied")

    async def body(session, _):
        result = await session.step([check_call("goto_url", {"url": denied})])
        with pytest.raises(BlockedError, match="asks whether the visitor is human"):
            await session.step([check_call("goto_url", {"url": pages.origin + "/challenge"})])
        return result.observation.url

    assert visit(pages.add("/start", "go"), body) == denied


@pytest.mark.parametrize(
    "script, said",
    [
        ("alert('Saved  it')", 'A dialog (alert) said "Saved it" and was confirmed.'),
        ("document.title = confirm('Sure?')", 'A dialog (confirm) said "Sure?" and was confirmed.'),
        ("document.title = prompt('Name?', 'Ada')", 'A dialog (prompt) said "Name?" and was answered "Ada".'),
    ],
)
def test_a_dialog_is_confirmed_and_reported(tell, script, said):
    result = tell(BUTTON.format(script), CLICK)
    assert result.feedback == [f'Succeed: `click` on <button> "Go" at (500, 500) executed. {said}']
    assert result.observation.tabs[0].title in ("a page", "true", "Ada")


def test_endless_dialogs_are_reported_three_times_and_end_with_the_step(tell):
    result = tell(BUTTON.format("for (let i = 0; i < 30; i++) alert(i)"), CLICK, ("hover", {"x": 1, "y": 1}))
    assert result.feedback[0].count("A dialog (alert)") == 3
    assert "dialog" not in result.feedback[1]


WARNED = "The page warned that changes may be lost; it was left."
STAYS = "<script>onbeforeunload = event => event.preventDefault()</script>"


def test_a_page_cannot_refuse_to_be_left_and_its_warning_is_said(tell, pages):
    url = pages.add("/next", "there")
    result = tell(BUTTON.format("") + STAYS, CLICK, ("goto_url", {"url": url}))
    assert result.feedback[1] == f"Succeed: `goto_url` executed. Page navigated to {url}. {WARNED}"
    leaves = BUTTON.format("for (let i = 0; i < 6; i++) alert(i); location.href = '/next'")
    assert f"{WARNED} Page navigated to {url}." in tell(leaves + STAYS, CLICK).feedback[0]


def test_a_flood_of_dialogs_hides_no_download(tell):
    place, flood = "position:absolute;left:390px;top:290px", "for (let i = 0; i < 6; i++) alert(i)"
    body = f'<a style="{place}" onclick="{flood}" download="all.csv" href="data:text/csv,1,2">get it</a>'
    said = tell(body, CLICK).feedback[0]
    assert said.count("A dialog (alert)") == 3
    assert 'A download of "all.csv" was blocked.' in said


def test_a_download_is_blocked_and_reported(tell):
    place = "position:absolute;left:390px;top:290px"
    result = tell(f'<a style="{place}" download="all.csv" href="data:text/csv,1,2">get it</a>', CLICK)
    assert result.feedback[0].endswith('executed. A download of "all.csv" was blocked.')


@pytest.mark.parametrize("name", ["all.csv", "report.pdf"])
def test_a_failed_call_says_what_it_did_and_the_next_call_does_not(tell, pages, name):
    url = pages.add(f"/{name}", "1,2", **{"Content-Disposition": f"attachment; filename={name}"})
    result = tell("tall", ("goto_url", {"url": url}), ("scroll", {"direction": "down", "amount": 1}))
    assert result.feedback[0].startswith("Failed: `goto_url` execution failed: ")
    assert result.feedback[0].endswith(f'. A download of "{name}" was blocked.')
    assert "download" not in result.feedback[1]


def test_a_choice_that_fails_says_what_happened_meanwhile(tell):
    body = "<select autofocus><option>S</select><script>setInterval(() => alert('late'), 100)</script>"
    (line,) = tell(body, ("write", {"text": "XL"})).feedback
    assert line.startswith("Failed: `write` execution failed: <select> has no option")
    assert 'A dialog (alert) said "late" and was confirmed.' in line


def test_a_request_for_a_file_is_reported(tell):
    place = "position:absolute;left:300px;top:285px;width:200px;height:30px"
    result = tell(f'<input type=file style="{place}">', CLICK)
    assert result.feedback[0].endswith("The page asked for a file; there are none to choose.")


def test_dialogs_between_two_calls_are_reported_with_the_next(tell):
    body = BUTTON.format("setTimeout(() => alert('late'), 400)")
    result = tell(body, CLICK, ("wait", {"seconds": 1}))
    assert "late" in " ".join(result.feedback)


def test_the_fast_screenshot_has_the_pixels_of_playwrights(pages, visit):
    body = "<h1 style='font-family:serif'>Lamps</h1><p style='opacity:.5;rotate:3deg'>and <a href=#>more</a></p>"
    body += "<div style='background:linear-gradient(red,blue);height:200px'></div>"

    async def both(session, observation):
        return observation.screenshot.data, await session.page.screenshot()

    ours, theirs = (Image.open(io.BytesIO(data)).convert("RGB") for data in visit(pages.add("/pixels", body), both))
    assert ours.size == theirs.size == (800, 600)
    assert ours.tobytes() == theirs.tobytes()
