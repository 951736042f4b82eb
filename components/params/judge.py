"""The section of judges: sources of labels and rewards, the model judge, the distilled judge and its validation."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from components.params.data import EndpointParams
from components.params.dependence import NotWith, OnlyWith
from components.params.kind_name import KindName
from components.params.learning import VLLMParams
from components.params.optim import OptimParams
from components.params.section import Attempts, NoEffect, Section

JudgeProtocolName = Annotated[str, KindName("judge_protocols")]


class ModelJudgeParams(Section):
    """A judge that is a model behind an endpoint."""

    endpoint: EndpointParams
    voters: list[EndpointParams] = Field(default_factory=list)
    """Additional models that vote; more than half of all models must agree (BrowserAgent: 2 of 3)."""
    protocol: JudgeProtocolName = "openwebrl"
    """The form of the prompts and answers (`components/judge/protocols`)."""
    screenshots: Annotated[int, OnlyWith("protocol", "openwebrl")] = Field(default=3, ge=0)
    """The number of last screenshots in the protocol `openwebrl`. The other protocols have their own numbers."""
    temperature: float | None = Field(default=0.0, ge=0)
    """null uses the default of the endpoint, which some reasoning models require."""
    max_answer_tokens: int = Field(default=4096, gt=0)
    """Limit per question, including the reasoning."""
    on_outage: Literal["mask", "pause", "fail"] = "mask"
    """If the endpoint does not answer: mask the trajectories, wait until it answers again, or end the stage."""

    @model_validator(mode="after")
    def _votes_are_decided(self) -> ModelJudgeParams:
        if len(self.voters) % 2:
            raise ValueError(
                f"judge.model.endpoint and {len(self.voters)} voters may be divided equally: name an even number of "
                "voters"
            )
        return self


class RetrainParams(Section):
    """Further training of the distilled judge while it rewards RL (`components/training/judge_retraining.py`)."""

    every: int = Field(gt=0)
    """Iterations of a phase after which the judge is trained again."""
    share: float = Field(default=0.1, gt=0, le=1)
    """Share of the rollouts with a label of the auditor that the judge learns from. The figures of the audit are of all
    of them, before the judge learns from any."""
    rehearsed: int = Field(default=256, ge=0)
    """Examples of its first training that it learns from again each time, against forgetting. `distill_judge` draws
    them."""
    optim: OptimParams
    """Of each training, which begins with the judge of the stage `distill_judge`."""


class DistillParams(Section):
    """The distilled judge: the rollouts of the SFT policy for its training data, and its training (OpenWebRL, 4.3)."""

    rollout_tasks: int = Field(gt=0)
    """Tasks of the pool for SFT that the SFT policy tries."""
    rollout_attempts: Attempts = Field(gt=0)
    """Attempts at each of them."""
    rollout_temperature: float = Field(default=1.0, ge=0)
    """Temperature of these attempts."""
    holdout_share: float = Field(default=0.2, gt=0, lt=1)
    """Share of the tasks (not of the trajectories) that is held out to measure agreement."""
    screenshots: int = Field(default=3, ge=0)
    """The number of last screenshots in its prompt."""
    max_response_tokens: int = Field(default=256, gt=0)
    """Limit of the judge's answer in tokens. If more than half of the answers that it is to learn are longer, the stage
    refuses to train it."""
    decoding_tokens: Annotated[int, NoEffect] = Field(default=65536, gt=0)
    """Tokens of the verdicts that are decoded together: rows times the longest question with its answer. At most 32
    rows are decoded together. This bounds the key-value cache, which has 112 KiB per token for Qwen3-VL-2B."""
    vllm: VLLMParams | None = None
    """vLLM servers that answer for it while it rewards RL, with GPUs of their own (`first_gpu`) or by URL. Null: it
    answers in the process of the stage, on the first device of the trainer. With another `judge.reward` they would
    answer nothing, and are refused."""
    balance: bool = True
    """Give both classes the same share of the loss, however rare one is and however long its rationales are."""
    mismatched: float = Field(default=0, ge=0, le=1)
    """Further failures to learn from, as a share of the successful attempts: such an attempt with the task of another
    attempt at the same website (`components/judge/mismatched.py`). Only for tasks that ask for different things."""
    other_answers: float = Field(default=0, ge=0, le=1)
    """Share of the attempts that are shown with another answer and keep their label, so that no text of an answer
    convinces the judge. Only attempts at tasks whose success does not depend on the answer
    (`components/judge/other_answers.py`)."""
    optim: OptimParams
    retrain: RetrainParams | None = None
    """Train the judge again while it rewards RL, on rollouts that the auditor labelled. Null: it stays as it is. With
    another `judge.reward` nothing would be trained, and it is refused."""

    @model_validator(mode="after")
    def _retrained_weights_are_in_the_stage(self) -> DistillParams:
        if self.vllm is not None and self.retrain is not None:
            raise ValueError(
                "judge.distill.retrain changes the judge's weights, and servers keep those that they began with: leave "
                "out judge.distill.vllm, or judge.distill.retrain"
            )
        return self

    @model_validator(mode="after")
    def _served_weights_stay(self) -> DistillParams:
        if self.vllm is not None and (self.vllm.sleeps or self.vllm.transfer != "disk"):
            key = "sleeps = true" if self.vllm.sleeps else f"transfer = {self.vllm.transfer}"
            raise ValueError(
                f"judge.distill.vllm.{key} is for servers whose weights RL changes, and it does not change those of "
                "the judge: leave it out"
            )
        return self


class TrustLabels(Section):
    """Labels from outside of this run, with which a judge is compared."""

    file: str = Field(min_length=1)
    """A CSV file of `trajectory_id` and `outcome`, a verdicts.parquet, or AgentRewardBench's annotations.csv."""
    trajectories: str = Field(default="data/judge/trajectories.parquet", min_length=1)
    """The labelled trajectories: a trajectories.parquet, or another file or folder that `waymark judge run` reads."""


class TrustParams(Section):
    """The measurement of a judge's agreement with labels, and the agreement that it must reach."""

    min_agreement: float = Field(default=0.0, ge=0, le=1)
    """A judge may reward RL only if its agreement with the labels is at least this, and above that of a judge that
    always gives the more frequent label. A distilled judge is measured on held-out trajectories. A model is measured on
    `labels`, or without them, if rules label, on the trajectories of judge_rollouts. 0 turns the measurement off."""
    min_precision: float = Field(default=0.0, ge=0, le=1)
    """A phase of RL ends when the auditor calls fewer than this share of the judge's successes a success, on average
    over three iterations: the policy has learned to please the judge. The best policy on validation is published, so
    `rl.validation.every` must be above 0. The auditor is the rules, or the model that labels. 0 never ends a phase."""
    audit_share: Annotated[float, OnlyWith("labels", None)] = Field(default=0.1, ge=0, le=1)
    """Share of RL's judged rollouts that the model judges too, to measure its agreement with the distilled judge. This
    applies if the model labels and the distilled judge rewards. If rules label, they judge all rollouts, because they
    cost nothing. It is also the share of the labelled rollouts on which a rewarding model is compared with the rules
    before RL. Where neither applies, another value than the default is refused."""
    labels: TrustLabels | None = None
    """Labels, for example by people, with which a rewarding model is compared. The model judges all of these
    trajectories. A model that also labels needs them."""


class JudgeParams(Section):
    """Labels, reward, model judges and judge distillation.

    `labels` and `reward` are two choices that share `model`, `distill` and `trust`, so no union by one of them has the
    right keys. A key that both choices together ignore is refused (`dependence`).
    """

    labels: Literal["rules", "model"] = "rules"
    """The judge of the teacher's trajectories, of the distilled judge's training data and of evaluations."""
    reward: Literal["rules", "distilled", "model"] = "rules"
    """The judge of RL rollouts."""
    model: ModelJudgeParams | None = None
    """The model that judges if `labels` or `reward` is `model`, and for rules that need a model."""
    distill: Annotated[
        DistillParams,
        OnlyWith("reward", "distilled", part="vllm"),
        OnlyWith("reward", "distilled", part="retrain"),
    ]
    trust: Annotated[TrustParams, NotWith("reward", "rules")] = TrustParams()

    @model_validator(mode="after")
    def _model_is_named(self) -> JudgeParams:
        if self.model is None and "model" in (self.labels, self.reward):
            raise ValueError(
                "judge.labels or judge.reward asks for a model: name it in judge.model.endpoint, with a url and a model"
            )
        return self

    @model_validator(mode="after")
    def _precision_can_be_measured(self) -> JudgeParams:
        least = self.trust.min_precision
        if least and self.reward in ("rules", self.labels):
            raise ValueError(
                f"judge.trust.min_precision = {least} compares the judge that rewards with another one that labels, "
                f"and judge.reward = {self.reward} leaves none: set it to 0, or judge.reward to another judge than "
                "judge.labels"
            )
        if least and self.labels == "model" and not self.trust.audit_share:
            raise ValueError(
                f"judge.trust.min_precision = {least} is measured on audited rollouts, and judge.trust.audit_share = 0 "
                "audits none: raise it, or set min_precision to 0"
            )
        return self

    @model_validator(mode="after")
    def _retraining_has_labels(self) -> JudgeParams:
        retrain = self.distill.retrain
        if retrain is not None and self.labels == "model" and not self.trust.audit_share:
            raise ValueError(
                "judge.distill.retrain learns from audited rollouts, and judge.trust.audit_share = 0 audits none: "
                "raise it, or leave out judge.distill.retrain"
            )
        return self

    @model_validator(mode="after")
    def _agreement_can_be_measured(self) -> JudgeParams:
        least, labels = self.trust.min_agreement, self.trust.labels
        held = self.reward == "model" and least > 0
        if held and self.labels == "model" and labels is None:
            raise ValueError(
                f"judge.trust.min_agreement = {least} cannot be measured, since the model that rewards labels, too: "
                "name trajectories with labels by people in judge.trust.labels, set judge.labels to rules, or "
                "judge.trust.min_agreement to 0, which lets it reward unmeasured"
            )
        if labels is not None and not held:
            raise ValueError(
                f"judge.trust.labels measures a model that rewards, with judge.reward = {self.reward} and "
                f"judge.trust.min_agreement = {least} there is nothing to measure: set it to null, or judge.reward to "
                "model and judge.trust.min_agreement above 0"
            )
        return self

    @model_validator(mode="after")
    def _audited_share_is_read(self) -> JudgeParams:
        share, trust = self.trust.audit_share, self.trust
        if share == TrustParams().audit_share or trust.labels is not None or self.reward == "rules":
            return self  # an annotation says that it has no effect with labels, and without another judge than rules
        problem = ""
        if self.reward == "distilled" and self.labels == "rules":
            problem = "rules label, and they judge all rollouts: leave it out, or set judge.labels to model"
        elif self.reward == "model" and self.labels == "model":
            problem = (
                "the model that rewards labels, too, and no other judge audits it: leave it out, or set judge.reward "
                "to distilled"
            )
        elif self.reward == "model" and not trust.min_agreement:
            problem = (
                "judge.trust.min_agreement = 0 compares no sample with the labels: leave it out, or set min_agreement "
                "above 0"
            )
        if problem:
            raise ValueError(f"judge.trust.audit_share = {share} has no effect: {problem}")
        return self
