"""The time of each stage of dvc.yaml, from its start-up and the parts of its work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from components.params import RLPhase
from components.params.placement import STAGES
from components.plan.rollout_time import (
    Batch,
    IterationRollouts,
    Timed,
    iteration_rollouts,
    judged_by_model,
    rollouts,
    with_branches,
)
from components.plan.setting import Setting
from components.plan.simulation import Usage
from components.plan.stream_time import streamed_rollouts
from components.plan.training_time import (
    checkpoint_time,
    distillation_time,
    retraining_time,
    sft_time,
    update_time,
    weights_time,
)


@dataclass(frozen=True)
class StageTime:
    """The time of one stage.

    Attributes:
        parts: seconds by part of the work; they add up to the stage's seconds, unless rollouts overlap with updates.
        units: units of each resource that the stage has.
    """

    stage: str
    timed: Timed
    parts: dict[str, float]
    units: dict[str, int]

    @property
    def seconds(self) -> float:
        """Wall time of the stage."""
        return self.timed.usage.seconds

    @property
    def utilisation(self) -> dict[str, float]:
        """Share of the wall time in which a unit of each resource is busy on average; without what is never busy."""
        return utilisation(self.timed.usage, self.units)


@dataclass(frozen=True)
class IterationTime:
    """One RL iteration of a phase."""

    phase: str
    rolled: IterationRollouts
    parts: dict[str, Timed]
    is_overlapped: bool
    """Rollouts run during updates (`rl.max_staleness`), so that the longer of both decides."""
    units: dict[str, int]

    @property
    def timed(self) -> Timed:
        """All parts."""
        total = sum(self.parts.values(), Timed())
        if not self.is_overlapped:
            return total
        rolled = sum(self.parts[name].usage.seconds for name in ("rollouts", "judging"))
        seconds = max(rolled, total.usage.seconds - rolled)
        return Timed(Usage(seconds, total.usage.busy), total.tokens)

    @property
    def seconds(self) -> float:
        """Wall time of the iteration."""
        return self.timed.usage.seconds

    @property
    def utilisation(self) -> dict[str, float]:
        """As `StageTime.utilisation`."""
        return utilisation(self.timed.usage, self.units)


def utilisation(usage: Usage, units: dict[str, int]) -> dict[str, float]:
    """Busy seconds of each resource by those of all of its units."""
    if not usage.seconds:
        return {}
    return {
        name: usage.busy[name] / (number * usage.seconds)
        for name, number in units.items()
        if number and usage.busy.get(name)
    }


def phases(setting: Setting) -> dict[str, RLPhase]:
    """The phases of the horizon curriculum."""
    return {"short": setting.params.rl.short, "long": setting.params.rl.long}


def iteration_time(setting: Setting, name: str, rolled: IterationRollouts | None = None) -> IterationTime:
    """One iteration of a phase.

    Args:
        rolled: its rollouts, if they are known; None simulates them.
    """
    stage = f"train_rl@{name}"
    phase = phases(setting)[name]
    if rolled is None:
        way = iteration_rollouts if setting.params.rl.open_groups is None else streamed_rollouts
        rolled = with_branches(setting, phase, stage, way(setting, phase, stage))
    parts = {
        "rollouts": rolled.rollouts,
        "judging": rolled.judging,
        "update": update_time(setting, rolled, stage),
        "weights": weights_time(setting),
        "checkpoint": checkpoint_time(setting, name, phase),
    }
    return IterationTime(name, rolled, parts, setting.params.rl.max_staleness > 0, setting.units("train_rl"))


def stage_times(setting: Setting, iterations: dict[str, IterationTime]) -> Iterator[StageTime]:
    """All stages in order.

    Args:
        iterations: of each phase that has any, from `iteration_time`.
    """
    for stage in STAGES:
        parts = {"start-up": _fixed(setting.rates.startup_of(stage)), **_work(setting, stage, iterations)}
        total = sum(parts.values(), Timed())
        seconds = {part: timed.usage.seconds for part, timed in parts.items() if timed.usage.seconds}
        yield StageTime(stage, total, seconds, setting.units(stage.partition("@")[0]))


def _work(setting: Setting, stage: str, iterations: dict[str, IterationTime]) -> dict[str, Timed]:
    name, _, variant = stage.partition("@")
    params = setting.params
    match name:
        case "teacher_rollouts":
            return {"rollouts": rollouts(setting, _taught(setting))}
        case "label_trajectories":
            return {"judging": _labels(setting, _taught(setting))}
        case "train_sft":
            return {"training": sft_time(setting)}
        case "judge_rollouts":
            distill = params.judge.distill
            episodes = setting.judged * distill.rollout_attempts
            return _rolled_out(setting, Batch(stage, episodes, params.evaluation.max_steps))
        case "distill_judge":
            return {"training": distillation_time(setting)}
        case "evaluate":
            counts, _ = setting.counts()
            batch = Batch(stage, counts.evaluation, params.evaluation.max_steps, is_evaluation=True)
            return _rolled_out(setting, batch)
        case "train_rl":
            return _phase(setting, variant, iterations) if variant in iterations else {}
        case _:
            counts, _ = setting.counts()
            return {"tables": _fixed(setting.rates.task_s.get(stage, 0.0) * counts.collected)}


def _phase(setting: Setting, name: str, iterations: dict[str, IterationTime]) -> dict[str, Timed]:
    """Each part of a phase over all of its iterations, its validations, and the trainings of the judge."""
    iteration, phase, validation = iterations[name], phases(setting)[name], setting.params.rl.validation
    parts = {part: timed.times(phase.iterations) for part, timed in iteration.parts.items()}
    if iteration.is_overlapped:
        parts = {"iterations": iteration.timed.times(phase.iterations)}
    if validation.every:
        number = 1 + -(-phase.iterations // validation.every)
        watched = validation.tasks + validation.heldout
        batch = Batch(f"train_rl@{name}", watched, phase.max_steps, "validation", is_evaluation=True)
        rolled = _rolled_out(setting, batch, with_servers=False)
        parts["validation"] = sum(rolled.values(), Timed()).times(number)
    until = [other.rolled for other in [*iterations.values()][: [*iterations].index(name) + 1]]
    parts["judge training"] = retraining_time(setting, f"train_rl@{name}", until, phase.iterations)
    return {"servers": _servers(setting), **parts}


def _rolled_out(setting: Setting, batch: Batch, with_servers: bool = True) -> dict[str, Timed]:
    """Rollouts of a model with the start of its servers, and their labels."""
    parts = {"servers": _servers(setting)} if with_servers else {}
    return {**parts, "rollouts": rollouts(setting, batch), "judging": _labels(setting, batch)}


def _taught(setting: Setting) -> Batch:
    """The teacher's episodes."""
    teacher = setting.params.teacher
    return Batch("teacher_rollouts", setting.taught * teacher.attempts, teacher.max_steps)


def _labels(setting: Setting, batch: Batch) -> Timed:
    """The labels of episodes: rules take no time, a model its own."""
    if setting.params.judge.labels != "model":
        return Timed()
    verdicts = batch.episodes * setting.rates.habits_of(batch.stage).judged
    turns = setting.turns(batch.stage, batch.max_steps, batch.is_evaluation).mean
    resource = "auditor" if setting.units(batch.stage)["auditor"] else "judge"  # `judge` is the distilled one
    return judged_by_model(setting, batch.stage, verdicts, turns, resource)


def _servers(setting: Setting) -> Timed:
    return _fixed(setting.rates.server_start_s if setting.has_servers else 0.0)


def _fixed(seconds: float) -> Timed:
    return Timed(Usage(seconds))
