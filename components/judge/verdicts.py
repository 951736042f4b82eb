"""Writes and parses verdicts; all judges use this module.

A judge writes its rationale and then, on the last line, a label and one of two words, such as `Verdict: SUCCESS` or
`Verdict: NOT SUCCESS`. Parsing is strict: a line that is not clearly one of the two is unparsed, which masks a sample
and never rewards it. NOT SUCCESS is matched before SUCCESS (OpenWebRL, appendix A.4), since it contains SUCCESS.

What models and people add to a verdict line does not change it (`verdict_lines` removes it), and a verdict inside of an
unclosed reasoning block is none (`reasoning_blocks` finds them). A verdict is unparsed if a sign contradicts its word
("SUCCESS", a cross), or if another item of its list or the line above has the opposite verdict. After a JSON object
only the same verdict and text that is known to have no meaning are accepted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from components.judge.reasoning_blocks import INVISIBLE, reasoning_of
from components.judge.verdict_lines import (
    ANSWER_TAG,
    END_TOKEN,
    Line,
    bare,
    cleaned,
    folded,
    is_signs,
    unboxed,
    without_brackets,
    without_ends,
)
from components.records import Outcome

_LINES = {Outcome.SUCCESS: "Verdict: SUCCESS", Outcome.FAILURE: "Verdict: NOT SUCCESS"}


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


@dataclass(frozen=True)
class VerdictForm:
    """The form of a verdict line: a label and one of two words. `no` is matched before `yes`."""

    label: re.Pattern[str]
    yes: re.Pattern[str]
    no: re.Pattern[str]


_SEPARATED = r"(?:\s+is)?(?:\s*:\s*|\s+)"
_WHOSE = r"(?:(?:my|the|final|overall)\s+)*"
_NO_SUCCESS = _pattern(r"not[\s_-]+success(?:ful)?|unsuccessful|failure|failed")
_SUCCESS = _pattern(r"success(?:ful)?")
VERDICT = VerdictForm(_pattern(rf"{_WHOSE}verdict{_SEPARATED}"), _SUCCESS, _NO_SUCCESS)
STATUS = VerdictForm(_pattern(rf"{_WHOSE}status{_SEPARATED}"), _SUCCESS, _NO_SUCCESS)
BLOCKED = VerdictForm(_pattern(rf"blocked{_SEPARATED}"), _pattern("yes"), _pattern("no"))
KEEP = VerdictForm(_pattern(rf"keep{_SEPARATED}"), _pattern("yes"), _pattern("no"))
_THOUGHTS = _pattern(
    rf"((?:thoughts?|reasoning|rationale|explanation)\s*:.*(?:[.!?;,…]\s+|[。！？；，]\s*))(?=[(\[]?{_WHOSE}(?:verdict|status)\s*:)"
)
"""The beginning of a line that has the thoughts and the verdict, as AgentTrek's judges write it."""
_OTHER_VERDICT = _pattern(
    r"\b(?:verdict|status)\b(?:\s*[:=]|[^.!?;。！？]*(?:success|succeed|fail))"
    r"|\b(?:say|read|show|state|display|write|print|quote|report|tell)(?:s|ed|n|ing)?\W*$"
    r"|\b(?:said|shown|wrote|written|told|message|banner|like|as|e\.g|namely)\W*$"
    r"|\b(?:if|unless|until|when|whether|otherwise|had|were|would|could|should|might)\b[^.!?。！？]*[,;，；]$"
)
"""Thoughts that name a verdict of their own, or end as the beginning of a quotation or as a condition."""
_SCORE = _pattern(rf"(?:(?:the|final)\s+)*score{_SEPARATED}([1-5])(?:\s*/\s*5)?")
_POINT = re.compile(r"(?:\d+[.)]|[-*•])\s+(.+)")
_POINT_DECORATION = re.compile(r"\*+|`+|^_+|_+$")
_BEFORE_OBJECT = _pattern(rf"(?:[\s{INVISIBLE}]|{ANSWER_TAG}|(?:`{{3,}}|~{{3,}})|\bjson\b)*")
"""What may stand before a JSON object: tags of an answer and the beginning of a fence."""
_AFTER_OBJECT = _pattern(rf"\s+|`{{3,}}|~{{3,}}|{END_TOKEN}|{ANSWER_TAG}")
_HELP = (
    r"(?:anything else|(?:any )?(?:more|further|other|additional) (?:help|questions|information|details|assistance)"
    r"|any (?:help|questions|assistance))"
)
_OFFER = (
    rf"(?:please )?(?:let me know|feel free to (?:ask|reach out|let me know)),? (?:if|should) you (?:have|need) {_HELP}"
)
_COURTESY = _pattern(
    rf"(?:(?:{_OFFER}|(?:i )?hope (?:this|that|it) helps|thank you|thanks"
    r"|end of (?:the )?(?:response|answer|output|evaluation|judge?ment))[.!]*\s*)+"
)
"""Closing phrases that say nothing of the outcome."""
_LINK = _pattern(r"\W*(?:either|or|and|and/or|/|\|)\W*")
"""A line between two verdicts that a model copied from its instructions."""
_NEGATION = _pattern(r"\W*(?:not?|non|un)(?![^\W_])")
_JSON_WORDS = {True: "SUCCESS", False: "NOT SUCCESS"}


def verdict_text(rationale: str, outcome: Outcome) -> str:
    """The text that a judge writes for a rationale and an outcome; `parse_verdict` parses it.

    Raises:
        ValueError: the outcome is neither success nor failure.
    """
    if outcome not in _LINES:
        raise ValueError(f"no judge writes {outcome.value!r}: leave such verdicts out of a judge's training data")
    return f"{rationale.strip()}\n{_LINES[outcome]}"


def parse_verdict(text: str, truncated: bool = False, form: VerdictForm = VERDICT) -> tuple[Outcome, str]:
    """Success, failure or unparsed, and the rationale: the text before the verdict line.

    Args:
        text: the judge's whole response.
        truncated: the response hit its token limit.
        form: the form of the verdict line.
    """
    decision, rationale = read(text, form, truncated)
    return {True: Outcome.SUCCESS, False: Outcome.FAILURE, None: Outcome.UNPARSED}[decision], rationale


def read(text: str, form: VerdictForm, truncated: bool = False) -> tuple[bool | None, str]:
    """True, False or None, and the rationale; None if the verdict line is not clearly one of the two.

    The verdict line is the last line that is not empty, after any closed reasoning. It must have the label (or the line
    above is the label, or it is the whole text) and contain one of the words and nothing else: a line with a quotation,
    both words, a question or more text gives None. A truncated text gives None too, because `Verdict: SUCCESS` may have
    been its first half.
    """
    ending = _with_label(_ending(text), form)
    decision = None if truncated or ending.is_reasoning else _decide(ending, form)
    return (None, text.strip()) if decision is None else (decision, ending.rationale)


def read_score(text: str, truncated: bool = False) -> tuple[int | None, str]:
    """A score from 1 to 5 on the last line, such as `Score: 4`, and the rationale; None if there is no such line."""
    ending = _ending(text)
    score = None if truncated or ending.is_reasoning else _SCORE.fullmatch(ending.line.text.rstrip(" ."))
    return (None, text.strip()) if score is None else (int(score[1]), ending.rationale)


def read_points(text: str, truncated: bool = False) -> list[str]:
    """The items of a numbered or bulleted list, without other text; empty if the text was truncated or has no list."""
    reasoning = reasoning_of(text)
    if truncated or reasoning.is_open:
        return []
    lines = [line.strip() for line in text[reasoning.starts[-1] :].splitlines()]
    plain = (_POINT_DECORATION.sub("", line) if line.startswith("**") else line for line in lines)
    return [match[1].strip() for line in plain if (match := _POINT.fullmatch(line))]


def read_object(text: str, truncated: bool = False) -> dict | None:
    """The JSON object that a response consists of, after closed reasoning and perhaps in a fence or a tag.

    After the object only ends of fences and tags, end tokens, rules, closing phrases such as "I hope this helps", and
    the same verdict are accepted. Any other text may take the object back, so it gives None.
    """
    if truncated:
        return None
    responses = (text[start:] for start in reasoning_of(text).starts)
    return next((value for response in responses if (value := _object_alone(response)) is not None), None)


def _object_alone(response: str) -> dict | None:
    beginning = _BEFORE_OBJECT.match(response)
    response = response[beginning.end() :] if beginning else response
    decoder = json.JSONDecoder(object_pairs_hook=_unique_keys, strict=False)  # models break lines within strings
    try:
        value, end = decoder.raw_decode(response)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    lines = folded(response[end:]).split("\n")
    return value if all(_says_nothing(line) or _repeats(line, value) for line in lines) else None


def _says_nothing(line: str) -> bool:
    rest = without_ends(_AFTER_OBJECT.sub(" ", line)).strip()
    return not rest or bool(_COURTESY.fullmatch(rest))


def _repeats(line: str, value: dict) -> bool:
    """Whether a line is a verdict line with the verdict that the object has."""
    decision = _decide(Ending(cleaned(line), ["…"], ""), VERDICT)
    return decision is not None and value.get("verdict") == _JSON_WORDS[decision]


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    keys = dict(pairs)
    if len(keys) < len(pairs):
        raise ValueError("a key occurs twice")
    return keys


@dataclass(frozen=True)
class Ending:
    """The last line of a response, which may be its verdict.

    Attributes:
        line: without decoration.
        before: the lines of the response before it.
        reasoning: the text before the response.
        is_reasoning: the line is inside of unclosed reasoning.
    """

    line: Line
    before: Sequence[str]
    reasoning: str
    is_reasoning: bool = False

    @property
    def rationale(self) -> str:
        """The text before the last line, or else the reasoning before the response."""
        return "\n".join(self.before).strip() or self.reasoning


def _ending(text: str) -> Ending:
    reasoning = reasoning_of(text)
    start = reasoning.starts[-1]
    lines = text[start:].strip().split("\n")
    contradicts = frozenset[bool]()
    while len(lines) > 1 and (not (end := without_ends(lines[-1])) or is_signs(lines[-1]) or _COURTESY.fullmatch(end)):
        contradicts |= cleaned(lines.pop()).contradicts
    line = cleaned(lines[-1])
    line = replace(line, contradicts=line.contradicts | contradicts)
    return Ending(line, lines[:-1], _without_marks(text[:start], reasoning.marks), reasoning.is_open)


def _without_marks(text: str, marks: Sequence[tuple[int, int]]) -> str:
    kept, place = [], 0
    for start, end in marks:
        if end <= len(text):
            kept.append(text[place:start])
            place = end
    return ("".join(kept) + text[place:]).strip()


def _with_label(ending: Ending, form: VerdictForm) -> Ending:
    """The ending with the label of the line above, if that line has nothing else and is a heading or has a colon."""
    places = [place for place, line in enumerate(ending.before) if without_ends(line)]
    if not places or form.label.match(ending.line.text):
        return ending
    above = folded(ending.before[places[-1]]).strip()
    label = cleaned(above)
    is_heading = label.text.endswith(":") or above.startswith(("#", "*", "_"))
    if not is_heading or not form.label.fullmatch(label.text + " "):
        return ending
    text = f"{label.text.rstrip(': ')}: {ending.line.text}"
    line = Line(text, label.contradicts | ending.line.contradicts, label.is_item or ending.line.is_item)
    return replace(ending, line=line, before=ending.before[: places[-1]])


def _decide(ending: Ending, form: VerdictForm) -> bool | None:
    """The decision of the last line; None if its emoji, the line above or an item of the same list say the opposite.

    Before a success, a label with a negation and no whole verdict ("Verdict: NOT") says the opposite, too.
    """
    line = ending.line
    decision = _read_line(line.text, form, alone=not ending.before)
    if decision is None or decision in line.contradicts:
        return None
    before = [text for text in ending.before if (shown := without_ends(text)) and not _LINK.fullmatch(shown)]
    others = before if line.is_item else before[-1:]
    lines = [cleaned(text).text for text in others]
    opposite = any(_read_line(text, form, alone=False) is (not decision) for text in lines)
    return None if opposite or (decision and any(_is_negated(text, form) for text in lines)) else decision


def _is_negated(line: str, form: VerdictForm) -> bool:
    label = form.label.match(line)
    return label is not None and _NEGATION.match(line, label.end()) is not None


def _read_line(line: str, form: VerdictForm, alone: bool) -> bool | None:
    if thoughts := _THOUGHTS.match(line):
        if _OTHER_VERDICT.search(thoughts[1].strip()) or thoughts[1].count('"') % 2:
            return None
        line = line[thoughts.end() :]
    inner = without_brackets(line)
    line = inner if form.label.match(inner) else line
    label = form.label.match(line)
    if not (label or (alone and line.isupper())):
        return None
    word = bare(unboxed(line[label.end() if label else 0 :].strip()))
    if form.no.fullmatch(word):
        return False
    return True if form.yes.fullmatch(word) else None
