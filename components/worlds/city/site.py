"""The city as a site: one server for all hosts, and a copy of all data for each episode."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from components.browser import SandboxError, SiteCookie
from components.records import StateCheck, Task
from components.worlds import LoopbackSite
from components.worlds.city.image import SERVER, CityError, ensure
from components.worlds.city.instances import Instance
from components.worlds.city.server_process import CityServer, LostError

if TYPE_CHECKING:
    from playwright.async_api import Page

SITES = tuple(sorted(path.parent.name for path in (SERVER / "city" / "sites").glob("*/__init__.py")))
"""The sites' names; the host of `shop` is `shop.test`."""
MODIFIERS = tuple(sorted(path.stem for path in (SERVER / "city" / "modifiers").glob("*.py") if path.stem != "__init__"))
"""The names of what may change the sites of a copy, such as `popup`."""
COOKIE = "city"
"""The cookie with the key of an episode's copy."""


class CitySite(LoopbackSite[CityServer]):
    """The `Site` of the city. One pool at a time may use it."""

    origins = tuple(f"http://{name}.test" for name in SITES)
    rewards = True

    def serve(self) -> CityServer:
        """Start the server; builds the image first if it does not exist.

        Raises:
            CityError: the environment is not installed, or the image cannot be built.
        """
        return CityServer(ensure())

    async def begin(self, task: Task) -> CityEpisode:
        """A fresh copy with the data of the task's seed, and its users logged in. A task without a template, such as
        one of `waymark run`, has seed 0 if it names none, no user and no check.

        If the episode is cancelled meanwhile, the copy is forgotten: the thread that makes it cannot be stopped.

        Raises:
            SandboxError: the server died while it made the copy.
        """
        instance = Instance.of(task) if "template" in task.evaluator else None
        making = asyncio.create_task(asyncio.to_thread(_make_episode, self.server, task.seed or 0, instance))
        try:
            return await asyncio.shield(making)
        except LostError as error:
            raise SandboxError(str(error)) from error
        except asyncio.CancelledError:
            with contextlib.suppress(CityError):
                await (await making).end()
            raise


def _make_episode(server: CityServer, seed: int, instance: Instance | None) -> CityEpisode:
    """A copy, and its snapshot.

    Raises:
        CityError: the server refused, or died.
    """
    server.require_running()
    generation = server.generation
    ready = server.reset(seed, instance.modifiers, instance.users()) if instance is not None else server.reset(seed)
    try:
        before = server.snapshot(ready["key"])
    except CityError:
        with contextlib.suppress(CityError):
            server.drop(ready["key"])
        raise
    return CityEpisode(server, generation, instance, ready["key"], before, ready["cookies"])


class CityEpisode:
    """One episode: its copy, and a snapshot from before it.

    Args:
        generation: of the server's process when the copy was made.
        instance: of the task; None if the task has no template.
        key: of the copy.
        before: the snapshot's key.
        cookies: of users who are logged in, by host.
    """

    def __init__(
        self,
        server: CityServer,
        generation: int,
        instance: Instance | None,
        key: str,
        before: str,
        cookies: dict[str, dict[str, str]],
    ) -> None:
        self.key = key
        self.server = server
        """The server that has the copy."""
        self._generation = generation
        self._instance = instance
        self._before = before
        self.cookies = [
            *(SiteCookie(origin, COOKIE, key, http_only=True) for origin in CitySite.origins),
            *(
                SiteCookie(f"http://{host}", name, value, http_only=True)
                for host, named in cookies.items()
                for name, value in named.items()
            ),
        ]

    @property
    def loss(self) -> str | None:
        """The reason if the server's process that had the copy has ended; else None."""
        if self.server.generation == self._generation and self.server.is_running:
            return None
        return "the city's server died during the episode"

    async def ready(self, page: Page) -> str | None:
        """None if a page with a title is shown."""
        return None if await page.title() else "the page has no title"

    async def reward(self, page: Page) -> float | None:
        """None, because the pages do not compute a reward. `check_state` does."""
        return None

    async def ended(self, page: Page) -> bool | None:
        """None, because the applications do not end a task. `check_state` reads what the actions changed."""
        return None

    async def check_state(self, answer: str | None) -> StateCheck | None:
        """Compare the copy with the snapshot, and the answer with the data and the pages that were opened; None if the
        task has no template.

        Raises:
            SandboxError: the server died.
        """
        if self._instance is None:
            return None
        try:
            changes = await asyncio.to_thread(self.server.diff, self._before, self.key)
            opened = await asyncio.to_thread(self.server.opened, self.key)
        except LostError as error:
            raise SandboxError(str(error)) from error
        return self._instance.check(changes, answer, opened)

    async def end(self) -> None:
        """Forget the copy and the snapshot."""
        for key in (self.key, self._before):
            with contextlib.suppress(CityError):  # a dead process has forgotten them already
                await asyncio.to_thread(self.server.drop, key)
