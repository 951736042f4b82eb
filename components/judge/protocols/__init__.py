"""How model judges are asked, each protocol in a file: its inputs, its prompts in our own words, its parser.

A protocol is an async function over a trajectory and an `Ask`; it never knows which model answers, what it costs, or
that it failed. `blocking` judges pages, not tasks; `reference` compares answers; `vote` makes one ruling of several.
"""

from __future__ import annotations

from components.judge.protocols.agenttrek import AGENTTREK
from components.judge.protocols.base import Ask, JudgeProtocol, Ruling
from components.judge.protocols.blocking import is_blocked
from components.judge.protocols.deepshop import DEEPSHOP
from components.judge.protocols.openwebrl import SCREENSHOTS, openwebrl
from components.judge.protocols.reference import says_the_same
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
}
"""As published."""


def judge_protocol(name: JudgeProtocolName, screenshots: int) -> JudgeProtocol:
    """A protocol by its name in a recipe. `screenshots` is for `openwebrl`; the others have their own number."""
    return openwebrl(screenshots) if name == "openwebrl" else PROTOCOLS[name]
