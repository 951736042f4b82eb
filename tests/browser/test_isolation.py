"""No episode sees another's cookies, storage, tabs or history: on live pages, and in a slot that our sites reuse."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from components.browser import BrowserPool, Session, check_call
from components.browser.egress import allows
from components.browser.pool import _egress_params
from components.params import BrowserParams, EgressParams
from components.records import Task
from components.worlds import LoopbackSite

from .conftest import LOOPBACK

PARAMS = BrowserParams(viewport=(300, 200), concurrency=1, settle_ms=800, quiet_ms=100, egress=LOOPBACK)
PAGE = """<button style="width:300px;height:200px" onclick="window.open('/other')">more</button><script>
(async () => {
  const found = {
    cookie: document.cookie.replace(/episode=\\d+/, ''), local: localStorage.length, session: sessionStorage.length,
    name: window.name, databases: (await indexedDB.databases()).length,
    history: Math.max(0, history.length - 2), // a fresh tab has been on about:blank
    caches: window.caches ? (await caches.keys()).length : 0,
  };
  document.title = JSON.stringify(Object.fromEntries(Object.entries(found).filter(([_, value]) => value)));
  document.cookie = 'a=1; max-age=9999';
  localStorage.a = sessionStorage.a = window.name = 'left';
  await new Promise((resolve) => { indexedDB.open('left').onsuccess = resolve; });
  if (window.caches) await caches.open('left');
  history.pushState({}, '', '#left');
  addEventListener('pagehide', () => { localStorage.late = 'left'; });
})();
</script>"""


class OurSite(LoopbackSite[Any]):
    """`PAGE` as a site of ours at `http://ours`."""

    origins = ("http://ours",)

    def __init__(self, port: int) -> None:
        super().__init__()
        self._port = port
        self.contexts: list[object] = []

    def serve(self) -> None:
        """The fixture serves the pages."""

    def addresses(self) -> dict[str, int]:
        return {"ours": self._port}

    def cookies(self, task: Task) -> dict[str, str]:
        return {"episode": "1"}

    async def ready(self, page) -> str | None:
        self.contexts.append(page.context)
        return None


class TwoOrigins(OurSite):
    """The same pages under two origins."""

    origins = ("http://ours", "http://other")

    def addresses(self) -> dict[str, int]:
        return {"ours": self._port, "other": self._port}


ROUTED = """<button style="width:300px;height:200px" onclick="location.hash = 'done'">go</button><script>
let routes = 1;
document.title = routes;
addEventListener('hashchange', () => { document.title = ++routes; });
</script>"""
"""An application that shows another page for each fragment of its address, and keeps its state meanwhile."""


def test_a_start_page_that_differs_in_its_fragment_is_loaded_anew(pages):
    url = pages.add("/jar", ROUTED)
    site = OurSite(int(url.split(":")[2].split("/")[0]))
    task = Task(task_id="t", intent="i", start_url="http://ours/jar#inbox", website="w", source="s")

    async def scenario() -> list[str]:
        titles = []
        async with BrowserPool(PARAMS, site=site) as pool:
            for _ in range(2):
                async with pool.session() as session:
                    titles.append((await session.start(task)).tabs[0].title)
                    clicked = await session.step([check_call("click", {"x": 500, "y": 500})])
                    titles.append(clicked.observation.tabs[0].title)
        return titles

    assert asyncio.run(scenario()) == ["1", "2", "1", "2"]


def test_a_window_that_a_page_opened_serves_no_later_episode(pages):
    """It has a size of its own."""
    opener = (
        "<button style='width:300px;height:200px' onclick=\"open('/other', 'o', 'width=200,height=100')\">go</button>"
    )
    url = pages.add("/opener", opener)
    pages.add("/other", "small")
    site = OurSite(int(url.split(":")[2].split("/")[0]))
    task = Task(task_id="t", intent="i", start_url="http://ours/opener", website="w", source="s")
    calls = [check_call("switch_tab", {"index": 0}), check_call("close_tab", {})]

    async def scenario() -> list[tuple[int, int]]:
        async with BrowserPool(PARAMS.model_copy(update={"concurrency": 1}), site=site) as pool:
            viewports = []
            for _ in range(2):
                async with pool.session() as session:
                    viewports.append((await session.start(task)).viewport)
                    await session.step([check_call("click", {"x": 100, "y": 100})])
                    viewports.append((await session.step(calls)).observation.viewport)
            return viewports

    large, small = PARAMS.viewport, (200, 100)
    assert asyncio.run(scenario()) == [large, small, large, small]


@pytest.mark.parametrize("end", ["http://nowhere/", "http://other/jar"])
def test_an_episode_that_ends_elsewhere_leaves_no_session_storage(pages, end):
    """The tab is the same, so Chromium keeps the session storage of its origins."""
    body = "<script>document.title = sessionStorage.a || 'nothing'; sessionStorage.a = 'left';</script>"
    url = pages.add("/jar", body)
    pages.add("/empty", "no script")
    site = TwoOrigins(int(url.split(":")[2].split("/")[0]))
    task = Task(task_id="t", intent="i", start_url="http://ours/jar", website="w", source="s")

    async def scenario() -> list[str]:
        titles = []
        async with BrowserPool(PARAMS, site=site) as pool:
            for _ in range(2):
                async with pool.session() as session:
                    titles.append((await session.start(task)).tabs[0].title)
                    await session.step([check_call("goto_url", {"url": "http://ours/jar"})])
                    assert await session.page.title() == "left"
                    await session.step([check_call("goto_url", {"url": end})])
        return titles

    assert asyncio.run(scenario()) == ["nothing", "nothing"]
    assert site.contexts[0] is site.contexts[1]


def test_a_dialog_that_cannot_be_settled_costs_the_context_and_no_episode(pages, monkeypatch):
    url = pages.add("/jar", "a page")
    site = OurSite(int(url.split(":")[2].split("/")[0]))
    task = Task(task_id="t", intent="i", start_url="http://ours/jar", website="w", source="s")

    async def fails(session: Session) -> None:
        raise ValueError("a probe's answer")

    async def scenario() -> str:
        async with BrowserPool(PARAMS.model_copy(update={"concurrency": 1}), site=site) as pool:
            async with pool.session() as session:
                await session.start(task)
                monkeypatch.setattr(Session, "settle_dialogs", fails)
            monkeypatch.undo()
            async with pool.session() as session:
                return (await session.start(task)).url

    assert asyncio.run(scenario()) == "http://ours/jar"
    assert site.contexts[-1] is not site.contexts[0]


def test_a_site_of_the_run_reaches_no_other_site_of_it():
    egress = EgressParams(allowed_hosts=["*"], private_hosts=["shop.test:8080"])
    rules = _egress_params(egress, OurSite(1))
    assert not allows(rules, "http://shop.test:8080/")
    assert allows(_egress_params(egress, None), "http://shop.test:8080/")


def test_a_host_beyond_ascii_is_compared_as_browsers_request_it():
    egress = EgressParams(allowed_hosts=["bücher.example"], blocked_hosts=["straße.de"])
    assert allows(egress, "https://bücher.example/roman")
    assert not allows(egress, "https://strasse.de/")
    every = EgressParams(blocked_hosts=["straße.de"])
    assert allows(every, "https://strasse.de/")
    assert not allows(every, "https://straße.de/")
    assert not allows(every, "https://b*ücher.example/")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["live", "ours"])
def test_an_episode_finds_nothing_of_the_one_before(pages, kind):
    url = pages.add("/jar", PAGE)
    pages.add("/other", "another tab")
    site = OurSite(int(url.split(":")[2].split("/")[0])) if kind == "ours" else None
    start = "http://ours/jar" if site else url

    async def episode(pool: BrowserPool) -> tuple[dict, dict, int]:
        """What the page found at first, what it finds after a reload (to show that it can), and the tabs in the end."""
        async with pool.session() as session:
            first = await session.start(Task(task_id="t", intent="i", start_url=start, website="w", source="s"))
            again = await session.step([check_call("goto_url", {"url": start.replace("/jar", "/other")}),
                                        check_call("goto_url", {"url": start})])  # fmt: skip
            opened = await session.step([check_call("click", {"x": 500, "y": 500})])
            titles = [json.loads(seen.tabs[0].title) for seen in (first, again.observation)]
            return titles[0], titles[1], len(opened.observation.tabs)

    async def scenario():
        async with BrowserPool(PARAMS, site=site) as pool:
            return [await episode(pool) for _ in range(3)]

    for fresh, dirty, tabs in asyncio.run(scenario()):
        assert fresh == {}
        assert {"cookie", "local", "session", "databases", "history"} <= set(dirty)
        assert tabs == 2
    if site:
        assert len(set(site.contexts)) == 1, "the slot was not reused, so that this shows nothing"
