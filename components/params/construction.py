"""The sections of tasks by difficulty: their construction by a model, and the ratio in which RL draws them."""

from __future__ import annotations

from pydantic import Field, model_validator

from components.params.data import EndpointParams
from components.params.section import Section


class ConstructionParams(Section):
    """Construction of tasks (WebGym, section 3)."""

    endpoint: EndpointParams
    """The model that proposes rubrics and tasks. The paper uses GPT-4o."""
    temperature: float | None = Field(default=0.0, ge=0)
    """null uses the default of the endpoint; some reasoning models accept nothing else."""
    max_response_tokens: int = Field(default=4096, gt=0)
    """Limit of one response in tokens."""
    max_tries: int = Field(default=3, gt=0)
    """Answers of the model to one question. The next question contains the error in the last answer."""
    max_subtasks: int | None = Field(default=64, gt=0)
    """Maximum number of subtasks of one task, a seeded sample; null takes all, as the paper does."""
    wordings: int = Field(default=1, gt=0, le=20)
    """Other wordings of each task (`waymark tasks paraphrase`)."""
    test_websites: int = Field(default=1167, gt=0)
    """Websites of the held-out test set, with one task each."""


class RatioParams(Section):
    """The numbers of easy, medium and hard tasks in each cycle of tasks (WebGym, section 5.3)."""

    easy: int = Field(ge=0, le=1000)
    """Easy tasks in each cycle."""
    medium: int = Field(ge=0, le=1000)
    """Medium tasks in each cycle."""
    hard: int = Field(ge=0, le=1000)
    """Hard tasks in each cycle."""

    @model_validator(mode="after")
    def _something_is_sampled(self) -> RatioParams:
        if self.easy + self.medium + self.hard == 0:
            raise ValueError("a ratio of 0:0:0 samples nothing; 2:5:3 is biased to hard tasks, 1:0:0 takes easy ones")
        return self
