"""What a call makes a frame of another site do is awaited as in the page itself."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from components.browser import check_call
from components.browser.feedback import CHANGED
from tests.browser.conftest import PARAMS, separate
from tests.loopback import Handler, Loopback

FULL = "position:absolute;left:0;top:0;width:800px;height:600px;border:0"
BUTTON = '<button style="position:absolute;left:360px;top:285px;width:80px;height:30px" onclick="{}">Go</button>'
STYLE = "<style>p{width:90px;height:20px}.spinner{animation:a 1s infinite}@keyframes a{to{opacity:0}}</style>"
DONE = "main.innerHTML='<a href=#>done</a>'"
LATER = f"setTimeout(()=>{DONE},{{}})"
REACTIONS = {
    "timer": LATER.format(310),
    "skeleton": "main.innerHTML='<p class=Skeleton_x></p>';" + LATER.format(700),
    "busy": "main.innerHTML='<p aria-busy=true>wait</p>';" + LATER.format(700),
    "spinner": "main.innerHTML='<p class=spinner>wait</p>';" + LATER.format(700),
    "answer": f"fetch('/slow').then(()=>{DONE})",
    "answer, then a timer": f"fetch('/slow').then(()=>{LATER.format(150)})",
    "navigation": "location.href='/slow'",
    "a frame in it": "main.innerHTML='<iframe src=/slow></iframe>'",
}


@pytest.fixture(scope="module")
def site() -> Iterator[Loopback]:
    """Serves `/slow` after 600 ms, and at other paths a page with the button of a reaction."""
    closing = threading.Event()

    class Serving(Handler):
        def do_GET(self) -> None:
            if self.path == "/slow":
                closing.wait(0.6)
                self.send_body(b"<!DOCTYPE html><a href=#>done</a>", "text/html")
                return
            reaction = BUTTON.format(REACTIONS[server.reaction])
            self.send_body(f"<!DOCTYPE html>{STYLE}<div id=main></div>{reaction}".encode(), "text/html")

    server = Loopback(Serving)
    yield server
    closing.set()
    server.close()


@pytest.fixture(scope="module", params=["in the page's renderer", "in a renderer of its own"])
def renderer(request) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        if "own" in request.param:
            separate(patch)
        yield


@pytest.fixture(scope="module")
def visit_params(renderer):
    return PARAMS


@pytest.mark.every(3)
@pytest.mark.parametrize("reaction", REACTIONS)
def test_a_late_reaction_in_a_frame_is_awaited(pages, visit, site, reaction):
    site.reaction = reaction
    inner = f"{site.origin.replace('127.0.0.1', 'localhost')}/inner"
    url = pages.add("/frame", f"<iframe style='{FULL}' src='{inner}'></iframe>")

    async def click(session, _):
        await session.page.wait_for_load_state("load")
        result = await session.step([check_call("click", {"x": 500, "y": 500})])
        return result.feedback[0].partition("executed. ")[2], result.observation.text

    feedback, text = visit(url, click)
    assert feedback == CHANGED
    assert 'link "done"' in text
