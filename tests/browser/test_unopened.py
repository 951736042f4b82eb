"""A page that a click, a form or a script wanted to open and that could not be opened is said, once."""

from __future__ import annotations

import asyncio

import pytest

from components.browser import BrowserPool
from components.params import EgressParams
from components.ports import free_port
from components.records import ToolCall
from tests.browser.conftest import PARAMS, Pages, task

CLICK = ToolCall(name="click", arguments={"x": 200, "y": 200})
AREA = "style='position:absolute;left:0;top:0;width:400px;height:300px'"
UNREACHABLE = "the server cannot be reached"
DEAD = f"http://127.0.0.1:{free_port()}/"
ELSEWHERE = "http://elsewhere.test/"
NOT_ALLOWED = "the egress guard refused it: elsewhere.test is not on the list of allowed hosts"


def feedback(pages: Pages, body: str, *calls: ToolCall, guard: bool = True) -> list[str]:
    egress = EgressParams(allowed_hosts=["shop.test"], private_hosts=["127.0.0.1"], guard=True)
    params = PARAMS.model_copy(update={"egress": egress if guard else EgressParams(guard=False)})

    async def main() -> list[str]:
        async with BrowserPool(params) as pool, pool.session() as session:
            await session.start(task(pages.add("/start", body)))
            return [line for call in calls for line in (await session.step([call])).feedback]

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("body", "url", "reason"),
    [
        (f"<a href='{ELSEWHERE}' {AREA}>away</a>", ELSEWHERE, NOT_ALLOWED),
        (f"<form action='{ELSEWHERE}'><button {AREA}>Send</button></form>", f"{ELSEWHERE}?", NOT_ALLOWED),
        (f"<button {AREA} onclick=\"location='{DEAD}'\">Go</button>", DEAD, UNREACHABLE),
        (
            f"<a href='https://elsewhere.test/' {AREA}>away</a>",
            "https://elsewhere.test/",
            "net::ERR_TUNNEL_CONNECTION_",
        ),
    ],
    ids=["link", "form", "script", "https"],
)
def test_the_feedback_on_a_click_has_the_reason(pages, body, url, reason):
    (line,) = feedback(pages, body, CLICK)
    assert line.startswith("Succeed: `click`")
    assert f"{url} could not be opened: {reason}" in line
    assert line.count("could not be opened") == 1


def test_without_a_guard_chromiums_reason_is_said(pages):
    (line,) = feedback(pages, f"<a href='{DEAD}' {AREA}>away</a>", CLICK, guard=False)
    assert f"{DEAD} could not be opened: net::ERR_CONNECTION_REFUSED" in line


@pytest.mark.parametrize("url", [ELSEWHERE, "https://elsewhere.test/"])
def test_goto_url_says_it_once(pages, url):
    pages.add("/next", "there")
    lines = feedback(
        pages, f"<a href='/next' {AREA}>next</a>", ToolCall(name="goto_url", arguments={"url": url}),
        ToolCall(name="goto_url", arguments={"url": f"{pages.origin}/next"}),
    )  # fmt: skip
    assert lines[0].startswith("Failed: `goto_url`")
    assert [line.count("could not be opened") for line in lines] == [0, 0]


def test_frames_pictures_and_downloads_are_no_pages(pages):
    body = f"<iframe src='{ELSEWHERE}'></iframe><img src='{ELSEWHERE}x.png'><a href='/file' download {AREA}>save</a>"
    pages.add("/file", "text")
    (line,) = feedback(pages, body, CLICK)
    assert "could not be opened" not in line
