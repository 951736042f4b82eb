"""The section of online reinforcement learning."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, model_validator

from components.params.choice import Choice
from components.params.construction import RatioParams
from components.params.dependence import NotIf, OnlyWith
from components.params.harness import SamplingParams
from components.params.objectives import MMGRPOParams, Objective
from components.params.optim import Decay, Shuffle
from components.params.section import Attempts, Groups, NoEffect, Rounds, Section, Seed, Steps
from components.params.validation import CheckpointParams, ValidationParams


class RunningRates(Section):
    """The running averages by website, which estimate how many groups a wave needs."""

    memory: float = Field(default=0.2, gt=0, le=1)
    """Weight of the newest group in a website's averages. 0.2 covers about five groups."""
    first_rate: float = Field(default=0.5, gt=0, le=1)
    """Expected share of effective groups of a website before its first group."""
    min_rate: float = Field(default=0.1, gt=0, le=1)
    """Lowest expected share of a website, so that a change is noticed."""
    min_wave_rate: float = Field(default=0.25, gt=0, le=1)
    """Lowest expected share of all tasks when a wave is sized: at 0.25, a wave has at most four times as many groups as
    are still needed."""
    min_wave: int = Field(default=2, ge=1)
    """Groups of a wave, at least, so that the end of an iteration does not try tasks one by one. Only for waves:
    without `rl.open_groups`."""


class UniformSampling(RunningRates):
    """Uniform passes over all tasks (OpenWebRL)."""

    name: Literal["uniform"] = "uniform"
    """Uniform passes."""


class AdaptiveSampling(RunningRates):
    """Samples more tasks from websites whose recent groups had different rewards."""

    name: Literal["adaptive"] = "adaptive"
    """By the effective groups of each website."""
    min_groups: int = Field(default=0, ge=0)
    """Groups of each website (a family of a world) that an iteration samples before it draws by rate, as far as its
    groups suffice: what the policy has learned is practised, too."""


class RatioSampling(RatioParams, RunningRates):
    """Cycles of easy, medium and hard tasks (WebGym, section 5.3): `{name: ratio, easy: 2, medium: 5, hard: 3}`."""

    name: Literal["ratio"] = "ratio"
    """By difficulty."""


TaskSampling: TypeAlias = Annotated[
    UniformSampling | AdaptiveSampling | RatioSampling, Choice("name", default="uniform")
]


class BranchParams(Section):
    """Further episodes that begin at turns of a group's episodes, in the same state, and go on apart."""

    per_group: Attempts = Field(gt=0)
    """Turns of each effective group from which branches begin: of any of its episodes, and never the first turn. Each
    turn is taken once, and a group with fewer turns has fewer branches."""
    continuations: Attempts = Field(gt=0)
    """Branches that begin at each of these turns."""
    turn: Literal["uniform", "entropy"] = "uniform"
    """How turns are drawn: all alike, or in proportion to the mean of -log p over the tokens of their responses, which
    prefers turns at which the policy was undecided."""


NOT_AS_SFT = NotIf("objective", lambda kind: kind.trains_as_sft)
"""Annotation of settings of the optimiser that an objective with supervised rounds takes from the section `sft`."""


class RLPhase(Section):
    """One phase of the horizon curriculum."""

    iterations: Rounds = Field(ge=0)
    """With 0 the phase is skipped, and its model is the model before it."""
    max_steps: Steps = Field(gt=0)
    """Step limit of an episode; a task may have a lower one (`tasks.horizon`)."""


class RLParams(Section):
    """Online reinforcement learning: MM-GRPO by default (OpenWebRL, section 4.4 and table 7)."""

    short: RLPhase
    long: RLPhase
    objective: Objective = MMGRPOParams()
    """The objective that is minimised (`components/training/objectives`), with its own keys."""
    group_size: Attempts = Field(default=5, ge=2)
    """G: attempts at one task, whose rewards are compared."""
    extra_attempts: Attempts = Field(default=0, ge=0)
    """Further attempts at a task of whose first `group_size` ones none succeeded; they join its group. Hard tasks get
    more rollouts, as in DARS (Yang et al. 2025, "Depth-Breadth Synergy in RLVR"). The figures of reward and success
    are over the first `group_size` attempts at each task."""
    effective_groups: Groups = Field(gt=0)
    """Groups with different rewards that an iteration collects."""
    max_sampled_groups: int = Field(gt=0)
    """Maximum number of groups that an iteration samples to collect them."""
    open_groups: int | None = Field(default=None, ge=1)
    """Groups that may be open at once. A group's place becomes free when it and all groups that began before it have
    ended and were judged, so that equal seeds give equal groups, whichever end first. Set it so that the open groups
    have about three times as many episodes as there are browsers.
    Null: waves of groups; the next one begins when all episodes of a wave have ended and were judged."""
    branches: BranchParams | None = None
    """Branches, from which turns have advantages of their own: the reward minus the mean reward of all that continued
    from the same state (VinePPO, arXiv 2410.01679). An effective group then has up to `per_group` times `continuations`
    further episodes. They need a world whose episodes can be replayed, as `World.replayable` says. Null: none."""
    task_sampling: Annotated[TaskSampling, OnlyWith("open_groups", None, part="min_wave")] = UniformSampling()
    """The method that selects the tasks of an iteration."""
    idle_iterations: int = Field(default=3, ge=1)
    """This many iterations in a row without an effective group end the phase, unless the policy masters its tasks."""
    task_seed: Seed | None = None
    """Seed of the order in which tasks are drawn. Null: the recipe's `seed`."""
    sampling_seed: Seed | None = None
    """Seed of the attempts, and of the order of turns in the updates. Null: the recipe's `seed`. With other seeds here
    and the same `seed`, RL begins again from the same policy and the same pool of tasks, so a study can tell what SFT
    does to its result from what RL's own draws do."""
    max_staleness: int = Field(default=0, ge=0)
    """Maximum number of updates by which the weights of rollouts may be older. With 0, rollouts wait for the update
    before them. Above 0, rollouts run during the updates of earlier iterations, and each allowed update needs memory
    for two more copies of the weights."""
    temperature: float = Field(default=0.8, gt=0)
    """Temperature of the attempts."""
    top_p: float = Field(default=1.0, gt=0, le=1)
    """Attempts are sampled from the likeliest tokens alone, which have this probability together; 1: from all. The
    objectives see the same distribution, so a token that is likelier than `top_p` has no gradient: what is learned are
    the places at which the policy was undecided. OpenWebRL and WebAgent-R1 have 1, WebGym 0.99 (table 6)."""
    format_error: float = Field(default=-1.0, ge=-1, le=0)
    """Reward of an episode that ended by repeated format errors (OpenWebRL, A.4). The other papers use 0."""
    action_cost: float = Field(default=0.0, ge=0, lt=1)
    """Subtracted from the reward of a success for each action (a call other than scroll, wait and done); a success
    keeps at least 0.1. Failures cost nothing, so that giving up early is worth nothing (Arora and Zanette 2025,
    "Training Language Models to Reason Efficiently", have lengths of correct answers). The papers have none."""
    lr: float = Field(gt=0)
    """Learning rate of AdamW."""
    betas: tuple[Decay, Decay] = (0.9, 0.98)
    """Decay rates of AdamW's two moments."""
    weight_decay: float = Field(default=0.1, ge=0)
    """AdamW's weight decay."""
    max_grad_norm: float = Field(default=1.0, gt=0)
    """Norm to which longer gradients are scaled down."""
    warmup_steps: Annotated[int, NOT_AS_SFT] = Field(default=0, ge=0)
    """Optimiser steps over which the learning rate grows linearly to `lr`. The steps of an optimiser that is carried
    over count. RFT warms up as `sft.warmup` says, in every round."""
    carry_optimizer: Annotated[bool, NOT_AS_SFT] = True
    """The long phase begins with the optimiser of the policy that the short phase published. Adapters begin anew in
    each phase, and so does their optimiser. Each round of RFT has an optimiser of its own."""
    batch_turns: int = Field(default=256, gt=0)
    """Turn samples per optimiser step."""
    shuffle: Annotated[Shuffle, NOT_AS_SFT] = "turns"
    """The unit that an epoch shuffles; RFT has `sft.shuffle`. `trajectories` keeps the turns of an episode in one step,
    or two, where they share their history: on an H200, a trajectory of 15 turns took a fifth of the time of its turns
    one by one. `turns` mixes the steps better."""
    micro_batch_tokens: Annotated[int, NoEffect] = Field(default=8192, gt=0)
    """Tokens of the packed rows that one forward and backward pass takes."""
    max_packing_gap: Annotated[float | None, NoEffect] = Field(default=None, gt=0)
    """As in the section `sft`."""
    validation: ValidationParams = ValidationParams()
    checkpoints: CheckpointParams = CheckpointParams()

    @property
    def sampling(self) -> SamplingParams:
        """How attempts are sampled, and of which distribution the objectives are."""
        return SamplingParams(temperature=self.temperature, top_p=self.top_p)

    @model_validator(mode="after")
    def _rollback_by_validation(self) -> RLParams:
        if self.checkpoints.rollback is not None and not self.validation.every:
            raise ValueError(
                f"checkpoints.rollback = {self.checkpoints.rollback} goes back when validation falls, and there is no "
                "validation: set validation.every and validation.tasks, or checkpoints.rollback to null"
            )
        return self

    @model_validator(mode="after")
    def _kl_of_whole_distributions(self) -> RLParams:
        if self.top_p < 1 and self.objective.needs_reference:
            otherwise = ", or rl.objective.kl to 0" if "kl" in type(self.objective).model_fields else ""
            raise ValueError(
                f"rl.objective.name = {self.objective.name} compares the policy with a reference policy, which needs "
                f"attempts from the whole distribution, and rl.top_p = {self.top_p} leaves tokens out, which differ "
                f"between the two policies: set rl.top_p to 1{otherwise}"
            )
        return self

    @model_validator(mode="after")
    def _rounds_in_turn(self) -> RLParams:
        if self.max_staleness and not self.objective.may_be_stale:
            raise ValueError(
                f"rl.max_staleness = {self.max_staleness} has no meaning for rl.objective.name = "
                f"{self.objective.name}, whose rounds begin with its model: set it to 0"
            )
        return self

    @model_validator(mode="after")
    def _branches_have_advantages(self) -> RLParams:
        if self.branches is not None and not self.objective.may_branch:
            raise ValueError(
                f"rl.branches has no meaning for rl.objective.name = {self.objective.name}, which has no advantages: "
                "set rl.branches to null, or the objective to mm_grpo or m_grpo"
            )
        return self

    @model_validator(mode="after")
    def _enough_groups(self) -> RLParams:
        if self.max_sampled_groups < self.effective_groups:
            raise ValueError(
                f"max_sampled_groups = {self.max_sampled_groups} must be at least "
                f"effective_groups = {self.effective_groups}"
            )
        return self
