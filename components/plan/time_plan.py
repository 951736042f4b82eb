"""The time and the cost of a run: stages, RL iterations, utilisation, and what more of each resource would change."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

from components.params import Params
from components.plan.checkpoint_size import Checkpoints, checkpoints
from components.plan.distilled_judge import served_judge
from components.plan.placement import Machine
from components.plan.rates import Rates, assumptions, default_rates
from components.plan.rollout_time import Tokens
from components.plan.schedule import default_side_by_side, wall_seconds
from components.plan.setting import RESOURCES, Setting
from components.plan.stages import IterationTime, StageTime, iteration_time, phases, stage_times

PRICES = Path(__file__).with_name("prices.json")


MANY_EPISODES = 4000
"""The simulation of as many takes longer than a few seconds."""


@dataclass(frozen=True)
class Prices:
    """Dollars per hour of one device and of one browser with its core and memory. Endpoints have their prices in the
    recipe (`usd_per_million_prompt`, `usd_per_million_completion`)."""

    device_hour: float
    browser_hour: float


@dataclass(frozen=True)
class TimeOptions:
    """What the user says about time and cost.

    Attributes:
        rates: from a calibration; None takes assumptions.
        cores: cores for browsers; 0 takes this machine's, or one per browser beside GPUs.
        device_hour, browser_hour: dollars; None takes those of `prices.json`, and 0 for a device that is not there.
        side_by_side: concurrent stages; None takes those of the calibrated run, or the pipeline's default.
    """

    rates: Rates | None = None
    cores: int = 0
    device_hour: float | None = None
    browser_hour: float | None = None
    side_by_side: int | None = None


@dataclass(frozen=True)
class Cost:
    """Hours and dollars of a run."""

    device_hours: float
    browser_hours: float
    """Hours of open browsers."""
    device_usd: float
    browser_usd: float
    endpoint_usd: float

    @property
    def usd(self) -> float:
        """All dollars."""
        return self.device_usd + self.browser_usd + self.endpoint_usd


@dataclass(frozen=True)
class TimePlan:
    """The time of a run.

    Attributes:
        seconds: wall time from the first stage to the last.
        side_by_side: concurrent stages.
        iterations: one iteration of each phase that has any.
        checkpoints: those of each phase that has any iteration.
        is_calibrated: whether the rates were measured.
        changes: by resource, the seconds of an iteration of the phase that takes longest with twice as many units, as a
            share of the seconds now.
    """

    seconds: float
    side_by_side: int
    stages: list[StageTime]
    iterations: list[IterationTime]
    changes: dict[str, float]
    tokens: Tokens
    cost: Cost
    prices: Prices
    checkpoints: tuple[Checkpoints, ...]
    assumptions: tuple[str, ...]
    is_calibrated: bool

    @property
    def stage_seconds(self) -> float:
        """Wall time of all stages, added up."""
        return sum(stage.seconds for stage in self.stages)

    @property
    def bottleneck(self) -> str | None:
        """The resource of which twice as many shorten an RL iteration most; None if none does by a hundredth."""
        name = min(self.changes, key=lambda name: self.changes[name], default=None)
        return None if name is None or self.changes[name] > 0.99 else name


def simulated_episodes(params: Params) -> int:
    """Episodes of an RL iteration that are simulated one by one, at most: those of a stream of groups
    (`rl.open_groups`). Without a stream, 0: a part of each batch is simulated."""
    rl = params.rl
    return 0 if rl.open_groups is None else rl.max_sampled_groups * (rl.group_size + rl.extra_attempts)


def time_plan(params: Params, machine: Machine, options: TimeOptions = TimeOptions()) -> TimePlan:
    """Simulate a recipe on a machine.

    Raises:
        RecipeError: the shape of a model is unknown.
    """
    setting = Setting(params, machine, options.rates or default_rates(params, machine.device), options.cores)
    iterations = _iterations(setting)
    stages = list(stage_times(setting, iterations))
    side_by_side = options.side_by_side or setting.rates.side_by_side or default_side_by_side(machine.device)
    seconds = _wall_seconds(setting, stages, side_by_side)
    tokens = sum((stage.timed.tokens for stage in stages), Tokens())
    prices = prices_of(machine, options)
    counts, unknown = setting.counts()
    lines = [
        *assumptions(setting.rates, params),
        f"an evaluation has {counts.evaluation:,} tasks, and {counts.collected:,} are collected",
        *unknown,
        _schedule_in_words(setting.rates, side_by_side),
        _prices_in_words(machine, prices),
        *_unpriced(params),
    ]
    return TimePlan(
        seconds, side_by_side, stages, list(iterations.values()), _changes(setting, iterations), tokens,
        _cost(seconds, stages, tokens, machine, prices), prices, _checkpoints(setting), tuple(lines),
        setting.rates.are_measured,
    )  # fmt: skip


def wall_time(params: Params, machine: Machine) -> float:
    """Seconds of a run at assumed rates, as `TimePlan.seconds`.

    Raises:
        RecipeError: the shape of a model is unknown.
    """
    setting = Setting(params, machine, default_rates(params, machine.device))
    stages = list(stage_times(setting, _iterations(setting)))
    return _wall_seconds(setting, stages, default_side_by_side(machine.device))


def learning_time(params: Params, machine: Machine) -> float:
    """Seconds of all RL iterations at assumed rates, or of a run without RL. Nearly all of a run is RL, and the
    simulation of the other stages takes four times as long.

    Raises:
        RecipeError: the shape of a model is unknown.
    """
    setting = Setting(params, machine, default_rates(params, machine.device))
    iterations, by_name = _iterations(setting), phases(setting)
    if not iterations:
        return wall_time(params, machine)
    return sum(iteration.seconds * by_name[name].iterations for name, iteration in iterations.items())


def _iterations(setting: Setting) -> dict[str, IterationTime]:
    """An iteration of each phase that has any."""
    return {name: iteration_time(setting, name) for name, phase in phases(setting).items() if phase.iterations}


def _wall_seconds(setting: Setting, stages: list[StageTime], side_by_side: int) -> float:
    seconds = {stage.stage: stage.seconds for stage in stages}
    return wall_seconds(seconds, side_by_side, setting.rates.between_s, setting.params.judge.reward)


def prices_of(machine: Machine, options: TimeOptions) -> Prices:
    """The prices of the options, or those of `prices.json`. This machine's own processor costs nothing."""
    table = json.loads(PRICES.read_text())
    device, browser = options.device_hour, options.browser_hour
    if device is None:
        device = 0.0 if machine.device.is_cpu else float(table["device_hour"].get(machine.device.name, 0.0))
    if browser is None:
        browser = 0.0 if machine.device.is_cpu else float(table["browser_hour"])
    return Prices(device, browser)


def _checkpoints(setting: Setting) -> tuple[Checkpoints, ...]:
    trained = setting.training(setting.policy).trained_parameters
    return tuple(
        checkpoints(setting.params, name, phase, trained) for name, phase in phases(setting).items() if phase.iterations
    )


def _changes(setting: Setting, iterations: dict[str, IterationTime]) -> dict[str, float]:
    """What twice as many of each resource change in an iteration of the phase that takes longest."""
    if not iterations:
        return {}
    name, before = max(iterations.items(), key=lambda item: phases(setting)[item[0]].iterations * item[1].seconds)
    changes = {}
    for resource in RESOURCES:
        if before.timed.usage.busy.get(resource):
            more = replace(setting, more={resource: 2.0})
            rolled = before.rolled if resource == "trainer" else None  # no rollout waits for the trainer
            changes[resource] = iteration_time(more, name, rolled).seconds / before.seconds
    return changes


def _cost(seconds: float, stages: list[StageTime], tokens: Tokens, machine: Machine, prices: Prices) -> Cost:
    hours = seconds / 3600
    devices = 0.0 if machine.device.is_cpu and not prices.device_hour else hours * machine.count
    browsers = sum(stage.timed.usage.busy.get("browsers", 0.0) for stage in stages) / 3600
    return Cost(devices, browsers, devices * prices.device_hour, browsers * prices.browser_hour, tokens.endpoint_usd)


def _schedule_in_words(rates: Rates, side_by_side: int) -> str:
    slots = "stages run one after the other" if side_by_side == 1 else f"up to {side_by_side} stages run side by side"
    measured = rates.side_by_side
    beside = (
        f", each as long as with {measured} side by side in the measured run"
        if measured not in (None, side_by_side)
        else ""
    )
    return (
        f"{slots}{beside}, on a machine that does nothing else; none is repeated, and no episode fails by its "
        "environment"
    )


def _unpriced(params: Params) -> list[str]:
    """A sentence about servers that run elsewhere, if there are any."""
    judge = served_judge(params)
    policy = params.inference.vllm.urls if params.inference.engine == "vllm" else []
    urls = {"inference.vllm.urls": policy, "judge.distill.vllm.urls": [] if judge is None else judge.urls}
    named = [f"{len(servers)} of {key}" for key, servers in urls.items() if servers]
    return [f"the servers that run elsewhere have no price here: {' and '.join(named)}"] if named else []


def _prices_in_words(machine: Machine, prices: Prices) -> str:
    return (
        f"an hour of a {machine.device.name} costs ${prices.device_hour:g}, for every device and the whole run, and an "
        f"hour of a browser ${prices.browser_hour:g} (--device-hour, --browser-hour); endpoints cost as the recipe says"
    )
