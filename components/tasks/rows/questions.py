"""Open questions with short golden answers: NQ, HotpotQA and others, as BrowserAgent publishes them (section 3)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from components.records import Record, Task
from components.tasks.fields import Id, NonEmpty


class QuestionRow(Record):
    """An open question with golden answers; `metadata` is not kept."""

    id: Id
    question: NonEmpty
    golden_answers: Annotated[list[NonEmpty], Field(min_length=1)]
    metadata: dict[str, Any] | None = None

    def task(self, source: str) -> Task:
        """The task of this row."""
        return Task(
            task_id=f"{source}/{self.id}",
            intent=self.question,
            start_url="__WIKIPEDIA__",
            website="wikipedia",
            source=source,
            split="eval",
            reference_answer="; ".join(self.golden_answers),
            evaluator={"type": "qa", "answers": self.golden_answers},
        )
