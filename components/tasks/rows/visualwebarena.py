"""VisualWebArena (Koh et al. 2024), a JSON list: WebArena's schema, with images as a part of the intent.

The images of an intent open in tabs of their own behind the start page, where the agent can look at them with
`switch_tab`; the published harness puts them into the prompt. Most of them are on the benchmark's own homepage
(`__HOMEPAGE__`). `evaluator["eval"]` is the published `eval` object, unchanged. `viewport_size` is not kept, because
the viewport belongs to the recipe of the model.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field

from components.records import TABS, Record, Task
from components.tasks.rows.webarena import WebArenaRow
from components.tasks.site_addresses import PlacedAddress

_MISSPELLED = {"mediun": "medium", "hrad": "hard"}
"""Levels of two published rows."""
_Level = Annotated[
    Literal["easy", "medium", "hard"],
    BeforeValidator(lambda value: _MISSPELLED.get(value, value) if isinstance(value, str) else value),
]


class VisualEval(Record):
    """The common fields of `eval` objects; `judge.rules` validates their parts."""

    model_config = ConfigDict(extra="allow")

    eval_types: Annotated[
        list[Literal["string_match", "url_match", "program_html", "page_image_query"]], Field(min_length=1)
    ]
    reference_answers: dict[str, Any] | None = None


def _listed(value: object) -> object:
    """Make a list of the image of an intent: rows have one address, several, or none."""
    return [] if value in (None, "") else [value] if isinstance(value, str) else value


class VisualWebArenaRow(WebArenaRow):
    """A task on VisualWebArena's sites. The levels of difficulty are its authors'."""

    eval: VisualEval  # type: ignore[assignment]  # of the same form, with one more type of evaluation
    image: Annotated[list[PlacedAddress], BeforeValidator(_listed)] = Field(default_factory=list)
    viewport_size: dict[str, int] | None = None
    reasoning_difficulty: _Level
    visual_difficulty: _Level
    overall_difficulty: _Level
    comments: str = ""
    reference_url: str | None = None

    def task(self, source: str) -> Task:
        """The task of this row."""
        task = super().task(source)
        evaluator = task.evaluator | {
            "type": "visualwebarena",
            "level": self.overall_difficulty,
            "reasoning_difficulty": self.reasoning_difficulty,
            "visual_difficulty": self.visual_difficulty,
            "images": self.image,
        }
        del evaluator["old_task_id"]
        start_url = TABS.join([self.start_url, *self.image])
        return task.model_copy(update={"start_url": start_url, "evaluator": evaluator})
