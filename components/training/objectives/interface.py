"""The interface of the objectives of RL: what one needs, how it trains, and which figures it adds.

An objective that `rl.objective.name` names is an `Objective` in a module of its own in this package, whose `KIND` it
is, or in another distribution (`registry.py`). Nothing outside the module names it: the learner asks the objective what
it needs and lets it train. Most are a `policy_gradient.PolicyGradient`, which needs credits and a loss per turn only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import ClassVar, Self

import torch

from components.agent import Renderer
from components.model import VLM, Encoder
from components.params import Params
from components.records import Task, Trajectory
from components.rollout import Group, SampledGroups, rewards_differ
from components.tasks import Funnel
from components.training.workers import Workers


@dataclass(frozen=True)
class UpdateContext:
    """What the update of one iteration works with, on one process."""

    vlm: VLM
    encoder: Encoder
    params: Params
    optimizer: torch.optim.Optimizer
    """The phase's optimiser, whose state lasts over the iterations."""
    seed: int
    """Decides the order of the samples."""
    reference: VLM | None = None
    """The policy with which the phase began, if the objective needs one."""
    demonstrations: Sequence[Trajectory] = ()
    """The trajectories of SFT, if the objective needs them."""
    workers: Workers = field(default_factory=Workers)
    stale: bool = False
    """The groups were sampled with older weights, so the log-probabilities of trainer and rollout may differ."""
    progress: Callable[[int, int], None] = lambda done, total: None
    """Gets optimiser steps done and in all."""

    @property
    def renderer(self) -> Renderer:
        """Renders prompts as the rollout did."""
        return Renderer(self.params.agent, self.params.observation, self.params.model.think_prefix)


@dataclass(frozen=True)
class UpdateStats:
    """Health of one update: figures of its iteration.

    `logprob_gap_max` and `logprob_gap_mean` (trainer against rollout, over tokens) and `packing_gap` (packed against
    single samples) are in nats, measured before the first step; `packed` is 0 if the latter was too large.
    `tokens_per_s` counts prompts and responses of all turns in each pass, that of the reference included, and of the
    demonstrations that are trained on, as if no prefix were shared. `images`, `preparations_per_image` and
    `encodings_per_image` are those of `ImageFigures`. `train_s` is the wall time of the update, and `encoding_s`,
    `forward_s`, `backward_s` and `optimizer_s` are parts of it (`UpdateClock`), in seconds of the main process. The
    rest are means over the optimiser steps; `grad_norm` is before clipping.

    None is what the update did not measure: all that is compared with the rollout if the objective compares nothing,
    the KL if it has no reference, and the norm if no step was taken.
    """

    turns: int
    steps: int
    packed: float
    packing_gap: float
    loss: float
    tokens_per_s: float
    train_s: float
    logprob_gap_max: float | None = None
    logprob_gap_mean: float | None = None
    ratio_mean: float | None = None
    clip_fraction: float | None = None
    kl_mean: float | None = None
    grad_norm: float | None = None
    images: float = 0.0
    preparations_per_image: float = 0.0
    encodings_per_image: float = 0.0
    encoding_s: float = 0.0
    forward_s: float = 0.0
    backward_s: float = 0.0
    optimizer_s: float = 0.0

    def figures(self) -> dict[str, float]:
        """What was measured, by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}


NO_UPDATE = UpdateStats(
    turns=0,
    steps=0,
    packed=1.0,
    packing_gap=0.0,
    loss=0.0,
    tokens_per_s=0.0,
    train_s=0.0,
)
"""The figures of an iteration without an effective group, which changes no weight."""


class Objective(ABC):
    """What an RL iteration minimises, and how. Implementations are frozen dataclasses of their section."""

    name: ClassVar[str]
    """Its value of `rl.objective.name`."""

    @classmethod
    @abstractmethod
    def from_params(cls, params: Params) -> Self:
        """The objective with its section of the recipe, `rl.objective`."""

    @property
    def needs_reference(self) -> bool:
        """Whether a frozen copy of the policy with which the phase began must be kept. It must agree with the section's
        `needs_reference`, which `waymark plan` reads."""
        return False

    @property
    def needs_demonstrations(self) -> bool:
        """Whether the update trains on the trajectories of SFT, too."""
        return False

    def problem(self, tasks: Sequence[Task]) -> str | None:
        """Why the objective's section does not fit the tasks of the RL pool, and the remedy; None by default."""
        return None

    def can_learn_from(self, rewards: Sequence[float]) -> bool:
        """Whether a group is effective. By default its rewards must differ.

        Args:
            rewards: of the members that are not masked.
        """
        return rewards_differ(rewards)

    def training_groups(self, sampled: SampledGroups) -> list[Group]:
        """The groups of an iteration that `update` gets; by default the effective ones."""
        return sampled.effective

    @abstractmethod
    def update(self, context: UpdateContext, groups: Sequence[Group]) -> UpdateStats:
        """Train in place on the groups of one iteration. All ranks call this alike.

        Raises:
            Diverged: a gradient is not finite.
            TrainerMismatch: the trainer does not see what the policy saw.
        """

    def figures(self, groups: Sequence[Group]) -> dict[str, float]:
        """Figures of an iteration besides `UpdateStats`, named after the objective; by default none."""
        return {}

    def selection(self, groups: Sequence[Group]) -> Funnel | None:
        """How `update` selects from all attempts of an iteration, step by step. It becomes figures of the iteration
        (`Funnel.figures`), which the report draws; None: there is no selection to report."""
        return None

    def summary(self, figures: Mapping[str, float]) -> str:
        """These figures as words for the iteration's line on the screen; by default none."""
        return ""
