"""Pages that the harness serves request data, too: a call waits for the answers, unless the site says none come."""

from __future__ import annotations

import asyncio
import threading

import pytest

from components.browser import BrowserPool, check_call
from components.browser.feedback import NO_EFFECT
from components.params import BrowserParams
from components.records import Task
from components.worlds import LoopbackSite
from tests.loopback import Handler, Loopback

ORIGIN = "http://shop.test"
UPDATES = "p.textContent+='.';fetch('/slow').then(()=>document.title='updated')"
QUIETLY = "fetch('/slow').then(()=>document.title='updated')"
PAGE = '<title>cart</title><button style="position:absolute;left:0;top:0;width:200px;height:100px" onclick="{}">Update'


class Server(Loopback):
    """Answers `/slow` after 0.8 s, and shows the page elsewhere."""

    def __init__(self, script: str) -> None:
        self.closing = closing = threading.Event()

        class Serving(Handler):
            def do_GET(self) -> None:
                if self.path == "/slow":
                    closing.wait(0.8)
                self.send_body(f"<!DOCTYPE html>{PAGE.format(script)}</button><p id=p>".encode(), "text/html")

        super().__init__(Serving)

    def stop(self) -> None:
        """Stop serving."""
        self.closing.set()
        self.close()


class Shop(LoopbackSite[Server]):
    origins = (ORIGIN,)

    def __init__(self, script: str, awaits: bool) -> None:
        super().__init__()
        self._script, self.awaits_requests = script, awaits

    def serve(self) -> Server:
        return Server(self._script)


def updated(script: str, awaits: bool = True) -> tuple[str, str]:
    """The feedback of a click on the button, and the title that is observed after it."""

    async def episode() -> tuple[str, str]:
        params = BrowserParams(viewport=(400, 200), concurrency=1)
        task = Task(task_id="t", intent="update", start_url=f"{ORIGIN}/", website="shop", source="test")
        async with BrowserPool(params, Shop(script, awaits), text="elements") as pool, pool.session(task) as session:
            await session.start(task)
            step = await session.step([check_call("click", {"x": 100, "y": 200})])
            return step.feedback[0].partition("executed. ")[2], step.observation.tabs[0].title

    return asyncio.run(episode())


@pytest.mark.parametrize("script", [UPDATES, QUIETLY], ids=["after a change", "without a change"])
def test_what_a_click_requests_of_a_served_site_is_awaited(script):
    assert updated(script)[1] == "updated"


def test_a_site_that_says_that_its_pages_request_nothing_is_not_watched():
    assert updated(QUIETLY, awaits=False) == (NO_EFFECT, "cart")
