"""Where the time of RL went: a picture per phase, with bars of an iteration, its rollouts and its update."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from components.reports.charts import StackedBar, stacked_bar
from components.reports.rl_validation import WatchedPhase
from components.reports.stage_results import RLIteration

SLOTS = {
    "rollouts": 0, "judging": 1, "update": 2, "validation": 3, "checkpoint": 4, "weights": 6, "waiting for rollouts": 7,
    "prefill": 0, "decode": 2, "images": 3, "waiting for requests": 7,
    "browser": 1, "policy": 0, "waiting for the policy": 0, "waiting for a browser": 7,
    "encoding": 3, "forward": 0, "backward": 1, "optimiser": 4,
    "other": 5,
}  # fmt: skip
"""The number of each part's colour."""
TOLERANCE_S = 1e-3
"""Sums of times that were measured one by one may be off by this much."""


@dataclass(frozen=True)
class PhaseTime:
    """The picture of a phase; values are seconds."""

    phase: str
    iterations: int
    bars: list[StackedBar]


def time_spent(iterations: Sequence[RLIteration], watched: Mapping[str, WatchedPhase]) -> list[PhaseTime]:
    """A picture for each phase that recorded its times, as means of its iterations. Results of older versions have no
    such times."""
    pictures = []
    for phase, state in watched.items():
        of_phase = [iteration for iteration in iterations if iteration.phase == phase]
        measured = [iteration for iteration in of_phase if iteration.iteration_s is not None]
        if measured:
            bars = [
                _iteration_bar(measured, state, len(of_phase)),
                _policy_bar(measured),
                _episodes_bar(measured),
                _update_bar(measured),
            ]
            pictures.append(PhaseTime(phase, len(measured), [bar for bar in bars if bar is not None]))
    return pictures


def _iteration_bar(measured: Sequence[RLIteration], watched: WatchedPhase, iterations: int) -> StackedBar | None:
    waits = [_wait(iteration) for iteration in measured]
    mean = _means(measured)
    parts = {name: fmean(wait[name] for wait in waits) for name in waits[0]}
    parts["update"] = mean(lambda i: i.train_s)
    rest = mean(lambda i: i.iteration_s) - sum(parts.values())
    parts["validation"] = sum(row.seconds for row in watched.validation) / iterations
    parts["checkpoint"] = sum(row.seconds for row in watched.checkpoints) / iterations
    note = "wall time; rollouts run beside updates" if parts["waiting for rollouts"] else "wall time"
    return stacked_bar("An iteration", parts | _rest(rest), SLOTS, note)


def _wait(iteration: RLIteration) -> dict[str, float]:
    """What an iteration's wait for its rollouts consists of. If the rollouts took longer than the wait, they began
    during an earlier update, and it is not known which of their parts was waited for. The first iteration of
    asynchronous RL gets its weights before the wait begins."""
    rollouts, judging, waited = iteration.rollout_s or 0.0, iteration.judge_s or 0.0, iteration.waited_s or 0.0
    if rollouts + judging <= waited + TOLERANCE_S:
        weights = min(iteration.weights_s or 0.0, max(0.0, waited - rollouts - judging))
        return {"weights": weights, "rollouts": rollouts, "judging": judging, "waiting for rollouts": 0.0}
    return {"weights": 0.0, "rollouts": 0.0, "judging": 0.0, "waiting for rollouts": waited}


def _policy_bar(measured: Sequence[RLIteration]) -> StackedBar | None:
    """The thread of the policy in this process; None with servers, whose work is not known."""
    if all(iteration.prefill_s is None for iteration in measured):
        return None
    mean = _means(measured)
    parts = {
        "images": mean(lambda i: i.vision_s),
        "prefill": mean(lambda i: i.prefill_s),
        "decode": mean(lambda i: i.decode_s),
    }
    idle = max(0.0, mean(lambda i: i.rollout_s) - sum(parts.values()))
    return stacked_bar(
        "The policy during rollouts", parts | {"waiting for requests": idle}, SLOTS, "wall time of its thread"
    )


def _episodes_bar(measured: Sequence[RLIteration]) -> StackedBar | None:
    is_known = any(iteration.prefill_s is not None for iteration in measured)
    mean = _means(measured)
    parts = {
        "browser": mean(lambda i: i.browser_s),
        "waiting for the policy" if is_known else "policy": mean(lambda i: i.policy_s),
        "waiting for a browser": mean(lambda i: i.queue_s),
    }
    rest = mean(lambda i: i.episodes_s) - sum(parts.values())
    return stacked_bar("The episodes of the rollouts", parts | _rest(rest), SLOTS, "added up; they run side by side")


def _update_bar(measured: Sequence[RLIteration]) -> StackedBar | None:
    if all(iteration.forward_s is None for iteration in measured):
        return None
    mean = _means(measured)
    parts = {
        "encoding": mean(lambda i: i.encoding_s),
        "forward": mean(lambda i: i.forward_s),
        "backward": mean(lambda i: i.backward_s),
        "optimiser": mean(lambda i: i.optimizer_s),
    }
    return stacked_bar("The update", parts | _rest(mean(lambda i: i.train_s) - sum(parts.values())), SLOTS, "wall time")


def _means(measured: Sequence[RLIteration]) -> Callable[[Callable[[RLIteration], float | None]], float]:
    """The mean of a figure, in which an iteration without it counts 0."""
    return lambda read: fmean(read(iteration) or 0.0 for iteration in measured)


def _rest(seconds: float) -> dict[str, float]:
    return {"other": seconds if seconds > TOLERANCE_S else 0.0}
