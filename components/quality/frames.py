"""Records as flat tables for the suites: one row per record, without images."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from components.records import Outcome, Task, Trajectory, Verdict
from components.success import needs_judge

_TASK = {
    "task_id": "str",
    "intent": "str",
    "start_url": "str",
    "website": "str",
    "source": "str",
    "split": "str",
    "seed": "Int64",
}
_TRAJECTORY = {
    **dict.fromkeys(("trajectory_id", "task_id", "website", "split", "policy", "termination"), "str"),
    **dict.fromkeys(("seed", "attempt", "turns", "response_characters"), "Int64"),
    "needs_judge": "bool",
}
_VERDICT = {
    **dict.fromkeys(("trajectory_id", "outcome", "error_cause", "judge", "judge_version"), "str"),
    "positive": "float64",
}


def task_frame(tasks: Iterable[Task]) -> pd.DataFrame:
    """One row per task. `seed` is that of the page, empty without one."""
    return _frame((task.model_dump(include=set(_TASK)) for task in tasks), _TASK)


def trajectory_frame(trajectories: Iterable[Trajectory]) -> pd.DataFrame:
    """One row per trajectory. `seed` is the task's, not the episode's; `turns` and `response_characters` are
    counts."""
    rows = (
        {
            "trajectory_id": trajectory.trajectory_id,
            "task_id": trajectory.task_id,
            "website": trajectory.task.website,
            "split": trajectory.task.split,
            "policy": trajectory.policy,
            "termination": trajectory.termination.value,
            "seed": trajectory.task.seed,
            "attempt": trajectory.attempt,
            "turns": len(trajectory.turns),
            "response_characters": trajectory.response_characters,
            "needs_judge": needs_judge(trajectory),
        }
        for trajectory in trajectories
    )
    return _frame(rows, _TRAJECTORY)


def verdict_frame(verdicts: Iterable[Verdict]) -> pd.DataFrame:
    """One row per verdict. `positive` is 1 for success, 0 for failure, and empty for other outcomes; `error_cause` is
    empty unless the outcome is an error."""
    positive = {Outcome.SUCCESS: 1.0, Outcome.FAILURE: 0.0}
    rows = (
        {
            "trajectory_id": verdict.trajectory_id,
            "outcome": verdict.outcome.value,
            "error_cause": None if verdict.error_cause is None else verdict.error_cause.value,
            "judge": verdict.judge,
            "judge_version": verdict.judge_version,
            "positive": positive.get(verdict.outcome),
        }
        for verdict in verdicts
    )
    return _frame(rows, _VERDICT)


def _frame(rows: Iterable[dict], dtypes: dict[str, str]) -> pd.DataFrame:
    listed = list(rows)
    # Column by column: as one table, whole numbers beside an empty cell become floats and lose digits above 2^53.
    return pd.DataFrame({name: pd.Series([row[name] for row in listed], dtype=dtype) for name, dtype in dtypes.items()})
