"""Frames with a renderer of their own: their windows, file choosers, focus and forms are handled as the page's own."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Iterator

import pytest
from playwright.async_api import Error as PlaywrightError

from components.browser import BrowserPool
from components.browser.focused_frame import ask_frame, focused_element
from components.browser.opaque import with_focus
from components.browser.page_state import Focused, PageState, Refusal
from components.browser.tools import ALL_TOOLS, check_call
from tests.loopback import Handler, Loopback

from .conftest import PARAMS, task

AT = "position:absolute;left:360px;top:285px;width:80px;height:30px"
FULL = "position:absolute;left:0;top:0;width:800px;height:600px;border:0"
CLICK = ("click", {"x": 500, "y": 500})
ENTER = ("press_keys", {"keys": ["Enter"]})
FIELD = f"<input aria-label=Mail style='{AT}'>"
_COUNT = itertools.count()


def write(text):
    """A call of `write`."""
    return ("write", {"text": text})


@pytest.fixture
def framed(pages):
    """`framed(inner, around, attributes)`: the URL of a page with a frame of another site that fills the viewport and
    shows `inner`; `around` is what else the page has."""

    def url(inner, around="", attributes=""):
        number = next(_COUNT)
        frame = pages.add(f"/separate-inner{number}", inner).replace("127.0.0.1", "localhost")
        return pages.add(f"/separate{number}", f'<iframe style="{FULL}" src="{frame}" {attributes}></iframe>{around}')

    return url


@pytest.fixture
def episode(separate_renderers):
    """`episode(url, steps, text, **params)` runs `await steps(session)` on a page."""

    def run(url, steps, text="elements", **params):
        async def play():
            async with BrowserPool(PARAMS.model_copy(update=params), text=text) as pool, pool.session() as session:
                await session.start(task(url))
                await session.page.wait_for_load_state("load")
                return await steps(session)

        return asyncio.run(play())

    return run


def calls(*sequence):
    """Steps: the feedback of some calls, one per turn, and the last observation."""

    async def steps(session):
        lines = []
        for name, arguments in sequence:
            result = await session.step([check_call(name, arguments, ALL_TOOLS)])
            lines.append(result.feedback[0])
        return lines, result.observation

    return steps


# ---- windows


@pytest.fixture
def slow() -> Iterator[Loopback]:
    """A server that takes a while to answer, so that its document arrives after the call that opens it is over."""
    closing = threading.Event()

    class Serving(Handler):
        def do_GET(self) -> None:
            closing.wait(0.8)
            self.send_body(b"<title>a window</title>there", "text/html")

    server = Loopback(Serving)
    yield server
    closing.set()
    server.close()


WINDOWS = {
    "script": "<button style='{at}' onclick='window.open(`{url}`)'>Go</button>",
    "script that keeps no window": "<button style='{at}' onclick='window.open(`{url}`, ``, `noopener`)'>Go</button>",
    "link": "<a style='{at}' href='{url}' target=_blank>Go</a>",
}


@pytest.mark.parametrize("kind", WINDOWS)
def test_a_window_that_a_frame_opens_is_awaited_and_shown(framed, episode, slow, kind):
    inner = WINDOWS[kind].format(at=AT, url=f"{slow.origin}/window")
    (line,), seen = episode(framed(inner), calls(CLICK))
    assert line.endswith(f"New tab 1 opened ({slow.origin}/window) and is active.")
    assert [(tab.title, tab.active) for tab in seen.tabs] == [("a page", False), ("a window", True)]


# ---- file choosers


CHOOSERS = {
    "input": f"<input type=file id=field style='{AT}'>",
    "button": f"<input type=file id=field hidden><button style='{AT}' onclick='field.click()'>Go</button>",
    "several": f"<input type=file multiple id=field style='{AT}'>",
}


@pytest.fixture
def folder(tmp_path):
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(f"content of {name}")
    return str(tmp_path)


@pytest.mark.parametrize("kind", CHOOSERS)
def test_a_chooser_that_a_frame_opens_is_answered(framed, episode, folder, kind):
    names = ["a.txt", "b.txt"] if kind == "several" else ["a.txt"]

    async def steps(session):
        lines, _ = await calls(CLICK, write("\n".join(names)))(session)
        chosen = "Promise.all([...field.files].map(async (file) => file.name + '=' + await file.text()))"
        return lines, await session.page.frames[1].evaluate(chosen)

    lines, files = episode(framed(CHOOSERS[kind]), steps, uploads=folder)
    assert lines[0].endswith('The files are "a.txt", "b.txt".')
    assert lines[1].startswith('Succeed: `write` chose "a.txt"')
    assert files == [f"{name}=content of {name}" for name in names]


DETACHED = """
let field = document.createElement(`input`);
Object.assign(field, { type: `file`, onchange: ({ target }) => { document.body.append(target.files[0].name); } });
field.click(); field = null"""


def test_an_input_in_no_document_of_a_frame_is_held_until_write(framed, episode, folder):
    async def steps(session):
        await calls(CLICK)(session)
        for cdp in await session.tabs.active.frame_sessions():
            await cdp.send("HeapProfiler.collectGarbage")
        await calls(write("a.txt"))(session)
        return await session.page.frames[1].evaluate("document.body.innerText")

    inner = f"<button style='{AT}' onclick='{DETACHED}'>Go</button>"
    assert "a.txt" in episode(framed(inner), steps, uploads=folder)


def test_a_frame_gets_no_files_where_there_are_none(framed, episode):
    (line,), _ = episode(framed(CHOOSERS["input"]), calls(CLICK))
    assert line.endswith("The page asked for a file; there are none to choose.")


def test_a_chooser_of_a_frame_that_has_left_fails_with_a_sentence(framed, episode, folder):
    async def steps(session):
        await calls(CLICK)(session)
        await session.page.evaluate("document.querySelector('iframe').remove()")
        return await calls(write("a.txt"))(session)

    (line,), _ = episode(framed(CHOOSERS["input"]), steps, uploads=folder)
    assert line == (
        "Failed: `write` execution failed: the input that asked for a file is gone; click again what asks for it."
    )


def test_a_frame_that_shows_another_document_is_still_followed(pages, framed, episode, folder):
    """Of its site, of the page's site and of its own again, with one session at a time."""
    url = framed(CHOOSERS["input"])
    next_one, other = (pages.add(f"/separate-{name}", CHOOSERS["input"]) for name in ("next", "other"))
    foreign = next_one.replace("127.0.0.1", "localhost")

    async def steps(session):
        lines = (await calls(CLICK)(session))[0]
        sessions = [len(await session.tabs.active.frame_sessions())]
        for address in (foreign, other, foreign):
            async with session.page.expect_event("framenavigated"):
                await session.page.evaluate(f"document.querySelector('iframe').src = '{address}'")
            await session.page.frames[1].wait_for_load_state("load")
            lines += (await calls(CLICK)(session))[0]
            sessions.append(len(await session.tabs.active.frame_sessions()))
        return lines, sessions

    lines, sessions = episode(url, steps, uploads=folder)
    assert [line.count("The page asks for a file") for line in lines] == [1, 1, 1, 1]
    assert sessions == [2, 2, 1, 2]


# ---- focus

KINDS = {"site": "", "sandbox": "sandbox='allow-scripts allow-forms'"}
"""A frame with a renderer of its own, and one whose document cannot be read either."""


@pytest.mark.every(3)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("inner", "said"),
    [
        (FIELD, "The field is focused."),
        (f"<textarea style='{AT}'></textarea>", "The field is focused."),
        (f"<input type=checkbox style='{AT}'>", "Checked."),
        (f"<label style='{AT};background:red'>Mail<input type=checkbox checked></label>", "Unchecked."),
    ],
    ids=["field", "text", "checkbox", "label"],
)
def test_a_click_in_a_frame_says_the_state_of_the_field(framed, episode, kind, inner, said):
    (line,), _ = episode(framed(inner, attributes=KINDS[kind]), calls(CLICK))
    assert line.endswith(f"executed. {said}")


def test_a_second_click_on_a_field_of_a_frame_says_the_focus_too(framed, episode):
    lines, _ = episode(framed(FIELD), calls(CLICK, CLICK))
    assert [line.endswith("The field is focused.") for line in lines] == [True, True]


@pytest.mark.parametrize("text", ["elements", "axtree", "html"])
def test_the_focused_field_of_a_frame_is_observed_and_written(framed, episode, text):
    lines, seen = episode(framed(FIELD), calls(CLICK, write("ada")), text=text)
    (shown,) = (line for line in seen.text.splitlines() if "Mail" in line)
    assert "focused" in shown
    assert "ada" in shown
    assert 'typed "ada" into <input> "Mail"' in lines[1]


def test_a_field_of_a_frame_that_passes_the_focus_on_is_not_said_focused(framed, episode):
    inner = f"<input aria-label=Mail onclick='parent.postMessage(1, `*`)' style='{AT}'>"
    around = "<button id=out style='position:absolute'>Out</button><script>onmessage = () => out.focus()</script>"
    (line,), seen = episode(framed(inner, around), calls(CLICK))
    assert "focused" not in line
    assert '"Mail" focused' not in seen.text


def test_what_a_frame_without_the_focus_tells_of_it_does_not_count():
    page = PageState(url="http://shop.test")
    frame = PageState(url="http://pay.test", field=True, refusal=Refusal(tag="input", message="Fill it"))
    joined = with_focus(page, [frame])
    assert (joined.field, joined.refusal) == (False, None)
    joined = with_focus(page, [frame.model_copy(update={"has_focus": True})])
    assert (joined.field, joined.refusal) == (True, frame.refusal)


def test_a_question_to_a_frame_that_left_says_so_and_the_episode_goes_on(framed, episode):
    async def steps(session):
        await session.step([check_call("click", CLICK[1], ALL_TOOLS)])
        world, focus = await focused_element(session.tabs.active, "focus")
        await session.page.evaluate("document.querySelector('iframe').remove()")
        with pytest.raises(PlaywrightError, match=r"^the frame with the focus has left the page$"):
            await ask_frame(session.tabs.active, world, Focused, op="written")
        return focus, (await session.step([check_call("scroll", {"direction": "down"}, ALL_TOOLS)])).feedback

    focus, lines = episode(framed(FIELD), steps)
    assert focus.tag == "input"
    assert lines[0].startswith("Succeed:")


# ---- forms

NOT_SENT = 'The form was not sent: "Mail": Please fill out this field.'
FORM = f"""<form onsubmit='event.preventDefault()'><input required aria-label=Mail>
<button style='{AT}'>Send</button></form>"""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sequence", [(CLICK,), (("click", {"x": 50, "y": 20}), ENTER)], ids=["click", "Enter"])
def test_an_invalid_form_of_a_frame_is_said_not_to_be_sent(framed, episode, kind, sequence):
    lines, _ = episode(framed(FORM, attributes=KINDS[kind]), calls(*sequence))
    assert lines[-1].endswith(f"executed. {NOT_SENT}")


def test_a_refused_form_of_a_frame_is_not_said_again_after_the_focus_left(framed, episode):
    around = "<button style='position:absolute;left:600px;top:0;width:100px;height:40px'>Out</button>"
    lines, _ = episode(framed(FORM, around), calls(CLICK, ("click", {"x": 800, "y": 30})))
    assert lines[0].endswith(NOT_SENT)
    assert "not sent" not in lines[1]


# ---- the clipboard

COPY = f"<button style='{AT}' onclick='navigator.clipboard.writeText(\"ada\")'>Copy</button>"


def test_what_a_button_of_a_frame_copies_can_be_pasted_in_the_page(framed, episode):
    """Chromium's own clipboard is that of all episodes, and nothing is pasted from it."""
    field = "<input aria-label=Mail style='position:absolute;left:100px;top:500px;z-index:1'>"
    click = ("click", {"x": 160, "y": 850})
    paste = ("press_keys", {"keys": ["Control+V"]})
    _, observation = episode(framed(COPY, around=field), calls(CLICK, click, paste))
    assert "ada" in observation.text


# ---- several episodes


def test_frames_of_two_episodes_at_once_have_a_focus_each(framed, separate_renderers):
    url = framed(FIELD)

    async def play(pool):
        async with pool.session() as session:
            await session.start(task(url))
            await session.page.wait_for_load_state("load")
            return (await calls(CLICK, CLICK, write("ada"))(session))[0]

    async def both():
        async with BrowserPool(PARAMS, text="elements") as pool:
            return await asyncio.gather(play(pool), play(pool))

    for lines in asyncio.run(both()):
        assert [line.endswith("The field is focused.") for line in lines] == [True, True, False]
        assert 'typed "ada"' in lines[2]
