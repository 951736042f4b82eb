"""This project's own schema: the fields of `Task`."""

from __future__ import annotations

from pydantic import model_validator

from components.records import Task
from components.tasks.fields import NonEmpty
from components.tasks.site_addresses import PlacedAddress


class TaskRow(Task):
    """The fields of `Task`; `source` is the file's unless the row names one."""

    task_id: NonEmpty
    intent: NonEmpty
    start_url: PlacedAddress
    website: NonEmpty
    source: str = ""

    @model_validator(mode="after")
    def _require_unique_groups(self) -> TaskRow:
        ids = [group.id for group in self.rubric]
        if len(set(ids)) < len(ids):
            raise ValueError("rubric: two fact groups have the same id")
        return self

    def task(self, source: str) -> Task:
        """The task of this row."""
        return Task.model_validate(self.model_dump() | {"source": self.source or source})
