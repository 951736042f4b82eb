"""The failures with which a judge is attacked: episodes read from files, with their true outcomes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from components.formats import Damaged, Format, format_of
from components.judge.labels import read_labels
from components.judge.rules import RuleError, rules_verdict
from components.judge.verified.client import VerifiedError
from components.records import Outcome, Trajectory


@dataclass(frozen=True)
class Failures:
    """Episodes that truly failed, and how many others were left out and why."""

    trajectories: list[Trajectory]
    successes: int
    unlabelled: int
    unfinished: int
    """Ended by the environment or in an unreadable format: no judge is asked about them."""


def read_failures(
    files: Sequence[Path],
    labels: Path | None,
    limit: int | None,
    on_left_out: Callable[[str], None],
    kind: Format | None = None,
) -> Failures:
    """The failures among the episodes of some files or folders, at most `limit`; None sets no limit.

    Args:
        labels: a file of the true outcomes (`read_labels`); None: the rules of the tasks decide.
        on_left_out: gets a sentence about each episode that cannot be read, shown or decided.
        kind: the format of the files; None: recognised by each.

    Raises:
        FileNotFoundError: there is no such file or folder.
        UnknownFormat, Unreadable: see `formats`.
        CannotCompare: see `read_labels`.
    """
    trajectories = _episodes(files, on_left_out, kind)
    outcomes = _outcomes_by_rules(trajectories, on_left_out) if labels is None else read_labels(labels).outcomes
    failures = failures_of(trajectories.values(), outcomes)
    return replace(failures, trajectories=failures.trajectories[:limit])


def failures_of(trajectories: Iterable[Trajectory], outcomes: Mapping[str, Outcome]) -> Failures:
    """The failures among some trajectories, by their true outcomes."""
    failed: list[Trajectory] = []
    counts = {"successes": 0, "unlabelled": 0, "unfinished": 0}
    for trajectory in trajectories:
        outcome = outcomes.get(trajectory.trajectory_id)
        if outcome is Outcome.SUCCESS:
            counts["successes"] += 1
        elif outcome is not Outcome.FAILURE:
            counts["unlabelled"] += 1
        elif not (trajectory.termination.is_agents_doing and trajectory.format_ok):
            counts["unfinished"] += 1
        else:
            failed.append(trajectory)
    return Failures(failed, **counts)


def _episodes(files: Sequence[Path], on_left_out: Callable[[str], None], kind: Format | None) -> dict[str, Trajectory]:
    """The first episode of each id."""
    trajectories: dict[str, Trajectory] = {}
    for path in files:
        if not path.exists():
            raise FileNotFoundError(f"{path}: no such file or folder")
        for record in (kind or format_of(path)).read(path):
            if isinstance(record, Damaged):
                on_left_out(f"{record.place} is left out: {record.reason}")
            elif record.missing:
                on_left_out(f"{record.trajectory.trajectory_id} is left out: it lacks screenshots")
            else:
                trajectories.setdefault(record.trajectory.trajectory_id, record.trajectory)
    return trajectories


def _outcomes_by_rules(
    trajectories: Mapping[str, Trajectory], on_left_out: Callable[[str], None]
) -> dict[str, Outcome]:
    outcomes: dict[str, Outcome] = {}
    for key, trajectory in trajectories.items():
        try:
            outcomes[key] = rules_verdict(trajectory).outcome
        except (RuleError, VerifiedError) as error:
            on_left_out(f"{key} is left out: {error}")
    return outcomes
