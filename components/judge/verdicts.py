"""The one place that knows how a verdict is written and read.

A judge writes its rationale and then, on the last line, `Verdict: SUCCESS` or `Verdict: NOT SUCCESS`. Reading is
strict: whatever is not clearly one of the two is unparsed, which masks a sample and never rewards it. NOT SUCCESS is
looked for before SUCCESS (OpenWebRL, appendix A.4), since the one contains the other.
"""

from __future__ import annotations

import re

from components.records import Outcome

_LINES = {Outcome.SUCCESS: "Verdict: SUCCESS", Outcome.FAILURE: "Verdict: NOT SUCCESS"}
_LABEL = re.compile(r"(?:(?:my|the|final|overall)\s+)*verdict(?:\s+is)?(?:\s*:\s*|\s+)", re.IGNORECASE)
_FAILURE = re.compile(r"not[\s_-]+success(?:ful)?|unsuccessful|failure|failed", re.IGNORECASE)
_SUCCESS = re.compile(r"success(?:ful)?", re.IGNORECASE)
_DECORATION = re.compile(r"\*+|`+|^#+\s|^_+|_+$")
_CLOSER = re.compile(r"```|</\w+>")
"""A line that may follow the verdict: it closes a block and says nothing."""


def verdict_text(rationale: str, outcome: Outcome) -> str:
    """What a judge writes for a rationale and an outcome; `parse_verdict` reads it back.

    Raises:
        ValueError: the outcome is neither success nor failure.
    """
    if outcome not in _LINES:
        raise ValueError(f"no judge writes {outcome.value!r}: leave such verdicts out of a judge's training data")
    return f"{rationale.strip()}\n{_LINES[outcome]}"


def parse_verdict(text: str, truncated: bool = False) -> tuple[Outcome, str]:
    """Success, failure or unparsed, and the rationale: what stands before the verdict line.

    The verdict is the last line that is not empty, after any closed reasoning. It must be labelled (or be all there is)
    and hold one outcome and nothing else: a line that is quoted, names both outcomes, asks, or goes on is unparsed.
    So is a text that was cut off, for `Verdict: SUCCESS` may have been about to go on.

    Args:
        text: the judge's whole response.
        truncated: the response hit its token limit.
    """
    unparsed = Outcome.UNPARSED, text.strip()
    reasoning, _, said = text.rpartition("</think>")
    lines = said.strip().split("\n")
    while _CLOSER.fullmatch(lines[-1].strip()) and len(lines) > 1:
        lines.pop()
        while len(lines) > 1 and not lines[-1].strip():
            lines.pop()
    outcome = _read_line(lines[-1], alone=len(lines) == 1)
    if truncated or "<think>" in said or outcome is None:
        return unparsed
    rationale = "\n".join(lines[:-1]).strip() or reasoning.replace("<think>", "", 1).strip()
    return outcome, rationale


def _read_line(line: str, alone: bool) -> Outcome | None:
    line = _DECORATION.sub("", line.strip()).strip()
    label = _LABEL.match(line)
    if not (label or (alone and line.isupper())):
        return None
    word = line[label.end() if label else 0 :].strip("\"'“”‘’[] .!")
    if _FAILURE.fullmatch(word):
        return Outcome.FAILURE
    if _SUCCESS.fullmatch(word):
        return Outcome.SUCCESS
    return None
