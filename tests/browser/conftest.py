"""One Chromium and one web server for all tests of a module. Each test has its own context and tab."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from components.browser import BrowserPool, Session, pool
from components.params import BrowserParams, EgressParams
from components.records import Task
from tests.loopback import Handler, Loopback

LOOPBACK = EgressParams(private_hosts=["127.0.0.1", "localhost"])
PARAMS = BrowserParams(
    viewport=(800, 600),
    concurrency=2,
    start_timeout_s=20,
    step_timeout_s=20,
    navigation_retries=1,
    egress=LOOPBACK,
)


class Pages(Loopback):
    """A web server on loopback. `pages` maps a path to (status, html, headers); `hits` counts requests per path."""

    def __init__(self) -> None:
        self.pages: dict[str, tuple[int, str, dict[str, str]]] = {}
        self.hits: dict[str, int] = {}
        outer = self

        class Serving(Handler):
            def do_GET(self) -> None:
                outer.hits[self.path] = outer.hits.get(self.path, 0) + 1
                status, html, headers = outer.pages.get(self.path, (404, "no such page", {}))
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(html.encode())

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.do_GET()

        super().__init__(Serving)

    def add(self, path: str, body: str, status: int = 200, title: str = "a page", **headers: str) -> str:
        """Serve a page and return its URL."""
        html = f"<!DOCTYPE html><title>{title}</title><body style='margin:0'>{body}</body>"
        self.pages[path] = (status, html, headers)
        return self.origin + path


def task(url: str) -> Task:
    """Make a task that starts at a URL."""
    return Task(task_id="t", intent="look", start_url=url, website="test", source="test")


@pytest.fixture(scope="module")
def pages() -> Iterator[Pages]:
    server = Pages()
    yield server
    server.close()


@pytest.fixture(scope="module")
def visit_params() -> BrowserParams:
    """The parameters of `visit`; a folder of tests may override them."""
    return PARAMS


@pytest.fixture(scope="module")
def visit(visit_params: BrowserParams) -> Iterator[Callable[[str, Callable[[Session, Any], Awaitable[Any]]], Any]]:
    """`visit(url, body)` opens the page, runs `await body(session, observation)` and returns its result."""
    with asyncio.Runner() as runner:
        browsers = BrowserPool(visit_params, text="elements")
        runner.run(browsers.__aenter__())

        def run(url: str, body: Callable[[Session, Any], Awaitable[Any]]) -> Any:
            async def episode() -> Any:
                async with browsers.session() as session:
                    return await body(session, await session.start(task(url)))

            return runner.run(episode())

        yield run
        runner.run(browsers.__aexit__())


def separate(patch: pytest.MonkeyPatch) -> None:
    """Give frames of another site renderers of their own, as a whole Chromium does; the headless shell gives none."""
    flags = pool.launch_flags
    patch.setattr(pool, "launch_flags", lambda *arguments: [*flags(*arguments), "--site-per-process"])


@pytest.fixture
def separate_renderers(monkeypatch) -> None:
    """Frames of another site get renderers of their own (`separate`)."""
    separate(monkeypatch)
