"""What every objective's section has, and what online objectives and policy gradients share."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Annotated, ClassVar, Literal, NamedTuple

from pydantic import Field, model_validator
from typing_extensions import override

from components.params.dependence import NotWith
from components.params.section import NoEffect, Rounds, Section


class SampledRound(NamedTuple):
    """An expected iteration, by numbers of trajectories, for `waymark plan`."""

    sampled: float
    successes: float
    effective_groups: float
    group_size: int
    demonstrations: float
    """Those that SFT learned from."""


class ObjectiveParams(Section):
    """What the trainer and `waymark plan` ask of every objective; each section overrides what differs."""

    may_be_stale: ClassVar[bool] = True
    """Whether rollouts may use older weights (`rl.max_staleness`)."""
    may_branch: ClassVar[bool] = False
    """Whether branches give its turns advantages of their own (`rl.branches`)."""
    trains_as_sft: ClassVar[bool] = False
    """Whether each iteration is supervised training with an optimiser of its own, which takes its warm-up and its
    shuffle from the section `sft`, and not from `rl`."""
    trained_label: ClassVar[str] = "after RL"
    """The name of the trained policy in the table of `make demo`."""
    objective_class: ClassVar[str] = ""
    """The class of the objective, as `package.module:Class`. Empty: the attribute `KIND` of the module in
    `components/training/objectives` that has the section's name."""
    name: str

    @model_validator(mode="after")
    def _class_is_there(self) -> ObjectiveParams:
        """Without importing it, because it needs torch."""
        module = type(self).objective_class.partition(":")[0]
        if module and not _is_module(module):
            raise ValueError(
                f"the class of the objective {self.name} is to be {type(self).objective_class}, and there is no module "
                f"{module}: correct {type(self).__name__}.objective_class"
            )
        return self

    @property
    def needs_reference(self) -> bool:
        """Whether training keeps a copy of the policy with which the phase began, and scores each turn with it."""
        return False

    @property
    def refers_to_sft(self) -> bool:
        """Whether that policy is the SFT policy in the long phase, too, which then loads it beside its own."""
        return False

    @property
    def reference_decay(self) -> float | None:
        """d: after each iteration the reference becomes d times itself plus 1 - d times the trained policy, and
        checkpoints hold it. None: the reference stays as it is, and no checkpoint holds it."""
        return None

    @property
    def passes(self) -> int:
        """How often an update trains on each turn."""
        return 1

    def trained_trajectories(self, sampled: SampledRound) -> float:
        """Expected number of trajectories that an update trains on: those of the effective groups."""
        return sampled.effective_groups * sampled.group_size


def _is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):  # a package above it is missing, or it is no name
        return False


class OnlineParams(ObjectiveParams):
    """An objective that updates on the log-probabilities of the policy that acted."""

    max_logprob_gap: Annotated[float | None, NoEffect] = Field(default=None, gt=0)
    """Largest gap in nats between trainer and rollout on a token before the first update of an iteration. The run stops
    if the gap is larger. null follows from `model.dtype`: 1e-3 in float32; 5 in bfloat16, where the log-probabilities
    of single tokens differ by several nats."""
    max_mean_logprob_gap: Annotated[float | None, NoEffect] = Field(default=None, gt=0)
    """The same for the mean over tokens. null is 1e-4 in float32 and 0.05 in bfloat16."""


class PolicyGradientParams(OnlineParams):
    """An objective with a clipped ratio of policies."""

    may_branch: ClassVar[bool] = True
    ppo_epochs: Rounds = Field(default=2, gt=0)
    """Passes over an iteration's turns."""
    clip_low: float = Field(default=0.2, gt=0)
    """ε_low: a ratio below 1 - ε_low has no gradient for a token whose advantage is negative."""
    tis_cap: float | None = Field(default=None, gt=0)
    """Truncated importance sampling: cap of the weight of a token, which is the trainer's probability over that of the
    rollout. With it the ratio and its clip are against the trainer's weights before the update. It corrects for servers
    that compute otherwise than the trainer, and with `rl.max_staleness` for older weights: that is the decoupled ratio
    (Hilton et al. 2022, "Batch size-invariance for policy optimization"; AsyncWebRL, arXiv 2606.05597). Null: the ratio
    is against the rollout's own log-probabilities."""
    dual_clip: float | None = Field(default=None, gt=1)
    """c: a token with a negative advantage A counts at most as c A (Ye et al. 2020, "Mastering Complex Control in MOBA
    Games with Deep Reinforcement Learning", where c is 3). Null sets no bound: a token that became 5 nats likelier
    since the rollout then weighs 148 times as much as at first."""
    advantage_std: Literal["group", "batch", "none"] = "group"
    """The standard deviation by which rewards above the group's mean are divided: the group's own (the papers), that of
    all scored rewards of the iteration's effective groups (Liu et al. 2025, "Part I: Tricks or Traps?"), or none (Liu
    et al. 2025, "Understanding R1-Zero-Like Training", which shows that the group's own favours very easy and very hard
    tasks)."""

    anchor_decay: float | None = Field(default=None, ge=0, lt=1)
    """d: after each iteration the policy to which `kl` refers becomes d times itself plus 1 - d times the trained one,
    a moving average of the weights (Ramé et al. 2024, "WARP: On the Benefits of Weight Averaged Rewarded Policies",
    arXiv 2406.16768). Checkpoints then hold its weights, too. Null keeps the policy at the start of the phase."""

    reference: Literal["phase", "sft"] = "phase"
    """The policy to which `kl` refers: that with which the phase began, or the SFT policy in the long phase, too. The
    long phase then loads the SFT policy beside its own."""

    kl_linear_from: Annotated[float, NotWith("kl", 0.0)] = Field(default=3.0, gt=0)
    """d: where the policy gives a token less than e^-d of the reference's probability, the estimate of the KL continues
    as its tangent. Otherwise its gradient grows exponentially, and one such token outweighs all others."""

    @model_validator(mode="after")
    def _reference_is_used(self) -> PolicyGradientParams:
        if self.reference == "sft" and not self.needs_reference:
            raise ValueError(
                "rl.objective.reference = sft names the policy to which rl.objective.kl refers, and kl is 0: set kl "
                "above 0, or reference to phase"
            )
        if self.reference == "sft" and self.anchor_decay is not None:
            raise ValueError(
                f"rl.objective.anchor_decay = {self.anchor_decay} moves the policy that rl.objective.reference = sft "
                "keeps: set anchor_decay to null, or reference to phase"
            )
        return self

    @model_validator(mode="after")
    def _anchor_is_used(self) -> PolicyGradientParams:
        if self.anchor_decay is not None and not self.needs_reference:
            raise ValueError(
                f"rl.objective.anchor_decay = {self.anchor_decay} moves the policy to which rl.objective.kl refers, "
                "and kl is 0: set kl above 0, or anchor_decay to null"
            )
        return self

    @property
    @override
    def passes(self) -> int:
        return self.ppo_epochs

    @property
    @override
    def refers_to_sft(self) -> bool:
        return self.reference == "sft"

    @property
    @override
    def reference_decay(self) -> float | None:
        return self.anchor_decay
