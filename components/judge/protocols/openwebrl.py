"""OpenWebRL's judge (section 4.3, appendix A.4): task, answer, action history with feedback, the last screenshots.

The protocol asks one question. The wording is our own (`judge/prompts.py`); the distilled judge reads the same.
"""

from __future__ import annotations

from components.judge.prompts import FULL, judge_prompt
from components.judge.protocols.base import Ask, JudgeProtocol, Ruling, ask_once, cut, question
from components.judge.verdicts import parse_verdict
from components.records import Trajectory

SCREENSHOTS = 3
"""The paper's number."""


def openwebrl(screenshots: int) -> JudgeProtocol:
    """The protocol with the given number of last screenshots."""

    async def judge(trajectory: Trajectory, ask: Ask) -> Ruling:
        prompt = judge_prompt(trajectory, screenshots)
        answer = await ask(question(prompt.system, prompt.text, *prompt.images))
        return Ruling(*parse_verdict(answer.text, cut(answer)))

    return JudgeProtocol(judge, (FULL, str(screenshots)), ask_once(screenshots))


KIND = openwebrl(SCREENSHOTS)
