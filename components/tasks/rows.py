"""The rows of task files as they are published, and the task that each stands for.

A schema is a record with `task(source)`; `schema_of` chooses it by the row's field names. Benchmark rows are evaluation
tasks: their intents are what training tasks must not overlap with. Not covered: WebArena, whose start pages are
placeholders until its sites run somewhere.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, model_validator

from components.records import FactGroup, Record, Task

_BALANCED_BOLD = re.compile(r"\*\*([^*]+)\*\*")
_GLUED_BULLET = re.compile(r"\w- [A-Z*]")

NonEmpty = Annotated[str, Field(pattern=r"\S")]
"""Text with at least one character that can be seen."""


def website_of(url: str) -> str:
    """The website of a start page: its host, lower case, without `www.`.

    Raises:
        ValueError: it is no http(s) URL, or has a password in it.
    """
    parts = urlsplit(url)
    if parts.password is not None:
        raise ValueError(f"{parts.hostname}: an address with a password would be copied into every trajectory")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{url!r} is no http(s) address")
    return parts.hostname.removeprefix("www.")


Address = Annotated[str, BeforeValidator(lambda url: (website_of(url), url)[1] if isinstance(url, str) else url)]
"""An http(s) address."""


class WebVoyagerRow(Record):
    """WebVoyager (He et al. 2024), JSONL; also the revision that Fara evaluates on."""

    web_name: NonEmpty
    id: NonEmpty
    ques: NonEmpty
    web: Address

    def task(self, source: str) -> Task:
        return Task(
            task_id=f"{source}/{self.id}",
            intent=self.ques,
            start_url=self.web,
            website=website_of(self.web),
            source=source,
            split="eval",
            subdomain=self.web_name,
        )


class OnlineMind2WebRow(Record):
    """Online-Mind2Web (Xue et al. 2025), a JSON list; revised tasks carry a dated id."""

    task_id: NonEmpty
    confirmed_task: NonEmpty
    website: Address
    reference_length: int = Field(ge=0)
    level: Literal["easy", "medium", "hard"]

    def task(self, source: str) -> Task:
        return Task(
            task_id=f"{source}/{self.task_id}",
            intent=self.confirmed_task,
            start_url=self.website,
            website=website_of(self.website),
            source=source,
            split="eval",
            evaluator={"type": "online_mind2web", "level": self.level, "reference_length": self.reference_length},
        )


def _unbold(text: object) -> object:
    """The file's literal "None" is None, and balanced bold marks go; what is left garbled is an error.

    The garbled values of the published file are two streams written over each other: a mark left open, or a bullet
    glued to the word before it.
    """
    if not isinstance(text, str):
        return text
    if text == "None":
        return None
    plain = _BALANCED_BOLD.sub(r"\1", text).strip()
    if not plain or "**" in plain or _GLUED_BULLET.search(plain):
        raise ValueError("is garbled")
    return plain


Constraint = Annotated[str | None, BeforeValidator(_unbold)]


class DeepShopRow(Record):
    """DeepShop (Lyu et al. 2025), JSONL: WebVoyager's fields and up to three constraints on the product."""

    web_name: NonEmpty
    id: NonEmpty
    ques: NonEmpty
    web: Address
    attribute: Constraint
    filter: Constraint
    sort: Constraint
    category: NonEmpty
    difficulty: Literal["easy", "medium", "hard"]

    def task(self, source: str) -> Task:
        constraints = {"attribute": self.attribute, "filter": self.filter, "sort": self.sort}
        rubric = [
            FactGroup(id=kind, description=f"the product's {kind}", facts=[text])
            for kind, text in constraints.items()
            if text
        ]
        return Task(
            task_id=f"{source}/{self.id}",
            intent=self.ques,
            start_url=self.web,
            website=website_of(self.web),
            source=source,
            split="eval",
            domain="shopping",
            subdomain=self.category,
            difficulty=len(rubric),
            rubric=rubric,
            evaluator={"type": "deepshop", "level": self.difficulty},
        )


class TaskRow(Task):
    """Our own schema, the fields of `Task`; `source` is the file's unless the row names one."""

    task_id: NonEmpty
    intent: NonEmpty
    start_url: Address
    website: NonEmpty
    source: str = ""

    @model_validator(mode="after")
    def _groups_differ(self) -> TaskRow:
        ids = [group.id for group in self.rubric]
        if len(set(ids)) < len(ids):
            raise ValueError("rubric: two fact groups have the same id")
        return self

    def task(self, source: str) -> Task:
        return Task.model_validate(self.model_dump() | {"source": self.source or source})


Row = WebVoyagerRow | OnlineMind2WebRow | DeepShopRow | TaskRow
ROWS: tuple[type[Row], ...] = (WebVoyagerRow, OnlineMind2WebRow, DeepShopRow, TaskRow)


def schema_of(row: dict) -> type[Row] | None:
    """The schema that shares most field names with a row, the smaller one of two; None if none shares any."""
    shared = {schema: len(schema.model_fields.keys() & row.keys()) for schema in ROWS}
    best = max(ROWS, key=lambda schema: (shared[schema], -len(schema.model_fields)))
    return best if shared[best] else None
