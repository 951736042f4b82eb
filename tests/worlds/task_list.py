"""A small world whose server keeps what episodes change and never resets: a list of errands that can be ticked off."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

from playwright.async_api import Page

from components.records import Task
from components.worlds import LoopbackSite, World

ORIGIN = "http://errands"
COOKIE = "errand"
ERRANDS = ("bread", "stamps", "paint")


class ErrandServer:
    """The running server; `ticked` has what any episode has ticked off."""

    def __init__(self) -> None:
        self.ticked: set[str] = set()
        ticked = self.ticked

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                ticked.update(parse_qs(urlsplit(self.path).query).get("tick", []))
                links = "".join(f'<p><a href="/?tick={name}">Tick off {name}</a></p>' for name in ERRANDS)
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(f"<title>Errands</title>{links}".encode())

            def log_message(self, *args: object) -> None:
                """Quiet."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port: int = self._http.server_address[1]
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def stop(self) -> None:
        """Stop serving."""
        self._http.shutdown()
        self._http.server_close()


class ErrandSite(LoopbackSite[ErrandServer]):
    """The list while it is served."""

    origins = (ORIGIN,)
    rewards = True

    def serve(self) -> ErrandServer:
        """Start the server."""
        return ErrandServer()

    def cookies(self, task: Task) -> dict[str, str]:
        """The errand of the episode."""
        return {COOKIE: str(task.evaluator["errand"])}

    async def reward(self, page: Page) -> float | None:
        """1 if the episode's errand is ticked off, even if another episode did it."""
        cookies = {cookie.get("name"): cookie.get("value") for cookie in await page.context.cookies(ORIGIN)}
        return float(cookies[COOKIE] in self.server.ticked)


class TaskList(World):
    """Errands that stay done."""

    name: ClassVar[str] = "errands"
    origins = (ORIGIN,)

    async def tasks(self, seed: int, viewport: tuple[int, int]) -> list[dict[str, Any]]:
        """One row per errand."""
        return [
            {
                "task_id": f"errands/{name}",
                "intent": f"Tick off {name}.",
                "start_url": f"{ORIGIN}/",
                "website": f"errands/{name}",
                "source": "errands",
                "evaluator": {"type": "site_reward", "errand": name},
            }
            for name in ERRANDS
        ]

    def site(self) -> ErrandSite:
        """The list on loopback."""
        return ErrandSite()
