"""The verdict of webarena-verified on the record of an episode: the agent's answer and its network events.

The answer is the text of `done`, in which the package looks for a JSON object, bare or in a fence of code. Network
events are the entries of a HAR that the episode's browser recorded until `done` (`browser/har.py`); they are needed
only where the row has a `NetworkEventEvaluator`. Success needs `done`, as for all rules.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from itertools import accumulate
from typing import Any, Literal

from components.judge.verified.client import Check, VerifiedError, evaluate
from components.records import HAR, Ending, Outcome, Probe, Record

_NAMES = {"AgentResponseEvaluator": "the answer", "NetworkEventEvaluator": "the network events"}
_MAX_DEPTH = 50
"""Of the brackets in an answer."""
_LONG_NUMBER = re.compile(r"\d{1000}")
_NOT_FINITE = re.compile(
    r"(?<![\w.])[-+]?(?:inf(?:inity)?|nan|\d[\d.]*e\+?\d{3,})\s*(?:k?m|mi|miles?|(?:kilo)?met(?:er|re)s?|ft|feet)\b",
    re.IGNORECASE,
)
_MAX_SHOWN = 300
"""Characters of an evaluator's message in a rationale; they may have whole addresses."""


class VerifiedRule(Record):
    """A row of webarena-verified, and the addresses of its sites by placeholder."""

    type: Literal["webarena_verified"] = "webarena_verified"
    row: dict[str, Any]
    addresses: dict[str, str]

    @property
    def needs_har(self) -> bool:
        """Whether network events decide, too."""
        return needs_har(self.row)


def needs_har(row: dict[str, Any]) -> bool:
    """Whether a row has a check of network events."""
    return any(check["evaluator"] == "NetworkEventEvaluator" for check in row["eval"])


def har_probe() -> Probe:
    """The probe for the HAR of the episode."""
    return Probe(url=HAR, locator="", reads_har=True)


def judge_verified(rule: VerifiedRule, answer: str, ending: Ending | None) -> tuple[Outcome, str]:
    """Outcome and rationale of an episode that the agent ended with `done`; an error if its HAR is missing.

    Raises:
        VerifiedError: the package's environment is missing.
    """
    readings = ending.readings if ending is not None else []
    har = next((reading for reading in readings if reading.url == HAR), None)
    if rule.needs_har and (har is None or har.text is None):
        reason = har.error if har is not None else "the record has none"
        return Outcome.ERROR, f"the network events are not known: {reason}"
    entries = json.loads(har.text) if har is not None and har.text else []
    result = evaluate(rule.row, rule.addresses, _readable(answer), entries)
    outcome = {"success": Outcome.SUCCESS, "error": Outcome.ERROR}.get(result.status, Outcome.FAILURE)
    if any(check.name == "AgentResponseEvaluator" and check.status == "error" for check in result.checks):
        outcome = Outcome.FAILURE  # the answer has data of another type than the row, which the agent decides
    words = "; ".join(_words(result.checks)) or "no check ran"
    return outcome, f"{words}{f'; {result.error}' if result.error else ''}"


def _readable(answer: str) -> str:
    """The answer, which the package can parse without an error of its own.

    Text that Python's parser cannot take (nested by the thousand, a number of thousands of digits) would end as an
    error of the evaluator, so that an agent could turn its failure into no verdict. As a plain text it fails. So does a
    length that is not finite, which the package takes for any length.
    """
    depths = accumulate((character in "[{") - (character in "]}") for character in answer)
    if max(depths, default=0) > _MAX_DEPTH or _LONG_NUMBER.search(answer) or _NOT_FINITE.search(answer):
        return json.dumps(answer[:_MAX_SHOWN])
    return answer


def _words(checks: Iterable[Check]) -> Iterable[str]:
    """A clause per check, with the messages of those that do not hold."""
    for check in checks:
        name = _NAMES.get(check.name, check.name)
        messages = " ".join(" ".join(check.messages).split())
        shown = messages if len(messages) <= _MAX_SHOWN else f"{messages[:_MAX_SHOWN]}…"
        yield f"{name}: {'yes' if check.status == 'success' else f'{check.status} ({shown})'}"


__all__ = ["HAR", "VerifiedError", "VerifiedRule", "har_probe", "judge_verified", "needs_har"]
