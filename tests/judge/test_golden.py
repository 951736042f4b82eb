"""Each parser must agree with its golden file, which holds texts of judges, hostile ones included, and their outcomes.

The comparison with references and the rules, which read answers, have golden files too. Each row is of one kind, and
each file has all kinds. A failure lists all rows that differ, by file and line.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from components.endpoint import Answer, Message
from components.judge import rules_verdict
from components.judge.protocols import Ruling, says_the_same, vote
from components.judge.protocols.deepshop import parse as parse_deepshop
from components.judge.protocols.universal.verdict import parse_outcome
from components.judge.rules import rule_of
from components.judge.rules.conditions import WebArenaRule
from components.judge.verdicts import (
    BLOCKED,
    KEEP,
    STATUS,
    VERDICT,
    VerdictForm,
    parse_verdict,
    read,
    read_points,
    read_score,
)
from components.records import Ending, Outcome, Reading, Termination, Trajectory
from tests.judge.webarena_episodes import ELSEWHERE
from tests.samples import a_task, a_trajectory

GOLDEN = Path(__file__).parent / "golden"
FORMS = {"openwebrl": VERDICT, "webvoyager": VERDICT, "webgym_rubric": VERDICT, "agenttrek": STATUS, "webjudge": STATUS}


def by(form: VerdictForm) -> Callable[[str, bool], str]:
    return lambda text, truncated: parse_verdict(text, truncated, form)[0].value


def yes_or_no(form: VerdictForm) -> Callable[[str, bool], str]:
    return lambda text, truncated: {True: "yes", False: "no", None: "unparsed"}[read(text, form, truncated)[0]]


PARSERS: dict[str, Callable[[str, bool], str]] = {
    **{name: by(form) for name, form in FORMS.items()},
    "deepshop": lambda text, truncated: parse_deepshop(text, truncated).outcome.value,
    "universal": lambda text, truncated: (
        "unparsed" if (answer := parse_outcome(text, truncated)) is None else answer.outcome.value
    ),
    "blocking": yes_or_no(BLOCKED),
    "webgym_keypage": yes_or_no(KEEP),
    "webjudge_score": lambda text, truncated: str(read_score(text, truncated)[0] or "unparsed"),
}
FILES = {path.stem: [json.loads(line) for line in path.read_text().splitlines()] for path in GOLDEN.glob("*.jsonl")}

KINDS = {"ordinary", "lookalike", "both", "truncated", "empty", "quoted", "language"}
"""The kinds of text that each file has: as asked for; words that hold or resemble the expected one ("unsuccessful");
both words; cut off; empty; quoted instructions, pages and answers; other languages."""
ITS_OWN = {
    "reference": KINDS | {"alternatives", "equal"},
    "rules": KINDS | {"spelling", "model"},
    "vote": {"alone", "even", "unanimous", "majority", "split", "outage"},
}


def test_every_parser_has_a_file_of_at_least_25_texts():
    assert set(FILES) == {*PARSERS, "webjudge_points", "reference", "rules", "vote"}
    assert {name: len(rows) for name, rows in FILES.items() if len(rows) < 25} == {}


def test_every_file_has_every_kind_of_text():
    missing = {name: ITS_OWN.get(name, KINDS) - {row["kind"] for row in rows} for name, rows in FILES.items()}
    assert {name: kinds for name, kinds in missing.items() if kinds} == {}
    texts = {name: [row["text"] for row in rows if "text" in row] for name, rows in FILES.items()}
    assert {name for name in texts if "" not in texts[name]} <= {"rules", "vote"}


@pytest.mark.parametrize("name", [*FORMS, "deepshop", "universal", "reference"])
def test_unsuccessful_is_in_every_file_whose_word_is_success(name):
    lookalikes = [row for row in FILES[name] if "unsuccessful" in (row["text"] or "").lower()]
    assert {row["kind"] for row in lookalikes} == {"lookalike"}
    assert "success" not in {row["outcome"] for row in lookalikes}


def test_a_text_is_read_as_its_golden_file_says():
    read_rows = {place: PARSERS[name](row["text"], row.get("truncated", False)) for place, name, row in rows()}
    assert len(read_rows) > 500
    assert differing(read_rows, {place: row["outcome"] for place, _, row in rows()}) == {}


def test_a_cut_off_response_is_never_read():
    read_rows = {place: PARSERS[name](row["text"], True) for place, name, row in rows()}
    assert differing(read_rows, dict.fromkeys(read_rows, "unparsed")) == {}


def rows() -> list[tuple[str, str, dict]]:
    """All rows of the parsers' files, each with its file and line and the name of its parser."""
    return [(f"{name}.jsonl:{line}", name, row) for name in PARSERS for line, row in enumerate(FILES[name], 1)]


def numbered(name: str) -> dict[str, dict]:
    """The rows of one file by file and line."""
    return {f"{name}.jsonl:{line}": row for line, row in enumerate(FILES[name], 1)}


def differing(found: dict[str, object], expected: dict[str, object]) -> dict[str, tuple[object, object]]:
    """Where both differ: (found, expected) by file and line."""
    assert found.keys() == expected.keys()
    return {place: (found[place], expected[place]) for place in found if found[place] != expected[place]}


def test_key_points_are_read_as_their_golden_file_says():
    points = {
        place: read_points(row["text"], row.get("truncated", False))
        for place, row in numbered("webjudge_points").items()
    }
    assert differing(points, {place: row["points"] for place, row in numbered("webjudge_points").items()}) == {}


def test_votes_are_counted_as_the_golden_file_says():
    counted = {}
    for place, row in numbered("vote").items():
        ruling = vote([Ruling(Outcome(outcome), "why") for outcome in row["votes"]])
        counted[place] = (ruling.outcome, ruling.rationale.count("why"))
    expected = {place: (row["outcome"], len(row["votes"])) for place, row in numbered("vote").items()}
    assert differing(counted, expected) == {}


def test_a_vote_without_voters_is_an_error():
    with pytest.raises(ValueError, match=r"judge\.model\.endpoint"):
        vote([])


def compared(row: dict, truncated: bool) -> tuple[Outcome, int]:
    """The outcome of comparing an answer with its references, and how often the model was asked."""
    requests = []

    async def ask(messages: list[Message], response_format: Message | None = None) -> Answer:
        requests.append(messages)
        finish = "length" if truncated else "stop"
        return Answer(
            text=row["text"], finish_reason=finish, prompt_tokens=1, completion_tokens=1, usd=0.0, latency_s=0.0
        )

    ruling = asyncio.run(says_the_same("Which is it?", row["references"], row["answer"], ask))
    return ruling.outcome, len(requests)


def test_answers_are_compared_with_references_as_their_golden_file_says():
    found, expected = {}, {}
    for place, row in numbered("reference").items():
        needs_model = row["text"] is not None
        found[place] = compared(row, row.get("truncated", False))
        expected[place] = (row["outcome"], int(needs_model))
        if needs_model:
            found[f"{place} cut off"] = compared(row, truncated=True)[0]
            expected[f"{place} cut off"] = Outcome.UNPARSED
    assert differing(found, expected) == {}


def test_rules_decide_as_their_golden_file_says():
    decided = {place: rules_verdict(episode(row)).outcome for place, row in numbered("rules").items()}
    assert differing(decided, {place: row["outcome"] for place, row in numbered("rules").items()}) == {}


def episode(row: dict) -> Trajectory:
    """The episode that a row about the rules describes."""
    rule, url = rule_of(row["evaluator"]), row.get("url", ELSEWHERE)
    pages = rule.pages if isinstance(rule, WebArenaRule) else []
    readings = [
        Reading(url=page.url, locator=page.locator, address=url, text=text, error="gone" if text is None else None)
        for page, text in zip(pages, row.get("texts", []), strict=True)
    ]
    return a_trajectory(
        a_task(evaluator=row["evaluator"]),
        answer=row["answer"],
        termination=Termination(row.get("termination", "done")),
        site_reward=row.get("reward"),
        ending=Ending(url=url, readings=readings),
    )
