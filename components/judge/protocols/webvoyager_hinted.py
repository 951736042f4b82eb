"""WebVoyager's judge with the set's reference answer in its prompt, where a task has one. It is not published: the
published script never shows the answer."""

from __future__ import annotations

from components.judge.protocols.base import Ask, JudgeProtocol, Ruling, ask_once
from components.judge.protocols.webvoyager import HINT, SCREENSHOTS, SYSTEM, grade
from components.judge.rules import hint_of
from components.records import Trajectory


async def judge(trajectory: Trajectory, ask: Ask) -> Ruling:
    """As `webvoyager`, with the published reference answer as a hint."""
    return await grade(trajectory, ask, hint_of(trajectory.task))


KIND = JudgeProtocol(judge, (SYSTEM, HINT), ask_once(SCREENSHOTS))
