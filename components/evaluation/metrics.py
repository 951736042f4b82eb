"""Success rates with intervals, and whether one policy beats another.

Three things count differently (DESIGN, sections 3 and 5):

- a task that the environment ended (`Termination.is_agents_doing` is false) is no success in `rate`, the official
  number, and is left out of `rate_without_aborted` (OpenWebRL, section 5, Evaluation Metrics);
- a task whose verdict is an error or unreadable is left out of every rate and counted in `unjudged`: a judge's outage
  is no failure of the agent's;
- a task that needs no judge, because the agent did not finish with an answer, is a failure.

Intervals are 95% percentile bootstraps over tasks, never over episodes: attempts at one task are not independent.
Tasks of the split `heldout` (families never trained on) never enter the headline numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np
from scipy import stats

from components.evaluation.taxonomy import FailureKind, failure_kind
from components.judge import needs_judge
from components.records import Outcome, Record, Task, Termination, Trajectory, Verdict

Interval = tuple[float, float]


class EvaluationError(ValueError):
    """Trajectories and verdicts that cannot be turned into a number. The message says what to run."""


class Episode(Record):
    """What the metrics need of a trajectory, without its images. `success` is None if the episode is unjudged."""

    trajectory_id: str
    task_id: str
    family: str
    split: str
    success: bool | None
    failure: FailureKind | None
    termination: Termination
    turns: int
    response_tokens: int


class Share(Record):
    """Successes as a share of `n` tasks."""

    rate: float
    n: int


class SuccessSummary(Record):
    """One evaluation; `model_dump(mode="json", exclude_none=True)` is the stage's JSON.

    `n` counts the judged tasks, `ci95` is the bootstrap over them, `wilson95` the Wilson interval over episodes.
    `valid` is false if more than the allowed share of episodes was ended by the environment or left unjudged.
    """

    rate: float
    n: int
    ci95: Interval
    wilson95: Interval
    rate_without_aborted: float | None = None
    n_without_aborted: int
    aborted: int
    unjudged: int
    valid: bool
    families: dict[str, Share]
    terminations: dict[str, int]
    failures: dict[str, int]
    turns_mean: float
    response_tokens_mean: float
    heldout: SuccessSummary | None = None


class Difference(Record):
    """Difference of two success rates, first minus second."""

    diff: float
    ci95: Interval


class Paired(Difference):
    """The same, measured on `n` tasks that both sides tried."""

    n: int


def success(
    trajectories: Iterable[Trajectory], verdicts: Iterable[Verdict], bootstrap: int, seed: int, max_aborted: float = 0.1
) -> SuccessSummary:
    """Summarise one evaluation, the families never trained on apart.

    Args:
        bootstrap: resamples.
        max_aborted: share of episodes, 0 to 1, that may be aborted or unjudged before the evaluation is invalid.

    Raises:
        EvaluationError: nothing was evaluated, or an answer has no verdict.
    """
    every = episodes(trajectories, verdicts)
    heldout = [episode for episode in every if episode.split == "heldout"]
    main = [episode for episode in every if episode.split != "heldout"]
    if not main:
        return _summary(heldout, bootstrap, seed, max_aborted)
    apart = _summary(heldout, bootstrap, seed, max_aborted) if heldout else None
    whole = _summary(main, bootstrap, seed, max_aborted)
    return whole.model_copy(update={"heldout": apart, "valid": whole.valid and (apart is None or apart.valid)})


def episodes(trajectories: Iterable[Trajectory], verdicts: Iterable[Verdict]) -> list[Episode]:
    """Join trajectories with their verdicts, one trajectory in memory at a time.

    Raises:
        EvaluationError: a trajectory ended with an answer and has no verdict.
    """
    outcomes = {verdict.trajectory_id: verdict.outcome for verdict in verdicts}
    joined, missing = [], []
    for trajectory in trajectories:
        outcome = outcomes.get(trajectory.trajectory_id)
        if outcome is None and needs_judge(trajectory):
            missing.append(trajectory.trajectory_id)
        joined.append(_episode(trajectory, outcome))
    if missing:
        raise EvaluationError(
            f"{len(missing)} finished trajectories have no verdict ({_some(missing)}); run the judge on them first"
        )
    return joined


def scores(of: Iterable[Episode]) -> dict[str, float | None]:
    """Per task id the share of its judged episodes that succeeded, None if none was judged."""
    by_task: dict[str, list[float]] = {}
    for episode in of:
        by_task.setdefault(episode.task_id, [])
        if episode.success is not None:
            by_task[episode.task_id].append(float(episode.success))
    return {task: float(np.mean(values)) if values else None for task, values in by_task.items()}


def paired(a: Mapping[str, float | None], b: Mapping[str, float | None], bootstrap: int, seed: int) -> Paired:
    """Paired bootstrap over tasks of the success of `a` minus that of `b`, both as `scores` returns them.

    Tasks unjudged on either side are left out of the comparison; `n` says how many are in it.

    Raises:
        EvaluationError: the two sides are not about the same tasks.
    """
    if a.keys() != b.keys():
        only_a, only_b = sorted(a.keys() - b.keys()), sorted(b.keys() - a.keys())
        sides = [f"the {side} lacks {_some(tasks)}" for side, tasks in (("second", only_a), ("first", only_b)) if tasks]
        raise EvaluationError(
            f"cannot pair evaluations of different tasks: {'; '.join(sides)}; evaluate both on one pool"
        )
    pairs = [(a[task], b[task]) for task in sorted(a) if a[task] is not None and b[task] is not None]
    if not pairs:
        raise EvaluationError("no task has a verdict on both sides; run the judge on both evaluations first")
    diffs_N = np.array(pairs, dtype=float) @ np.array([1.0, -1.0])
    return Paired(diff=float(diffs_N.mean()), ci95=_bootstrap_mean(diffs_N, bootstrap, seed), n=len(pairs))


def beats(difference: Difference) -> bool:
    """True if the whole interval is above 0: the rule by which a candidate becomes the champion."""
    return difference.ci95[0] > 0


def family(task: Task) -> str:
    """The group that a task is reported under: its website, for MiniWoB++ its page."""
    return task.website.removeprefix("miniwob/")


def _episode(trajectory: Trajectory, outcome: Outcome | None) -> Episode:
    kind = failure_kind(trajectory, outcome)
    return Episode(
        trajectory_id=trajectory.trajectory_id,
        task_id=trajectory.task_id,
        family=family(trajectory.task),
        split=trajectory.task.split,
        success=None if kind is FailureKind.UNJUDGED else kind is None,
        failure=kind,
        termination=trajectory.termination,
        turns=len(trajectory.turns),
        response_tokens=trajectory.response_tokens,
    )


def _summary(of: list[Episode], bootstrap: int, seed: int, max_aborted: float) -> SuccessSummary:
    judged = [episode for episode in of if episode.success is not None]
    if not judged:
        raise EvaluationError(f"none of {len(of)} episodes has a verdict; run the rollouts and the judge first")
    scores_N = _judged_scores(judged)
    kept_N = _judged_scores(episode for episode in judged if episode.termination.is_agents_doing)
    aborted = sum(not episode.termination.is_agents_doing for episode in of)
    unjudged = len(of) - len(judged)
    wilson = stats.binomtest(sum(bool(e.success) for e in judged), len(judged)).proportion_ci(0.95, method="wilson")
    return SuccessSummary(
        rate=float(scores_N.mean()),
        n=len(scores_N),
        ci95=_bootstrap_mean(scores_N, bootstrap, seed),
        wilson95=(float(wilson.low), float(wilson.high)),
        rate_without_aborted=float(kept_N.mean()) if len(kept_N) else None,
        n_without_aborted=len(kept_N),
        aborted=aborted,
        unjudged=unjudged,
        valid=aborted + unjudged <= max_aborted * len(of) and not _lost_family(of, max_aborted),
        families=_by_family(judged),
        terminations=_counts(episode.termination for episode in of),
        failures=_counts(episode.failure for episode in of if episode.failure is not None),
        turns_mean=float(np.mean([episode.turns for episode in of])),
        response_tokens_mean=float(np.mean([episode.response_tokens for episode in of])),
    )


def _lost_family(of: list[Episode], max_aborted: float) -> bool:
    """True if a family of at least five was mostly ended by the environment: its rate would be the environment's."""
    families: dict[str, list[bool]] = {}
    for episode in of:
        families.setdefault(episode.family, []).append(not episode.termination.is_agents_doing)
    most = max(max_aborted, 0.5)
    return any(len(ended) >= 5 and sum(ended) > most * len(ended) for ended in families.values())


def _by_family(judged: list[Episode]) -> dict[str, Share]:
    families: dict[str, list[Episode]] = {}
    for episode in judged:
        families.setdefault(episode.family, []).append(episode)
    by_name = {name: _judged_scores(members) for name, members in sorted(families.items())}
    return {name: Share(rate=float(values_N.mean()), n=len(values_N)) for name, values_N in by_name.items()}


def _judged_scores(of: Iterable[Episode]) -> np.ndarray:
    by_task = scores(of)
    return np.array([by_task[task] for task in sorted(by_task)], dtype=float)


def _bootstrap_mean(values_N: np.ndarray, resamples: int, seed: int) -> Interval:
    if len(values_N) < 2 or np.ptp(values_N) == 0:
        return float(values_N.mean()), float(values_N.mean())
    result = stats.bootstrap(
        (values_N,), np.mean, n_resamples=resamples, batch=1000, method="percentile", rng=np.random.default_rng(seed)
    )
    return float(result.confidence_interval.low), float(result.confidence_interval.high)


def _counts(names: Iterable[str]) -> dict[str, int]:
    return {str(name): count for name, count in sorted(Counter(names).items())}


def _some(names: list[str], most: int = 5) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
