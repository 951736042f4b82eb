"""Protocols of model judges, each in a file: its inputs, its prompts (in this project's own words), its parser.

A protocol is an async function of a trajectory and an `Ask`. It does not know which model answers, what the answer
costs, or whether the request failed. `blocking` judges pages, not tasks; `reference` compares answers; `vote` combines
several rulings; `images` answers a question about images.
"""

from __future__ import annotations

from components.judge.protocols.agenttrek import AGENTTREK
from components.judge.protocols.base import Ask, JudgeProtocol, Ruling
from components.judge.protocols.blocking import is_blocked
from components.judge.protocols.deepshop import DEEPSHOP
from components.judge.protocols.images import sees_answer
from components.judge.protocols.openwebrl import SCREENSHOTS, openwebrl
from components.judge.protocols.reference import says_the_same
from components.judge.protocols.universal import UNIVERSAL
from components.judge.protocols.vote import vote, voted
from components.judge.protocols.webgym_rubric import WEBGYM_RUBRIC
from components.judge.protocols.webjudge import WEBJUDGE
from components.judge.protocols.webvoyager import WEBVOYAGER, WEBVOYAGER_HINTED
from components.params import JudgeProtocolName

__all__ = [
    "PROTOCOLS",
    "Ask",
    "JudgeProtocol",
    "Ruling",
    "is_blocked",
    "judge_protocol",
    "says_the_same",
    "sees_answer",
    "vote",
    "voted",
]

PROTOCOLS: dict[JudgeProtocolName, JudgeProtocol] = {
    "openwebrl": openwebrl(SCREENSHOTS),
    "webvoyager": WEBVOYAGER,
    "webvoyager_hinted": WEBVOYAGER_HINTED,
    "agenttrek": AGENTTREK,
    "webjudge": WEBJUDGE,
    "deepshop": DEEPSHOP,
    "webgym_rubric": WEBGYM_RUBRIC,
    "universal": UNIVERSAL,
}
"""The protocols with their published numbers of screenshots."""


def judge_protocol(name: JudgeProtocolName, screenshots: int) -> JudgeProtocol:
    """A protocol by its name in a recipe. `screenshots` is for `openwebrl`; the others have their own number."""
    return openwebrl(screenshots) if name == "openwebrl" else PROTOCOLS[name]
