"""Protocols of model judges, each in a file: its inputs, its prompts (in this project's own words), its parser.

A protocol is an async function of a trajectory and an `Ask`. It does not know which model answers, what the answer
costs, or whether the request failed. `registry` finds them by name. `blocking` judges pages, not tasks; `reference`
compares answers; `vote` combines several rulings; `images` answers a question about images.
"""

from __future__ import annotations

from components.judge.protocols.base import Ask, JudgeProtocol, Ruling, results_of
from components.judge.protocols.blocking import is_blocked
from components.judge.protocols.images import sees_answer
from components.judge.protocols.reference import says_the_same
from components.judge.protocols.registry import judge_protocol, judge_protocol_names
from components.judge.protocols.vote import vote, voted

__all__ = [
    "Ask",
    "JudgeProtocol",
    "Ruling",
    "is_blocked",
    "judge_protocol",
    "judge_protocol_names",
    "results_of",
    "says_the_same",
    "sees_answer",
    "vote",
    "voted",
]
