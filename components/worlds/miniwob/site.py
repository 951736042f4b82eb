"""The site of MiniWoB++: pages by family at `http://miniwob/<family>.html`, episodes by seed, the page's own reward.

A cookie carries the seed, so that neither the URL nor the page shows it; `miniwob.js` starts the episode with it. The
same seed gives the same episode in a session and in `collect`, which goes through the seeds in one open page.
"""

from __future__ import annotations

import asyncio
import json
import math
import uuid
from collections.abc import Sequence
from functools import cache
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import BrowserContext, Page, async_playwright
from playwright.async_api import Error as PlaywrightError
from pydantic import BaseModel, TypeAdapter

from components.browser import find_chromium
from components.browser.chromium import launch, launch_flags
from components.records import Split, Task
from components.tasks.difficulty import difficulty_of
from components.worlds import LoopbackSite, WorldError
from components.worlds.miniwob.rubric import rubric
from components.worlds.miniwob.server import Server, families

SEEDS_PER_CALL = 100
TIMEOUT_S = 60.0
"""Limit of one operation of the browser: its start, the opening of a page, or `SEEDS_PER_CALL` episodes."""


class _Instruction(BaseModel):
    """What `miniwob.js` collects of one seed."""

    utterance: str = ""
    error: str | None = None
    """Why the page has no instruction; None if it has one."""


_INSTRUCTIONS = TypeAdapter(list[_Instruction])


class MiniWoBSite(LoopbackSite[Server]):
    """The `Site` of MiniWoB++. One pool at a time may use it."""

    origin = "http://miniwob"
    origins = (origin,)
    instruction = "#query"
    names_options = False
    lists_details = False
    awaits_requests = False
    keeps_page = True

    def serve(self) -> Server:
        """Start the server."""
        return Server()

    def cookies(self, task: Task) -> dict[str, str]:
        """A cookie with the seed, a token that is unique to this episode, and the family whose page may end it."""
        family = PurePosixPath(urlsplit(task.start_url).path).stem
        return {"waymark": f"{task.seed or 0}.{uuid.uuid4().hex[:12]}.{family}"}

    async def ready(self, page: Page) -> str | None:
        """None if the episode runs, otherwise the reason why not."""
        return await page.evaluate("window.WAYMARK ? WAYMARK.error : 'this is no MiniWoB++ page'")

    async def reward(self, page: Page) -> float | None:
        """The raw reward of the first ending, between -1 and 1; 0 if the episode did not end; None on a page of the
        site without an episode, such as a page that does not exist.
        """
        reward = await page.evaluate("window.WAYMARK ? WAYMARK.reward() : null")
        return None if reward is None else float(reward)

    async def ended(self, page: Page) -> bool | None:
        """Whether the episode had its first ending, right or wrong; None on a page of the site without an episode."""
        return await page.evaluate("window.WAYMARK ? WAYMARK.ended() : null")

    async def collect(
        self,
        families: Sequence[str],
        seeds: Sequence[int],
        split: Split,
        viewport: tuple[int, int] = (160, 210),
    ) -> list[dict[str, Any]]:
        """Raw task rows, family by family and seed by seed.

        Returns:
            One dict per family and seed with the fields of `Task`. If the page failed or could not be opened, the row
            also has the reason in `error`, and the caller rejects the row.

        Raises:
            WorldError: the browser did not answer in time.
        """
        served_here = not self.is_served
        await self.start()
        limit_s = collection_limit_s(len(families), len(seeds))
        try:
            async with asyncio.timeout(limit_s), async_playwright() as playwright:
                path = find_chromium(playwright.chromium.executable_path)
                browser = await launch(playwright, path, launch_flags(self.addresses()))
                width, height = viewport
                context = await browser.new_context(viewport={"width": width, "height": height})
                context.set_default_timeout(TIMEOUT_S * 1000)
                await context.add_cookies([{"name": "waymark", "value": "0.collect", "url": self.origin}])
                try:
                    return [row for family in families for row in await self._family(context, family, seeds, split)]
                finally:
                    await browser.close()
        except TimeoutError as error:
            raise WorldError(
                f"the browser did not collect {len(seeds)} episodes of each of {len(families)} MiniWoB++ families "
                f"within {limit_s:g} s: free the machine of other work, or ask for fewer episodes, and run it again"
            ) from error
        finally:
            if served_here:
                await self.stop()

    async def _family(
        self, context: BrowserContext, family: str, seeds: Sequence[int], split: str
    ) -> list[dict[str, Any]]:
        if family in _families():
            page = await context.new_page()
            try:
                answers = await self._utterances(page, family, seeds)
            except PlaywrightError as error:
                answers = [_Instruction(error=f"{family}: {str(error).splitlines()[0]}")] * len(seeds)
            except TimeoutError:
                reason = f"{family}: the page did not answer within {TIMEOUT_S:.0f} s"
                answers = [_Instruction(error=reason)] * len(seeds)
            await page.close()
        else:
            answers = [_Instruction(error=f"MiniWoB++ has no family {family}")] * len(seeds)
        return [_row(family, seed, split, answer) for seed, answer in zip(seeds, answers, strict=True)]

    async def _utterances(self, page: Page, family: str, seeds: Sequence[int]) -> list[_Instruction]:
        """The instruction of every seed, from one page that starts the episodes one after the other."""
        await page.goto(f"{self.origin}/{family}.html", wait_until="load")
        wrong = await self.ready(page)
        if wrong:
            return [_Instruction(error=f"{family}: {wrong}")] * len(seeds)
        answers: list[_Instruction] = []
        for first in range(0, len(seeds), SEEDS_PER_CALL):
            chunk = list(seeds[first : first + SEEDS_PER_CALL])
            async with asyncio.timeout(TIMEOUT_S):
                answer = await page.evaluate(f"WAYMARK.collect({json.dumps(chunk)})")
            answers += _INSTRUCTIONS.validate_python(answer)
        return answers


def collection_limit_s(families: int, seeds: int) -> float:
    """The limit of `collect` in seconds: `TIMEOUT_S` for the browser's start, and for each family as much for its page
    and for every `SEEDS_PER_CALL` episodes."""
    return TIMEOUT_S * (1 + families * (1 + math.ceil(seeds / SEEDS_PER_CALL)))


@cache
def _families() -> frozenset[str]:
    return frozenset(families())


def _row(family: str, seed: int, split: str, answer: _Instruction) -> dict[str, Any]:
    row: dict[str, Any] = {
        "task_id": f"miniwob/{family}/{seed}",
        "intent": answer.utterance,
        "start_url": f"{MiniWoBSite.origin}/{family}.html",
        "website": f"miniwob/{family}",
        "source": "miniwob",
        "seed": seed,
        "split": split,
        "evaluator": {"type": "site_reward"},
    }
    if answer.error is not None:
        row["error"] = answer.error
    elif groups := rubric(family, row["intent"]):
        row |= {"rubric": [group.model_dump() for group in groups], "difficulty": difficulty_of(groups)}
    return row
