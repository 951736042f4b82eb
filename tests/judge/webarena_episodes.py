"""Episodes made from rows of WebArena's files, with the expected answers and pages or with others."""

from __future__ import annotations

import json
from pathlib import Path

from components.judge.rules.conditions import Exactly, Expectation, Includes, MeansSame, WebArenaRule
from components.judge.rules.specs import rule_of
from components.records import Ending, Reading, Task, Termination, Trajectory

OURS = Path(__file__).parent / "fixtures/webarena_rows.json"
ANNOTATED = Path(__file__).parent / "fixtures/webarena_annotated_rows.json"
"""Rows of our own with the answers that authors note beside references: each is like the published rows that `like`
names, and `refused` says why its references refuse this answer."""
PUBLISHED = Path(__file__).parents[2].parent / "shared/data"
FILES = {
    "webarena_812.raw.json": 812,
    "webarena_lite_165.raw.json": 165,
    "webarena_lite_train_647.json": 647,
}
ELSEWHERE = "http://elsewhere.example/"


def rows(path: Path) -> list[dict]:
    return json.loads(path.read_text())


def ours(number: int) -> dict:
    """A row of the fixture by its number."""
    return next(row for row in rows(OURS) if row["task_id"] == number)


def task_of(row: dict) -> Task:
    """The task of a row, with the published `eval` as it is."""
    return Task(
        task_id=f"webarena/{row['task_id']}",
        intent=row["intent"],
        start_url=row["start_url"],
        website=row["sites"][0],
        source="webarena",
        evaluator={"type": "webarena", "eval": row["eval"], "sites": row["sites"]},
    )


def rule_of_row(row: dict) -> WebArenaRule:
    rule = rule_of(task_of(row).evaluator)
    assert isinstance(rule, WebArenaRule)
    return rule


def reference(expectation: Expectation) -> str:
    """A text that meets an expectation."""
    match expectation:
        case Exactly(text=text):
            return text
        case Includes(phrases=phrases):
            return "; ".join(alternatives[0] for alternatives in phrases)
        case MeansSame(references=references):
            return ", ".join(references)
    return "N/A"


def episode(
    row: dict, answer: str, url: str = ELSEWHERE, texts: list[str | None] | None = None, **changes: object
) -> Trajectory:
    """An episode that ended with `done` at `url`. `texts` are those of the rule's pages, None if unread."""
    pages = rule_of_row(row).pages
    texts = [""] * len(pages) if texts is None else texts
    readings = [
        Reading(url=page.url, locator=page.locator, address=url, text=text, error=None if text is not None else "gone")
        for page, text in zip(pages, texts, strict=True)
    ]
    fields = {
        "trajectory_id": "t",
        "task": task_of(row),
        "attempt": 0,
        "policy": "p",
        "protocol": "openwebrl",
        "seed": 0,
        "turns": [],
        "termination": Termination.DONE,
        "answer": answer,
        "ending": Ending(url=url, readings=readings),
    }
    return Trajectory.model_validate(fields | changes)


def right(row: dict, **changes: object) -> Trajectory:
    """The successful episode that the row's own references describe."""
    rule = rule_of_row(row)
    url = rule.ends_at.addresses[0] if rule.ends_at is not None else ELSEWHERE
    texts = ["\n".join(map(reference, page.expects)) for page in rule.pages]
    return episode(row, "; ".join(map(reference, rule.answer)), url, texts, **changes)
