"""The sections of what learns, and how it is measured."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from components.params.construction import RatioParams
from components.params.data import EndpointParams
from components.params.harness import SamplingParams
from components.params.section import Section

Decay = Annotated[float, Field(ge=0, lt=1)]
"""A decay rate of Adam's."""


class LoRAParams(Section):
    """Low-rank adapters on the language model's linear layers (Hu et al., 2021)."""

    rank: int = Field(gt=0)
    alpha: float = Field(gt=0)
    """An adapter's output is scaled by alpha / rank."""
    dropout: float = Field(default=0.0, ge=0, lt=1)
    """Of an adapter's input in supervised training. RL uses none, where it would be noise in the ratio of policies."""


class ModelParams(Section):
    """The policy and the judge, both Qwen3-VL."""

    base: str
    """Directory or Hugging Face name of the policy's base; `data/base_model` is the small one that ships here."""
    judge_base: str
    """The same for the judge."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    device: Literal["cpu", "cuda"] = "cpu"
    train_vision: bool = False
    """False freezes the vision tower in SFT and RL (OpenWebRL, section 4.2)."""
    lora: LoRAParams | None = None
    """Train adapters instead of the weights, in SFT, judge distillation and RL; null trains the weights."""
    gradient_checkpointing: bool = False
    """Compute activations again in the backward pass: less memory, about a third more time."""
    think_prefix: bool = False
    """True if the chat template of the base opens `<think>` itself (Qwen3-VL Thinking models)."""

    @model_validator(mode="after")
    def _adapters_leave_vision(self) -> ModelParams:
        if self.lora is not None and self.train_vision:
            raise ValueError(
                "model.lora puts no adapters into the vision tower, and model.train_vision = true asks to train it: "
                "set model.train_vision to false, or model.lora to null"
            )
        return self


class VLLMParams(Section):
    """Our vLLM servers, which run in an environment of their own."""

    python: str = ".venv-vllm/bin/python"
    """The Python of that environment."""
    servers: int = Field(default=1, gt=0)
    gpus_per_server: int = Field(default=1, gt=0)
    """Tensor-parallel size; nothing on a CPU."""
    first_gpu: int = Field(default=0, ge=0)
    """The servers' GPUs begin here; those before are the trainer's."""
    max_in_flight: int = Field(default=256, gt=0)
    """Requests per server; more wait here."""
    start_timeout_s: float = Field(default=900, gt=0)
    engine: dict[str, str | int | float | bool | None] = Field(default_factory=dict)
    """More of vLLM's engine arguments, such as `gpu_memory_utilization`."""


class InferenceParams(Section):
    """What samples from the policy."""

    engine: Literal["transformers", "vllm"] = "transformers"
    """`transformers`: the model in the stage's own process. `vllm`: servers that the stage starts."""
    vllm: VLLMParams = VLLMParams()


class TrainingParams(Section):
    """Where SFT, the judge and RL train. It changes no result but for rounding, so no stage depends on it."""

    processes: int = Field(default=1, gt=0)
    """Processes that train together, one per GPU; more than one are started by `accelerate launch`."""
    shard: bool = False
    """Spread weights, gradients and optimiser state over the processes (FSDP), instead of a copy in each."""


class OptimParams(Section):
    """Supervised training."""

    epochs: int = Field(gt=0)
    lr: float = Field(gt=0)
    batch_size: int = Field(gt=0)
    """Turn samples per optimiser step."""
    micro_batch_tokens: int = Field(default=8192, gt=0)
    max_packing_gap: float = Field(default=1e-4, gt=0)
    """Largest gap in nats between packed and single samples up to which packing is used; bfloat16 needs about 0.1."""
    warmup: float = Field(default=0.1, ge=0, le=1)
    """Share of the steps that warm up linearly; then cosine to 0."""
    weight_decay: float = Field(default=0.0, ge=0)
    max_grad_norm: float = Field(default=1.0, gt=0)


class SFTParams(OptimParams):
    """Supervised training of the policy."""

    shuffle: Literal["turns", "trajectories"] = "turns"
    """What an epoch, and one of RFT, shuffles. Turns of a trajectory that come into one batch share their history, and
    a batch of whole trajectories takes a fraction of the time (`training.packing`); single turns mix it better."""


JudgeProtocolName = Literal[
    "openwebrl", "webvoyager", "webvoyager_hinted", "agenttrek", "webjudge", "deepshop", "webgym_rubric"
]


class TrustParams(Section):
    """Labels that no judge of this run gave, to measure agreement on; `waymark judge calibrate` reads them, too."""

    labels: str = Field(min_length=1)
    """A CSV file of `trajectory_id` and `outcome`, a verdicts.parquet, or AgentRewardBench's annotations.csv."""
    trajectories: str = Field(default="data/judge/trajectories.parquet", min_length=1)
    """What they are on: a trajectories.parquet, or AgentRewardBench's folder `trajectories`."""


class JudgeParams(Section):
    """Labels, reward, model judges and judge distillation."""

    labels: Literal["rules", "model"] = "rules"
    """Who labels the teacher's trajectories, the judge's training data and evaluations."""
    reward: Literal["rules", "distilled", "model"] = "rules"
    """Who rewards RL rollouts."""
    protocol: JudgeProtocolName = "openwebrl"
    """How a model behind an endpoint is asked: `components/judge/protocols`."""
    endpoint: EndpointParams | None = None
    """The model that judges where `labels` or `reward` say `model`, and where a rule needs a reader."""
    voters: list[EndpointParams] = Field(default_factory=list)
    """More models that judge beside it; more than half of all must agree (BrowserAgent: 2 of 3)."""
    temperature: float | None = Field(default=0.0, ge=0)
    """Of a model behind an endpoint; null leaves it to the endpoint, as some reasoning models want."""
    max_answer_tokens: int = Field(default=4096, gt=0)
    """Of a model behind an endpoint, per question, reasoning included."""
    on_outage: Literal["mask", "pause", "fail"] = "mask"
    """When the endpoint does not answer: mask what it was to judge, wait until it is back, or end the stage."""
    audit_share: float = Field(default=0.1, ge=0, le=1)
    """Share of RL's judged rollouts that a model judges too, where it labels and the distilled judge rewards, to see
    how far the two agree. Where rules label, they judge all of what another rewards: they cost nothing. Also the share
    of the labelled rollouts on which a model that rewards is held against the rules before RL."""
    rollout_tasks: int = Field(gt=0)
    rollout_attempts: int = Field(gt=0)
    rollout_temperature: float = Field(default=1.0, ge=0)
    holdout_share: float = Field(default=0.2, gt=0, lt=1)
    """Share of the tasks (never trajectories) held out to measure agreement."""
    screenshots: int = Field(default=3, ge=0)
    """Last screenshots that the distilled judge and `openwebrl` see; the other protocols have their own number."""
    max_response_tokens: int = Field(default=256, gt=0)
    """Of the distilled judge."""
    min_agreement: float = Field(default=0.0, ge=0, le=1)
    """A judge that agrees less often than this with the labels, or no more often than whoever always says the more
    frequent one, may not reward RL: a distilled one on held-out trajectories, a model on `trust_labels`, or else on
    judge_rollouts' where rules label. 0 measures nothing."""
    trust_labels: TrustParams | None = None
    """Labels by people, say, for a model that rewards; all of them are asked about. Needed where it labels itself."""
    balance: bool = True
    """Weigh both classes equally when the judge is trained."""
    optim: OptimParams

    @model_validator(mode="after")
    def _endpoint_named(self) -> JudgeParams:
        if self.endpoint is None and ("model" in (self.labels, self.reward) or self.voters):
            raise ValueError(
                "labels, reward or voters ask for a model: name it in judge.endpoint, with a url and a model"
            )
        if self.voters and len(self.voters) % 2:
            raise ValueError(
                f"judge.endpoint and {len(self.voters)} voters may be divided equally: name an even number of voters"
            )
        return self

    @model_validator(mode="after")
    def _agreement_can_be_measured(self) -> JudgeParams:
        held = self.reward == "model" and self.min_agreement > 0
        if held and self.labels == "model" and self.trust_labels is None:
            raise ValueError(
                f"judge.min_agreement = {self.min_agreement} cannot be measured, since the model that rewards labels, "
                "too: name trajectories with labels by people in judge.trust_labels, set judge.labels to rules, or "
                "judge.min_agreement to 0, which lets it reward unmeasured"
            )
        if self.trust_labels is not None and not held:
            raise ValueError(
                f"judge.trust_labels measures a model that rewards, with judge.reward = {self.reward} and "
                f"judge.min_agreement = {self.min_agreement} there is nothing to measure: set it to null, or "
                "judge.reward to model and judge.min_agreement above 0"
            )
        return self


class RLPhase(Section):
    """One phase of the horizon curriculum."""

    iterations: int = Field(ge=0)
    """0 leaves the phase out: its model is the one that it would have begun with."""
    max_steps: int = Field(gt=0)


class RLParams(Section):
    """Online reinforcement learning: MM-GRPO by default (OpenWebRL, section 4.4 and table 7)."""

    short: RLPhase
    long: RLPhase
    group_size: int = Field(default=5, ge=2)
    effective_groups: int = Field(gt=0)
    """Groups with a reward spread that an iteration collects."""
    max_sampled_groups: int = Field(gt=0)
    """Groups that an iteration may sample to find them."""
    task_sampling: Literal["uniform", "adaptive", "ratio"] = "uniform"
    """Uniform passes over all tasks (OpenWebRL); adaptive draws more from websites whose recent groups had a spread;
    ratio draws easy, medium and hard tasks as `task_ratio` says (WebGym)."""
    task_ratio: RatioParams | None = None
    asynchronous: bool = Field(default=False, alias="async")
    """Roll out while the iterations before update, with older weights."""
    max_staleness: int = Field(default=1, ge=1)
    """Updates that an iteration's weights may be behind, with `async`; memory holds the weights twice more for each."""
    temperature: float = Field(default=0.8, gt=0)
    lr: float = Field(gt=0)
    betas: tuple[Decay, Decay] = (0.9, 0.98)
    weight_decay: float = Field(default=0.1, ge=0)
    ppo_epochs: int = Field(default=2, gt=0)
    batch_turns: int = Field(default=256, gt=0)
    """Turn samples per optimiser step."""
    micro_batch_tokens: int = Field(default=8192, gt=0)
    max_packing_gap: float = Field(default=1e-4, gt=0)
    """Largest gap in nats between packed and single samples up to which packing is used; bfloat16 needs about 0.1."""
    objective: Literal["mm_grpo", "m_grpo", "filtered_bc", "rft"] = "mm_grpo"
    """`components/training/objectives`; with `rft` an iteration is a round of rejection fine-tuning."""
    format_error: float = Field(default=-1.0, ge=-1, le=0)
    """Reward of an episode that repeated format errors ended (OpenWebRL, A.4); 0 in the other papers."""
    demonstrations: float = Field(default=0.8, ge=0, le=1)
    """Share of the SFT demonstrations that a round of RFT mixes in (BrowserAgent, B.5)."""
    max_per_source: dict[str, Annotated[int, Field(ge=0)]] | None = None
    """At most so many questions of a source that a round of RFT trains on, by the source's name, which is the stem of
    its task file (BrowserAgent, B.5: 400 of NQ, 673 of HotpotQA); null, or a source that is not named, has no cap."""
    kl: float = Field(default=0.001, ge=0)
    """beta of M-GRPO: the weight of the KL to the policy that the phase began with; 0 keeps no copy of it."""
    drop_repeats: bool = True
    """Filtered behaviour cloning leaves out turns that the screenshot did not change after (WebGym, section 5.2)."""
    tis_cap: float | None = Field(default=None, gt=0)
    """Truncated importance sampling: cap of the correction for a server that computes otherwise than the trainer. Of
    the objectives with a ratio of policies only."""
    clip_low: float = Field(default=0.2, gt=0)
    clip_high: float = Field(default=0.28, gt=0)
    max_grad_norm: float = Field(default=1.0, gt=0)
    max_logprob_gap: float = Field(default=1e-3, gt=0)
    """Largest gap in nats between trainer and rollout on a token before an iteration's first update; beyond it the run
    stops."""
    max_mean_logprob_gap: float = Field(default=1e-4, gt=0)
    """The same for the mean over tokens: in bfloat16 single tokens differ by nats, all of them do not."""

    @property
    def staleness(self) -> int:
        """Updates that an iteration's weights are behind at most."""
        return self.max_staleness if self.asynchronous else 0

    @model_validator(mode="after")
    def _rounds_in_turn(self) -> RLParams:
        if self.objective == "rft" and self.asynchronous:
            raise ValueError("rl.async = true has no meaning for rl.objective = rft, whose rounds begin with its model")
        return self

    @model_validator(mode="after")
    def _something_to_correct(self) -> RLParams:
        if self.tis_cap is not None and self.objective in ("filtered_bc", "rft"):
            raise ValueError(
                f"tis_cap = {self.tis_cap} corrects a ratio of policies, which objective = {self.objective} has not: "
                "set tis_cap to null"
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

    @model_validator(mode="after")
    def _ratio_given(self) -> RLParams:
        if (self.task_sampling == "ratio") != (self.task_ratio is not None):
            raise ValueError(
                f"task_sampling = {self.task_sampling} and a task_ratio that is "
                f"{'null' if self.task_ratio is None else 'given'} do not go together: set task_sampling to ratio and "
                "task_ratio to {easy: 2, medium: 5, hard: 3} or the like, or task_ratio to null"
            )
        return self


class EvaluationParams(Section):
    """Benchmark evaluation."""

    sampling: SamplingParams = SamplingParams(temperature=0.0)
    max_steps: int = Field(gt=0)
    max_response_tokens: int | None = Field(default=None, gt=0)
    """None: the agent's."""
    max_aborted: float = Field(default=0.1, ge=0, le=1)
    """Share of episodes that the environment may end before the evaluation is invalid."""
    bootstrap: int = Field(default=10_000, gt=0)


class TrackingParams(Section):
    """MLflow."""

    experiment: str = "waymark"
    tracking_uri: str = "sqlite:///mlflow/store/mlflow.db"
    trace_samples: int = Field(default=4, ge=0)
    """Trajectories per rollout stage that are logged as traces."""
