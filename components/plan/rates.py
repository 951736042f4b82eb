"""Rates of a machine and habits of a policy, from which times follow: assumptions, or measurements of a finished run.

Rates of models are shares of a device's peak, so that another device, another model or adapters change the times.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from components.architecture import Architecture
from components.judge.protocols import judge_protocol
from components.judge.protocols.base import FACTS
from components.params import MMGRPOParams, ModelJudgeParams, Params, RecipeError
from components.plan.hardware import Device
from components.store import read_json, write_json

Share = Annotated[float, Field(gt=0)]
"""A share of a peak. A calibrated one may be above 1, because what is counted as work is a model of it."""
Seconds = Annotated[float, Field(ge=0)]
DEFAULTS = "defaults"
"""The source of rates that are assumed."""
EXAMPLE_PAGES = 10
"""Pages of the trajectory for which the assumptions count the judge's questions."""
EVERY = "*"
"""The key of a stage that has no entry of its own."""


class Habits(BaseModel):
    """How the episodes of a stage go on average."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    turns: float = Field(gt=0, le=1)
    """Turns of an episode as a share of the step limit."""
    response: float = Field(gt=0, le=1)
    """Tokens of a response as a share of their limit."""
    judged: float = Field(ge=0, le=1)
    """Share of the episodes that end with an answer, so that a judge is asked."""


SMALL_HABITS = {
    EVERY: Habits(turns=0.42, response=0.5, judged=0.98),
    "teacher_rollouts": Habits(turns=0.21, response=0.5, judged=1.0),
    "evaluate@base": Habits(turns=0.95, response=0.92, judged=0.0),
}
"""Of the demo: a base that ends no episode, and a policy and a script that need one to three turns."""


class Counts(BaseModel):
    """Numbers of tasks that a run had."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tasks: str = ""
    """A digest of the recipe's sections `worlds` and `tasks`: the numbers hold for these alone."""
    collected: int = Field(gt=0)
    evaluation: int = Field(ge=0)
    """Tasks of one evaluation, of trained and held-out families."""


class MeasuredOn(BaseModel):
    """The machine of a run that was measured."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    device: str
    """A name in `devices.json`, or `cpu`."""
    devices: int = Field(gt=0)
    cores: int = Field(gt=0)
    """Cores of its browsers."""
    models: tuple[str, str] | None = None
    """`model.base` and `model.judge_base` of its recipe. Null, as all that follows, if an older version wrote it."""
    on_web: bool | None = None
    """Whether its tasks were of the web, and not of generated worlds."""
    run: str | None = None
    """A digest of the seconds of its stages."""
    text: str | None = None
    """`observation.text` of its recipe."""
    viewport: tuple[int, int] | None = None
    """`browser.viewport` of its recipe."""
    objective: str | None = None
    """`rl.objective.name` of its recipe."""


class Rates(BaseModel):
    """All rates. `source` says where they come from; dictionaries are by stage, `*` is every other stage."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    measured_on: MeasuredOn | None = None
    """Null: the rates are assumptions, or an older version wrote them."""
    training_share: dict[str, Share]
    """Share of the peak arithmetic that training reaches."""
    prefill_share: Share
    """The same for reading prompts."""
    bandwidth_share: Share
    """Share of the memory bandwidth that decoding reaches."""
    token_s: Seconds
    """Seconds of a decoding step beside the memory's: kernel launches, sampling."""
    row_s: Seconds
    """The same for each sequence of the batch."""
    step_core_s: Seconds
    """Seconds of a core in a browser step."""
    step_wait_s: Seconds
    """Seconds of a browser step in which the page or the network is waited for."""
    open_core_s: Seconds
    """Seconds of a core to open a browser on the start page."""
    open_wait_s: Seconds
    judge_s: Seconds
    """Seconds of a question to a judge behind an endpoint."""
    verdict_s: Seconds | None = None
    """Measured seconds of a verdict of such a judge, all its questions together; null, if no such judge labelled the
    run."""
    endpoint_tokens_per_s: float = Field(gt=0)
    """Tokens that a teacher behind an endpoint gives to one request in a second."""
    side_by_side: int | None = Field(default=None, ge=1)
    """Concurrent stages of the run that was measured; null, as the pipeline does it on such a device."""
    between_s: Seconds = 5.0
    """Seconds in which the process of a stage starts, before its time is taken."""
    startup_s: dict[str, Seconds]
    """Seconds of a stage before and after its work: imports, loading of models, tracking, tables."""
    task_s: dict[str, Seconds]
    """Seconds per collected task of the stages that work on tables."""
    server_start_s: Seconds
    """Until a vLLM server answers; servers start together."""
    storage_bytes_per_s: float = Field(gt=0)
    """Of checkpoints, and of weights on their way to servers."""
    effective_share: dict[str, Share]
    """Share of the sampled groups from which the objective learns."""
    failed_share: float = Field(ge=0, le=1)
    """Share of the groups without any success, which get `rl.extra_attempts`."""
    trained_share: dict[str, Share] = Field(default_factory=dict)
    """Turns that an update trains on as a share of those of the first attempts of the effective groups; a phase without
    an entry follows from the objective, as does another objective than that of `measured_on`."""
    rollout_scale: dict[str, Share] = Field(default_factory=dict)
    """Measured by simulated seconds of rollouts, 1 without an entry."""
    page_tokens: int | None = Field(default=None, ge=0)
    """Tokens of a page's text and of what else a prompt has beside instructions, screenshots and history; null
    follows from `observation.text`, as does another text or viewport than that of `measured_on`."""
    habits: dict[str, Habits]
    counts: Counts | None = None
    """Null: counted in the recipe, as far as it says."""

    @property
    def are_measured(self) -> bool:
        """Whether they come from a run, and are no assumptions."""
        return self.source != DEFAULTS

    def habits_of(self, stage: str) -> Habits:
        """The habits of a stage's episodes."""
        return _of(self.habits, stage)

    def training_share_of(self, stage: str) -> float:
        """The share of the peak that a training stage reaches."""
        return _of(self.training_share, stage)

    def effective_share_of(self, stage: str) -> float:
        """The share of effective groups in a phase."""
        return _of(self.effective_share, stage)

    def trained_share_of(self, stage: str, params: Params) -> float | None:
        """The share of turns that updates of a phase train on, if it was measured with the recipe's objective. That of
        an older version, which does not name its objective, is not used."""
        is_of_recipe = self.measured_on is not None and self.measured_on.objective == params.rl.objective.name
        return self.trained_share.get(stage) if is_of_recipe else None

    def page_tokens_of(self, params: Params) -> int | None:
        """The tokens of a page's text, if they were measured with the recipe's text and viewport. Those of an older
        version, which names neither, are not used."""
        measured, page = self.measured_on, (params.observation.text, params.browser.viewport)
        return self.page_tokens if measured is not None and (measured.text, measured.viewport) == page else None

    def startup_of(self, stage: str) -> float:
        """Seconds of a stage beside its work."""
        return _of(self.startup_s, stage)


V = TypeVar("V")


def _of(values: Mapping[str, V], stage: str) -> V:
    """The entry of a stage with its variant, else that of all of its variants, else that of every stage."""
    names = (stage, stage.partition("@")[0], EVERY)
    return next(values[name] for name in names if name in values)


def generator_rates(architecture: Architecture) -> dict[str, float]:
    """`token_s` and `row_s` of Waymark's own generator on a GPU, which was made for small models.

    An H200 took 29, 54 and 166 ms for a step of 1, 8 and 32 sequences of a model of 4B, with 36 layers and 144 KiB of
    keys and values per token, and 5 ms for 32 sequences of the demo's base (docs/results/gpu.md). A step's launches
    grow with the layers, and what is copied for each sequence with its keys and values.
    """
    layers = architecture.text_config.num_hidden_layers
    return {"token_s": 0.022 * layers / 36, "row_s": 0.0043 * architecture.cache_bytes(2) / (144 * 1024)}


def default_rates(params: Params, device: Device) -> Rates:
    """Rates that are assumed; `assumptions` says them in words.

    Those of a CPU with generated worlds are rounded from runs of the recipe `demo` on two cores, two stages at a time.
    Those of GPUs and of the web were not measured.
    """
    on_web = bool(params.tasks.files)
    is_cpu = device.is_cpu
    rates = Rates(
        source=DEFAULTS,
        training_share={EVERY: 0.3},
        prefill_share=0.25 if is_cpu else 0.4,
        bandwidth_share=0.25 if is_cpu else 0.5,
        token_s=0.011 if is_cpu else 0.004,
        row_s=0.0009 if is_cpu else 0.00005,
        step_core_s=0.5 if on_web else 0.12,
        step_wait_s=3.7 if on_web else 0.02,
        open_core_s=1.0 if on_web else 0.15,
        open_wait_s=5.0 if on_web else 0.1,
        judge_s=8.0,
        endpoint_tokens_per_s=40.0,
        startup_s={EVERY: 12.0 if is_cpu else 60.0},
        task_s={"collect_tasks": 0.6 if on_web else 0.02, "filter_tasks": 0.002, "dedup_tasks": 0.005},
        server_start_s=60.0 if is_cpu else 90.0,
        storage_bytes_per_s=1e9,
        effective_share={EVERY: 0.4},
        failed_share=0.3,
        habits={EVERY: Habits(turns=0.75, response=0.3, judged=0.7)},
    )
    if not is_cpu or on_web:
        return rates
    return rates.model_copy(
        update={"step_core_s": 0.17, "step_wait_s": 0.0, "open_core_s": 0.13, "open_wait_s": 0.0, "failed_share": 0.1}
        | {"habits": SMALL_HABITS}
    )


def assumptions(rates: Rates, params: Params) -> list[str]:
    """What the times assume, in sentences."""
    habits = rates.habits_of(EVERY)
    page = f"{rates.step_core_s:.3g} s of a core and {rates.step_wait_s:.3g} s of waiting"
    lines = [
        f"the rates are those of {rates.source}"
        if rates.are_measured
        else "no rate was measured: those of a finished run (--calibrate) replace what follows",
        f"training reaches {_range(rates.training_share)} of the peak arithmetic, reading prompts "
        f"{rates.prefill_share:.2g}, and decoding {rates.bandwidth_share:.2g} of the memory bandwidth with "
        f"{1000 * rates.token_s:.3g} ms per step on top",
        f"a browser step takes {page}; opening a page {rates.open_core_s:.3g} s and {rates.open_wait_s:.3g} s",
    ]
    if not rates.are_measured:
        lines.append(
            f"an episode has {habits.turns:.2g} of its step limit in turns, and a response {habits.response:.2g} of "
            "agent.max_response_tokens (OpenWebRL: 14.0 to 8.9 of 15 turns, 282 to 325 of 1,024 tokens); "
            f"{habits.judged:.0%} of the episodes end with an answer"
        )
    if (horizon := params.tasks.horizon) is not None:
        lines.append(
            "a third of the training tasks is easy, a third medium and a third hard: their episodes have "
            f"{horizon.easy}, {horizon.medium} and {horizon.hard} steps at most (tasks.horizon)"
        )
    lines.append(
        f"{_range(rates.effective_share, '.0%')} of the sampled groups are effective"
        + (" (OpenWebRL: 54K trajectories in 90 iterations of 48 groups of 5)" if not rates.are_measured else "")
    )
    objective = params.rl.objective
    if isinstance(objective, MMGRPOParams) and objective.replay:
        lines.append(
            f"the {objective.replay_turns} turns of demonstrations that rl.objective.replay adds to the "
            f"{params.rl.batch_turns} turns of each optimiser step take no time"
        )
    if params.judge.model is not None:
        lines.append(_questions_of(params.judge.model, rates))
    if params.rollout.per_host is not None or params.rollout.host_delay_s:
        lines.append("the limits per website (rollout.per_host, rollout.host_delay_s) delay nothing")
    return lines


def _questions_of(model: ModelJudgeParams, rates: Rates) -> str:
    questions = judge_protocol(model.protocol, model.screenshots).questions(EXAMPLE_PAGES)
    subject, seconds = ("a question", rates.judge_s) if rates.verdict_s is None else ("a verdict", rates.verdict_s)
    return (
        f"the protocol {model.protocol} asks the judge's endpoint at most {questions.requests} questions with "
        f"{questions.screenshots} screenshots in all about a trajectory of {EXAMPLE_PAGES} pages; {subject} takes "
        f"{seconds:.3g} s. Calls, tokens and dollars are these upper bounds, with {FACTS} facts in a rubric"
    )


def read_rates(path: Path) -> Rates:
    """Rates of an earlier calibration.

    Raises:
        RecipeError: the file is missing or is no calibration.
    """
    try:
        return Rates.model_validate(read_json(path))
    except (OSError, ValueError) as error:
        raise RecipeError(
            f"{path} is no calibration: write one with `waymark plan RECIPE --calibrate RUN_DIR`"
        ) from error


def check_device(rates: Rates, device: Device) -> None:
    """Refuse rates that were measured on another device than the one that a plan takes by default.

    Raises:
        RecipeError: they were. Rates without a machine pass.
    """
    machine = rates.measured_on
    if machine is not None and machine.device != device.name:
        raise RecipeError(
            f"the calibration was measured on {machine.device}, and the plan is for {device.name}: name the device of "
            "the plan with --device, which assumes the same shares of its peak, or calibrate on a run on "
            f"{device.name}"
        )


def write_rates(path: Path, rates: Rates) -> None:
    """Write rates for `read_rates`."""
    write_json(path, rates.model_dump(mode="json", exclude_none=True))


def _range(shares: dict[str, float], form: str = ".2g") -> str:
    low, high = (format(share, form) for share in (min(shares.values()), max(shares.values())))
    return low if low == high else f"{low} to {high}"
