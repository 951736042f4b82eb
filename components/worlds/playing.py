"""Plays an episode in a browser: an oracle, or an agent that only answers."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from playwright.async_api import Error as PlaywrightError

from components.records import StateCheck, Task, ToolCall
from components.worlds.oracle import GIVE_UP, Oracle
from components.worlds.target import absence

if TYPE_CHECKING:
    from playwright.async_api import Page

    from components.browser import BrowserPool, Listed, Session

MAX_TURNS = 80
TEXT_MS = 5000
"""So long the text of a frame is waited for."""
NOT_ACTIONS = ("scroll", "wait", "done")
"""Calls that do not count for the length of a task."""


async def answer_only(task: Task, answer: str, pool: BrowserPool) -> StateCheck:
    """The check of an episode whose agent only says `done`, with this answer."""
    async with pool.session(task) as session:
        await session.start(task)
        await session.step([ToolCall(name="done", arguments={"answer": answer})])
        check = await session.check_state()
        assert check is not None, "the world has state"
        return check


async def play(session: Session, oracle: Oracle, seen: list[str] | None = None) -> int:
    """Let the oracle play an episode to its end; returns its number of actions.

    Args:
        seen: gets the text of the page before each turn, with the names and values of its elements.

    Raises:
        RuntimeError: it does not come to an end, or a call of it fails.
    """
    from components.browser import parse_elements

    actions = 0
    views: list[list[Listed]] = []
    for _ in range(MAX_TURNS):
        views.append(parse_elements(await session.oracle()))
        if seen is not None:
            words = [f"{line.name}\n{line.value}" for line in views[-1]]
            seen.append("\n".join([*await _texts(session.page), *words]))
        turn = oracle.next(views[-1])
        result = await session.step(turn.calls)
        failed = [line for line in result.feedback if line.startswith("Failed")]
        if failed:
            raise RuntimeError(f"{turn.thought}: {failed[0]}")
        if session.answer == GIVE_UP and oracle.wanted is not None:
            reason = absence(oracle.wanted, views)
            raise RuntimeError(f"the oracle gives up at {result.observation.url}: {reason}")
        if not any(call.name in NOT_ACTIONS for call in turn.calls):
            actions, views = actions + 1, []
        if result.done:
            return actions
    raise RuntimeError(f"the oracle did not end within {MAX_TURNS} turns; its last thought: {turn.thought}")


async def _texts(page: Page) -> list[str]:
    """What the frames of a page show as text."""
    texts = []
    for frame in page.frames:
        with contextlib.suppress(PlaywrightError):
            texts.append(await frame.inner_text("body", timeout=TEXT_MS))
    return texts
