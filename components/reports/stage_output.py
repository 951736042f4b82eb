"""The base of all records that are read from a stage's JSON."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class StageOutput(BaseModel):
    """A part of a stage's JSON; other keys are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")
