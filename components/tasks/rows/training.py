"""Training sets: WebGym (section 3) and InSTA-v3 (Trabucco et al. 2025)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, Discriminator, Field, Tag

from components.records import FactGroup, Record, Task
from components.tasks.fields import AddressOrHost, Id, NonEmpty, website_of
from components.tasks.files import parse_json


class Criterion(Record):
    """A fact group that is published only as a description and a number of facts."""

    description: NonEmpty
    difficulty: int = Field(ge=0)


def _group(value: object) -> object:
    """Make a group's id text; some rows have numbers."""
    return value | {"id": str(value["id"])} if isinstance(value, dict) and type(value.get("id")) is int else value


def _unquoted(value: object) -> object:
    """Parse lists that a table has as JSON text, and drop the empty fields that Parquet adds to each item.

    Raises:
        ValueError: the text is JSON that no row may have, such as a list that is nested too deeply.
    """
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = parse_json(value)
        except json.JSONDecodeError:
            return value
    if isinstance(value, list):
        return [
            {key: field for key, field in item.items() if field is not None} if isinstance(item, dict) else item
            for item in value
        ]
    return value


def _form(value: object) -> str:
    """The form of a reference, by its first item."""
    first = value[0] if isinstance(value, list) and value else None
    match first:
        case str():
            return "texts"
        case {"facts": _} | FactGroup():
            return "groups"
        case None:
            return "text"
    return "criteria"


_Group = Annotated[FactGroup, BeforeValidator(_group)]
Reference = Annotated[
    Annotated[NonEmpty, Tag("text")]
    | Annotated[list[NonEmpty], Tag("texts")]
    | Annotated[list[_Group], Tag("groups")]
    | Annotated[list[Criterion], Tag("criteria")],
    Discriminator(_form),
    BeforeValidator(_unquoted),
]


class WebGymRow(Record):
    """A task of WebGym. `evaluator_reference` has four forms: text, texts, criteria with a difficulty, fact groups.

    A text is one fact group with one fact; each of several texts is a group with one fact; each criterion is a group
    with its description as the fact, and its difficulty is kept in the evaluator, because its facts are not published.
    `difficulty` is the published number of facts; without it, the facts are counted, or the criteria's difficulties
    added. `definite_answer` is the reference answer; if it is only `true`, the text is the answer.
    """

    benchmark_name: NonEmpty
    task_name: NonEmpty
    domain: str | None = None
    subdomain: str | None = None
    website: AddressOrHost
    definite_answer: str | bool | None = None
    task_id: Id
    difficulty: int | None = Field(default=None, ge=0)
    evaluator_reference: Reference | None = None
    task_id_decomposed_from: Id | None = None

    def task(self, source: str) -> Task:
        """The task of this row."""
        reference, answer = self.evaluator_reference, self.definite_answer
        if answer is True:
            answer = reference if isinstance(reference, str) else None
        evaluator: dict[str, Any] = {"type": "webgym", "benchmark": self.benchmark_name}
        rubric = rubric_of(reference)
        facts = sum(len(group.facts) for group in rubric)
        if isinstance(reference, list) and isinstance(reference[0], Criterion):
            difficulties = [criterion.difficulty for criterion in reference if isinstance(criterion, Criterion)]
            evaluator["difficulties"], facts = difficulties, sum(difficulties)
        return Task(
            task_id=f"{source}/{self.task_id}",
            intent=self.task_name,
            start_url=self.website,
            website=website_of(self.website),
            source=source,
            domain=self.domain,
            subdomain=self.subdomain,
            difficulty=facts or None if self.difficulty is None else self.difficulty,
            rubric=rubric,
            reference_answer=answer or None,
            evaluator=evaluator,
            decomposed_from=self.task_id_decomposed_from and f"{source}/{self.task_id_decomposed_from}",
        )


def rubric_of(reference: str | list[str] | list[FactGroup] | list[Criterion] | None) -> list[FactGroup]:
    """The fact groups of a reference of any form."""
    rubric: list[FactGroup] = []
    items: Sequence[str | FactGroup | Criterion] = [reference] if isinstance(reference, str) else reference or []
    for number, item in enumerate(items, start=1):
        text = item if isinstance(item, str) else item.description
        rubric.append(
            item if isinstance(item, FactGroup) else FactGroup(id=str(number), description=text, facts=[text])
        )
    return rubric


class InstaRow(Record):
    """A task of InSTA-v3: a website, an instruction, a model's proposed steps, and criteria of success.

    Rows have no id; the task's id is a hash of website and instruction, so a repeated task is rejected.
    """

    website: AddressOrHost
    instruction: NonEmpty
    steps: list[str]
    criteria: list[NonEmpty]

    def task(self, source: str) -> Task:
        """The task of this row."""
        name = hashlib.sha256(f"{self.website}\x00{self.instruction}".encode(errors="replace")).hexdigest()[:16]
        groups = [FactGroup(id="1", description="the task's criteria", facts=self.criteria)] if self.criteria else []
        return Task(
            task_id=f"{source}/{name}",
            intent=self.instruction,
            start_url=self.website,
            website=website_of(self.website),
            source=source,
            difficulty=len(self.criteria) or None,
            rubric=groups,
            evaluator={"type": "insta", "steps": self.steps},
        )
