"""A server that answers after the longest wait: the page is said to be loading, and no effect is denied."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from components.browser import BrowserPool
from components.browser.feedback import NO_EFFECT
from components.browser.tools import ALL_TOOLS, check_call
from tests.browser.conftest import PARAMS, task
from tests.loopback import Handler, Loopback

pytestmark = pytest.mark.slow

BUTTON = '<button id=go style="position:absolute;left:360px;top:285px;width:80px;height:30px" onclick="{}">Go</button>'
CLICK = ("click", {"x": 500, "y": 500})
ENTER = ("press_keys", {"keys": ["Enter"]})
LOADING = "The page is still loading: 1 request is unanswered."


class SlowSite(Loopback):
    """Serves `page` at every path but `/slow`, which is answered after 3 s, and the streams `/events` and `/poll`."""

    def __init__(self) -> None:
        self.page = ""
        self.closing = threading.Event()
        outer = self

        class Serving(Handler):
            def do_GET(self) -> None:
                path = self.path.partition("?")[0]
                if path == "/slow":
                    outer.closing.wait(3)
                if path == "/poll":
                    outer.closing.wait(2.3)
                if path == "/events":
                    self.send_body(b"data: 1\n\n", "text/event-stream", headers={"Content-Length": "99999"})
                    outer.closing.wait(20)
                    return
                self.send_body(outer.page.encode(), "text/html")

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.do_GET()

        super().__init__(Serving)

    def close(self) -> None:
        self.closing.set()
        super().close()


@pytest.fixture(scope="module")
def site() -> Iterator[SlowSite]:
    server = SlowSite()
    yield server
    server.close()


@pytest.fixture
def tell(site, visit):
    """The feedback of calls, one per turn; a number stands for so many seconds without a call."""

    def run(body, *calls):
        site.page = f"<!DOCTYPE html><title>a page</title><body style='margin:0'>{body}</body>"

        async def steps(session, _):
            lines = []
            for call in calls:
                if isinstance(call, float):
                    await asyncio.sleep(call)
                else:
                    lines += (await session.step([check_call(*call)])).feedback
            return lines

        return visit(f"{site.origin}/page", steps)

    return run


POST = "fetch('/slow',{method:'POST',body:'tent'}).then(()=>document.body.append('ordered'))"


@pytest.mark.parametrize(
    ("body", "call", "line"),
    [
        (BUTTON.format(POST), CLICK, f'`click` on <button> "Go" at (500, 500) executed. {LOADING}'),
        (BUTTON.format(POST) + "<script>go.focus()</script>", ENTER, f"`press_keys` ['Enter'] executed. {LOADING}"),
        (f'<input autofocus oninput="{POST}">', ("write", {"text": "a"}), f'`write` typed "a" into <input>. {LOADING}'),
        (BUTTON.format("go.textContent='Wait';" + POST), CLICK, f"executed. The page changed. {LOADING}"),
        (
            f"<input type=checkbox style='position:absolute;left:390px;top:290px' onclick=\"{POST}\">", CLICK,
            f"executed. Checked. {LOADING}",
        ),
        (
            BUTTON.format(f"{POST};fetch('/slow?2')"), CLICK,
            "executed. The page is still loading: 2 requests are unanswered.",
        ),
    ],
    ids=["click", "Enter", "write", "with a change", "with a state", "two requests"],
)  # fmt: skip
def test_an_answer_that_is_awaited_too_long_is_said(tell, body, call, line):
    (said,) = tell(body, call)
    assert said.endswith(line)


def test_an_option_whose_answer_is_awaited_too_long_is_said(site):
    site.page = f'<!DOCTYPE html><select aria-label=Size onchange="{POST}"><option>S<option>L</select>'

    async def episode():
        async with BrowserPool(PARAMS, text="axtree") as pool, pool.session() as session:
            tree = (await session.start(task(f"{site.origin}/page"))).text
            shown = next(line for line in tree.splitlines() if "combobox" in line).strip().split("]")[0].strip("[")
            call = check_call("select_option", {"element": shown, "option": "L"}, ALL_TOOLS)
            return (await session.step([call])).feedback[0]

    assert asyncio.run(episode()).endswith(LOADING)


def test_a_second_slow_answer_is_said_as_the_first_was(tell):
    lines = tell(BUTTON.format(POST), CLICK, 2.0, CLICK, 2.0, CLICK)
    assert [line.endswith(f"executed. {LOADING}") for line in lines] == [True] * 3


POLL = "(function poll(){fetch('/poll?'+Math.random()).then(poll)})()"


@pytest.mark.parametrize(
    ("script", "reaction"),
    [
        (POLL, ""),
        ("setInterval(()=>fetch('/slow'),300)", ""),
        ("new EventSource('/events')", ""),
        ("", "new EventSource('/events')"),
        ("", "fetch('/events').then(()=>0)"),
        ("", "navigator.sendBeacon('/slow','x')"),
    ],
    ids=["long poll", "poll", "stream", "stream of the call", "fetched stream", "beacon"],
)
def test_what_is_never_answered_does_not_load(tell, script, reaction):
    body = BUTTON.format(reaction) + f"<script>onload=()=>setTimeout(()=>{{{script}}},100)</script>"
    lines = tell(body, 1.0, *[call for _ in range(6) for call in (CLICK, 0.4)])
    assert [line.partition("executed. ")[2] for line in lines] == [NO_EFFECT] * 6


def test_an_address_of_another_program_does_not_load(tell):
    assert tell(BUTTON.format("location='mailto:a@b.c'"), CLICK)[0].endswith(NO_EFFECT)
