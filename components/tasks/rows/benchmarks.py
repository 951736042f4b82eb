"""Benchmarks on the live web: WebVoyager, Online-Mind2Web, DeepShop."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field

from components.records import FactGroup, Record, Task
from components.tasks.fields import Address, Id, NonEmpty, website_of

_BALANCED_BOLD = re.compile(r"\*\*([^*]+)\*\*")
_GLUED_BULLET = re.compile(r"\w- [A-Z*]")


class WebVoyagerRow(Record):
    """WebVoyager (He et al. 2024), JSONL; also the revision that Fara evaluates on, and PAE's training set."""

    web_name: NonEmpty
    id: Id
    ques: NonEmpty
    web: Address

    def task(self, source: str) -> Task:
        """The task of this row."""
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
    """Online-Mind2Web (Xue et al. 2025), a JSON list; revised tasks have a dated id."""

    task_id: NonEmpty
    confirmed_task: NonEmpty
    website: Address
    reference_length: int = Field(ge=0)
    level: Literal["easy", "medium", "hard"]

    def task(self, source: str) -> Task:
        """The task of this row."""
        return Task(
            task_id=f"{source}/{self.task_id}",
            intent=self.confirmed_task,
            start_url=self.website,
            website=website_of(self.website),
            source=source,
            split="eval",
            evaluator={"type": "online_mind2web", "level": self.level, "reference_length": self.reference_length},
        )


def _plain(text: str | None) -> str | None:
    """The text without balanced bold marks; the file's literal "None" becomes None."""
    return None if text is None or text == "None" else _BALANCED_BOLD.sub(r"\1", text).strip()


def _is_garbled(text: str | None) -> bool:
    """True if two texts are written over each other: a bold mark is open, or a bullet directly follows a word."""
    plain = _plain(text)
    return plain is not None and (not plain or "**" in plain or _GLUED_BULLET.search(plain) is not None)


class DeepShopRow(Record):
    """DeepShop (Lyu et al. 2025), JSONL: WebVoyager's fields and up to three constraints on the product.

    In three published rows the constraints are garbled and mixed with each other. These tasks have no rubric: agent and
    judge read only the question. `garbled` in the evaluator names the affected fields.
    """

    web_name: NonEmpty
    id: NonEmpty
    ques: NonEmpty
    web: Address
    attribute: str | None
    filter: str | None
    sort: str | None
    category: NonEmpty
    difficulty: Literal["easy", "medium", "hard"]

    def task(self, source: str) -> Task:
        """The task of this row."""
        constraints = {"attribute": self.attribute, "filter": self.filter, "sort": self.sort}
        garbled = [kind for kind, text in constraints.items() if _is_garbled(text)]
        rubric = [
            FactGroup(id=kind, description=f"the product's {kind}", facts=[plain])
            for kind, text in constraints.items()
            if (plain := _plain(text)) and not garbled
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
            difficulty=None if garbled else len(rubric),
            rubric=rubric,
            evaluator={"type": "deepshop", "level": self.difficulty} | ({"garbled": garbled} if garbled else {}),
        )
