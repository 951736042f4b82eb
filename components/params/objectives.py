"""The parameters of each objective of RL, `rl.objective`. The objectives are in `components/training/objectives`.

They are in this package and not with the objectives, because reading a recipe must not import torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeAlias, get_args

from pydantic import Field, model_validator
from typing_extensions import override

from components.params.choice import Choice
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
    name: str

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

    def trained_trajectories(self, sampled: SampledRound) -> float:
        """Expected number of trajectories that an update trains on: those of the effective groups."""
        return sampled.effective_groups * sampled.group_size


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
    def epochs(self) -> int:
        """Passes over an iteration's turns."""
        return self.ppo_epochs

    @property
    @override
    def refers_to_sft(self) -> bool:
        return self.reference == "sft"

    @property
    @override
    def reference_decay(self) -> float | None:
        return self.anchor_decay


class MMGRPOParams(PolicyGradientParams):
    """OpenWebRL, section 4.4 and table 7."""

    name: Literal["mm_grpo"] = "mm_grpo"
    """MM-GRPO."""
    clip_high: float = Field(default=0.28, gt=0)
    """ε_high: a ratio of probabilities above 1 + ε_high has no gradient for a token whose advantage is positive."""
    kl: float = Field(default=0.0, ge=0)
    """beta: the weight of a KL to the policy at the start of the phase, which is the SFT policy in the first phase, or
    to the one that `reference` names. The paper has none. With 0, no copy of that policy is kept. Above 0, `rl.top_p`
    must be 1."""
    replay: float = Field(default=0.0, ge=0)
    """Weight of the loss of SFT (nats per token) on demonstrations, which is added to the loss of each step, against
    forgetting (Ouyang et al. 2022, "Training language models to follow instructions with human feedback", section 3.5,
    mix pre-training gradients into PPO in this way). With 0, no demonstration is read."""
    replay_turns: Annotated[int, NotWith("replay", 0)] = Field(default=16, gt=0)
    """With `replay`: turns of demonstrations per optimiser step. The seed, the iteration and the step decide the draw;
    the iterations of the long phase count on from those of the short one."""

    @property
    @override
    def needs_reference(self) -> bool:
        return self.kl > 0


class MGRPOParams(PolicyGradientParams):
    """WebAgent-R1, section 2.3."""

    name: Literal["m_grpo"] = "m_grpo"
    """M-GRPO."""
    clip_high: float = Field(default=0.2, gt=0)
    """As in `mm_grpo`."""
    kl: float = Field(default=0.001, ge=0)
    """beta: the weight of the KL to the policy at the start of the phase, or to the one that `reference` names. With 0,
    no copy of that policy is kept. Above 0, `rl.top_p` must be 1."""

    @property
    @override
    def needs_reference(self) -> bool:
        return self.kl > 0


class FilteredBCParams(OnlineParams):
    """WebGym, section 5.1."""

    name: Literal["filtered_bc"] = "filtered_bc"
    """Filtered behaviour cloning."""
    epochs: Rounds = Field(default=2, gt=0)
    """Passes over an iteration's turns."""
    drop_repeats: bool = True
    """Leave out turns after which the screenshot did not change (WebGym, section 5.2)."""

    @override
    def trained_trajectories(self, sampled: SampledRound) -> float:
        """Expected number of trajectories that an update trains on: the successes."""
        return sampled.successes


class RFTParams(ObjectiveParams):
    """Rejection fine-tuning (BrowserAgent, sections 2.4 and B.5): an iteration is a round."""

    may_be_stale: ClassVar[bool] = False
    """False, because a round begins with the model of the round before it."""
    may_branch: ClassVar[bool] = False
    """False, because it learns from whole attempts."""
    trains_as_sft: ClassVar[bool] = True
    """True, because a round is supervised training."""
    trained_label: ClassVar[str] = "after RFT"
    """By the paper's name of this training."""
    name: Literal["rft"] = "rft"
    """Rejection fine-tuning."""
    epochs: Rounds = Field(default=2, gt=0)
    """Passes over the trajectories of a round."""
    demonstrations: float = Field(default=0.8, ge=0, le=1)
    """Share of the SFT demonstrations that is added to the data of a round."""
    max_per_source: dict[str, Annotated[int, Field(ge=0)]] | None = None
    """Maximum number of questions per source in a round. The name of a source is the stem of its task file. The paper
    has 400 of NQ and 673 of HotpotQA. A source without an entry has no maximum; null sets none."""

    @override
    def trained_trajectories(self, sampled: SampledRound) -> float:
        """Expected number of trajectories that a round trains on: one of each effective group, and demonstrations."""
        return sampled.effective_groups + self.demonstrations * sampled.demonstrations


Objective: TypeAlias = Annotated[
    MMGRPOParams | MGRPOParams | FilteredBCParams | RFTParams, Choice("name", default="mm_grpo")
]


def objective_kind(keys: Mapping[str, Any]) -> type[ObjectiveParams]:
    """The section of the kind that `rl.objective` names, from its keys as YAML gives them.

    Raises:
        StopIteration: there is no such kind.
    """
    kinds, choice = get_args(Objective)
    return next(kind for kind in get_args(kinds) if kind.model_fields["name"].default == choice.kind_of(keys))
