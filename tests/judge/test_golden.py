"""Each parser against its golden file: texts of judges, hostile ones included, and what must be made of them.

So too what is compared with references, and the rules, which read answers. Each row is of a kind, and each file has all
kinds that such texts come in.
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
from components.judge.rules import rule_of
from components.judge.rules.specs import WebArenaRule
from components.judge.verdicts import BLOCKED, KEEP, STATUS, VERDICT, Form, parse_verdict, read, read_points, read_score
from components.records import Ending, Outcome, Reading, Termination
from tests.judge.webarena import ELSEWHERE
from tests.samples import a_task, a_trajectory

GOLDEN = Path(__file__).parent / "golden"
FORMS = {"openwebrl": VERDICT, "webvoyager": VERDICT, "webgym_rubric": VERDICT, "agenttrek": STATUS, "webjudge": STATUS}


def by(form: Form) -> Callable[[str, bool], str]:
    return lambda text, truncated: parse_verdict(text, truncated, form)[0].value


def yes_or_no(form: Form) -> Callable[[str, bool], str]:
    return lambda text, truncated: {True: "yes", False: "no", None: "unparsed"}[read(text, form, truncated)[0]]


PARSERS: dict[str, Callable[[str, bool], str]] = {
    **{name: by(form) for name, form in FORMS.items()},
    "deepshop": lambda text, truncated: parse_deepshop(text, truncated).outcome.value,
    "blocking": yes_or_no(BLOCKED),
    "webgym_keypage": yes_or_no(KEEP),
    "webjudge_score": lambda text, truncated: str(read_score(text, truncated)[0] or "unparsed"),
}
FILES = {path.stem: [json.loads(line) for line in path.read_text().splitlines()] for path in GOLDEN.glob("*.jsonl")}
CASES = [(name, row) for name in PARSERS for row in FILES[name]]

KINDS = {"ordinary", "lookalike", "both", "truncated", "empty", "quoted", "language"}
"""Of every file of texts: as asked for; words that hold or resemble the one that is looked for ("unsuccessful"); both
words; cut off; nothing; instructions, pages and answers that are quoted or give orders; other languages."""
ITS_OWN = {
    "reference": KINDS | {"alternatives", "equal"},
    "rules": KINDS | {"spelling", "model"},
    "vote": {"alone", "even", "unanimous", "majority", "split", "outage"},
}


def test_every_parser_has_a_file_of_at_least_25_texts():
    assert set(FILES) == {*PARSERS, "webjudge_points", "reference", "rules", "vote"}
    assert {name: len(rows) for name, rows in FILES.items() if len(rows) < 25} == {}


@pytest.mark.parametrize("name", FILES)
def test_every_file_has_every_kind_of_text(name):
    assert ITS_OWN.get(name, KINDS) - {row["kind"] for row in FILES[name]} == set()
    texts = [row["text"] for row in FILES[name] if "text" in row]
    assert "" in texts or name in ("rules", "vote")


@pytest.mark.parametrize("name", [*FORMS, "deepshop", "reference"])
def test_unsuccessful_is_in_every_file_whose_word_is_success(name):
    said = [row for row in FILES[name] if "unsuccessful" in (row["text"] or "").lower()]
    assert {row["kind"] for row in said} == {"lookalike"}
    assert "success" not in {row["outcome"] for row in said}


@pytest.mark.parametrize("name, row", CASES, ids=[f"{name}-{number}" for number, (name, _) in enumerate(CASES)])
def test_a_text_is_read_as_its_golden_file_says(name, row):
    assert PARSERS[name](row["text"], row.get("truncated", False)) == row["outcome"]


@pytest.mark.parametrize("name, row", CASES, ids=[f"{name}-{number}" for number, (name, _) in enumerate(CASES)])
def test_what_was_cut_off_is_never_read(name, row):
    assert PARSERS[name](row["text"], True) == "unparsed"


@pytest.mark.parametrize("row", FILES["webjudge_points"], ids=range(len(FILES["webjudge_points"])))
def test_key_points_are_read_as_their_golden_file_says(row):
    assert read_points(row["text"], row.get("truncated", False)) == row["points"]


@pytest.mark.parametrize("row", FILES["vote"], ids=["-".join(row["votes"]) for row in FILES["vote"]])
def test_votes_are_counted_as_their_golden_file_says(row):
    ruling = vote([Ruling(Outcome(said), "why") for said in row["votes"]])
    assert ruling.outcome == row["outcome"]
    assert ruling.rationale.count("why") == len(row["votes"])


def test_nobody_is_no_jury():
    with pytest.raises(ValueError, match=r"judge\.endpoint"):
        vote([])


def compared(row: dict, truncated: bool) -> tuple[Outcome, int]:
    """What comes of comparing an answer, and how often the model was asked."""
    asked = []

    async def ask(messages: list[Message], response_format: Message | None = None) -> Answer:
        asked.append(messages)
        finish = "length" if truncated else "stop"
        return Answer(
            text=row["text"], finish_reason=finish, prompt_tokens=1, completion_tokens=1, usd=0.0, latency_s=0.0
        )

    ruling = asyncio.run(says_the_same("Which is it?", row["references"], row["answer"], ask))
    return ruling.outcome, len(asked)


@pytest.mark.parametrize("row", FILES["reference"], ids=range(len(FILES["reference"])))
def test_answers_are_compared_with_references_as_their_golden_file_says(row):
    needs_model = row["text"] is not None
    assert compared(row, row.get("truncated", False)) == (row["outcome"], int(needs_model))
    if needs_model:
        assert compared(row, truncated=True)[0] is Outcome.UNPARSED


@pytest.mark.parametrize("row", FILES["rules"], ids=range(len(FILES["rules"])))
def test_rules_decide_as_their_golden_file_says(row):
    rule, url = rule_of(row["evaluator"]), row.get("url", ELSEWHERE)
    pages = rule.pages if isinstance(rule, WebArenaRule) else []
    readings = [
        Reading(url=page.url, locator=page.locator, address=url, text=text, error="gone" if text is None else None)
        for page, text in zip(pages, row.get("texts", []), strict=True)
    ]
    trajectory = a_trajectory(
        a_task(evaluator=row["evaluator"]),
        answer=row["answer"],
        termination=Termination(row.get("termination", "done")),
        site_reward=row.get("reward"),
        ending=Ending(url=url, readings=readings),
    )
    assert rules_verdict(trajectory).outcome == row["outcome"]
