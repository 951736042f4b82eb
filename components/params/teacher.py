"""The section of the teacher, whose trajectories are the training data of SFT."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from components.params.choice import Choice
from components.params.data import EndpointParams
from components.params.harness import SamplingParams
from components.params.section import Attempts, Section, Steps


class _TeacherParams(Section):
    policy: str
    """Who teaches."""
    tasks: int = Field(gt=0)
    """Tasks of the SFT pool that the teacher tries."""
    attempts: Attempts = Field(default=4, gt=0)
    """Attempts at each task."""
    max_steps: Steps = Field(default=8, gt=0)
    """Step limit of an attempt; a task may have a lower one."""


class ScriptedTeacherParams(_TeacherParams):
    """A program that can do the tasks of an offline world."""

    policy: Literal["scripted"] = "scripted"
    """A program that can do the tasks, which their world brings."""
    noise: float = Field(default=0.2, ge=0, le=1)
    """Probability per episode that the teacher makes a mistake, so that some attempts fail."""

    @property
    def sampling(self) -> SamplingParams:
        """The sampling parameters that trajectories record."""
        return SamplingParams()


class EndpointTeacherParams(_TeacherParams):
    """A model behind an OpenAI-compatible endpoint."""

    policy: Literal["endpoint"] = "endpoint"
    """A model behind an endpoint."""
    endpoint: EndpointParams
    temperature: float = Field(default=1.0, ge=0)
    """Temperature of its answers; 0 is greedy."""

    @property
    def sampling(self) -> SamplingParams:
        """The model's sampling parameters."""
        return SamplingParams(temperature=self.temperature)


Teacher: TypeAlias = Annotated[ScriptedTeacherParams | EndpointTeacherParams, Choice("policy", default="scripted")]
