"""WebArena (Zhou et al. 2024), WebArena-Lite (VisualAgentBench) and WebArena-Lite's training tasks, JSON lists.

`evaluator["eval"]` is the published `eval` object, unchanged. The template of an intent and its values are not kept;
`intent_template_id` is, since tasks of one template are variants of each other.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from components.records import Record, Task
from components.tasks.fields import Id, NonEmpty
from components.tasks.site_addresses import PlacedAddress, website_of_start


class Eval(Record):
    """The common fields of `eval` objects; `judge.rules` validates their parts."""

    model_config = ConfigDict(extra="allow")

    eval_types: Annotated[list[Literal["string_match", "url_match", "program_html"]], Field(min_length=1)]
    reference_answers: dict[str, Any] | None
    reference_url: str | None
    program_html: list[dict[str, Any]]


class WebArenaRow(Record):
    """A task on one or two of WebArena's own sites. `old_task_id` is WebArena's number of a task of WebArena-Lite."""

    sites: Annotated[list[NonEmpty], Field(min_length=1)]
    task_id: Id
    require_login: bool
    storage_state: str | None
    start_url: PlacedAddress
    geolocation: dict[str, Any] | None
    intent_template: str
    instantiation_dict: dict[str, Any]
    intent: NonEmpty
    require_reset: bool
    eval: Eval
    intent_template_id: int
    old_task_id: int | None = None
    string_note: str | None = None

    def task(self, source: str) -> Task:
        """The task of this row."""
        published = self.eval.model_dump()
        fields = {"sites", "require_login", "storage_state", "geolocation", "require_reset", "intent_template_id"}
        return Task(
            task_id=f"{source}/{self.task_id}",
            intent=self.intent,
            start_url=self.start_url,
            website=website_of_start(self.start_url),
            source=source,
            split="eval",
            reference_answer=published.get("reference_answer_raw_annotation") or None,
            evaluator={
                "type": "webarena",
                **self.model_dump(include=fields),
                "old_task_id": self.old_task_id,
                "eval": published,
            },
        )
