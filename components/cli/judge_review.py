"""`waymark judge review`: people label trajectories in MLflow, and their labels come back as a file."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from components.cli.command import PARAMS, Subparsers, cannot_write, fail, nonempty, nonempty_path, positive
from components.cli.judge_run import add_format

if TYPE_CHECKING:
    from components.records import Trajectory
    from components.tracking import HumanLabel

MAX_REVIEWERS = 10
MAX_NAME = 250
"""Characters of a review's name that MLflow takes."""
COLUMNS = ("trajectory_id", "outcome", "reviewers", "comment")


def add_review(commands: Subparsers) -> None:
    """Register `judge review open` and `judge review collect`."""
    review = commands.add_parser("review", help="people label trajectories in MLflow; their labels as a CSV file")
    of_review = review.add_subparsers(required=True, metavar="COMMAND")
    opening = of_review.add_parser("open", help="put trajectories into a review queue of MLflow")
    opening.add_argument(
        "path", type=nonempty_path, metavar="PATH", help="a file or folder of trajectories, as of judge run"
    )
    add_format(opening)
    opening.add_argument(
        "--name",
        required=True,
        metavar="NAME",
        help="the name of the review; trajectories are added to one that exists",
    )
    opening.add_argument(
        "--limit", type=positive, default=50, metavar="N", help="put in at most N trajectories; default: %(default)s"
    )
    opening.add_argument(
        "--reviewer", type=nonempty, action="append", default=[], metavar="USER",
        help="a user of MLflow's authentication whose queue it is too; repeatable",
    )  # fmt: skip
    opening.set_defaults(run=open_queue)
    collecting = of_review.add_parser("collect", help="write the labels of a review, for judge.trust.labels")
    collecting.add_argument("name", metavar="NAME", help="the name of the review")
    collecting.add_argument(
        "--out",
        type=nonempty_path,
        required=True,
        metavar="FILE.csv",
        help="the file to write, with a line per trajectory",
    )
    collecting.set_defaults(run=collect)


def open_queue(options: argparse.Namespace) -> int:
    """Open a review and say where it is; returns the exit status."""
    from components.formats import UnknownFormat, Unreadable
    from components.params import RecipeError, load
    from components.tracking import TrackingError, open_review

    if len(options.reviewer) > MAX_REVIEWERS:
        return fail(f"{len(options.reviewer)} reviewers: a queue of MLflow has {MAX_REVIEWERS} at most")
    if not options.name.strip():
        return fail("--name is empty: give the review a name, such as first")
    if len(options.name) > MAX_NAME:
        return fail(f"--name has {len(options.name)} characters: give one of {MAX_NAME} at most")
    try:
        trajectories = _trajectories(options.path, options.limit, options.format)
        review = open_review(load(PARAMS).tracking, options.name, trajectories, options.reviewer)
    except (RecipeError, TrackingError, UnknownFormat, Unreadable, ValueError) as error:
        return fail(error)
    print(
        f"review {review.name}: {review.trajectories} trajectories, {review.added} of them new\n"
        f"`make ui`, then MLflow, experiment {review.experiment_id}, Review; then `waymark judge review collect "
        f"{shlex.quote(review.name)} --out labels.csv`"
    )
    return 0


def collect(options: argparse.Namespace) -> int:
    """Write the labels of a review; returns the exit status, 1 if there are none."""
    import csv

    from components.params import RecipeError, load
    from components.tracking import TrackingError, human_labels

    if options.out.is_dir():
        return fail(f"--out {options.out} is a folder: name a file, such as {options.out / 'labels.csv'}")
    if problem := cannot_write(options.out):
        return fail(f"--out {problem}")
    if options.out.exists() and not _is_collected(options.out):
        return fail(f"--out {options.out} exists and was not written by this command: name a new file")
    try:
        labels = human_labels(load(PARAMS).tracking, options.name)
    except (RecipeError, TrackingError) as error:
        return fail(error)
    by_trajectory: defaultdict[str, list[HumanLabel]] = defaultdict(list)
    for label in labels:
        by_trajectory[label.trajectory_id].append(label)
    agreed = {key: answers for key, answers in by_trajectory.items() if len({label.outcome for label in answers}) == 1}
    if by_trajectory and not agreed:
        return fail(
            f"people disagree on all {len(by_trajectory)} labelled trajectories of review {options.name}: let them "
            "agree on answers in MLflow and delete the others there, or label more"
        )
    if not agreed:
        return fail(f"review {options.name} has no label yet: answer its question in MLflow")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with options.out.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for key, answers in sorted(agreed.items()):
            comments = " | ".join(label.comment for label in answers if label.comment)
            writer.writerow([key, answers[0].outcome.value, ";".join(label.reviewer for label in answers), comments])
    print(_said(options.out, by_trajectory, agreed))
    return 0


def _is_collected(path: Path) -> bool:
    with path.open("rb") as file:
        return file.readline().rstrip() == ",".join(COLUMNS).encode()


def _said(out: Path, labels: dict[str, list[HumanLabel]], agreed: dict[str, list[HumanLabel]]) -> str:
    """What was written, and how far people agree with each other, of whom only logins tell how many they are."""
    line = f"{out}: {len(agreed)} labelled trajectories"
    by_login = {key: [label.outcome for label in answers if label.has_login] for key, answers in labels.items()}
    several = [key for key, outcomes in by_login.items() if len(outcomes) > 1]
    different = {key for key in several if len(set(by_login[key])) > 1}
    if several:
        same = len(several) - len(different)
        line += f"; people agree on {same} of the {len(several)} that several labelled, the others are left out"
    if others := len(labels.keys() - agreed.keys() - different):
        line += f"; {others} are left out because of different answers, some of them without a login"
    return line


def _trajectories(path: Path, limit: int, name: str | None) -> Sequence[Trajectory]:
    """The first trajectories that an agent ended and that have all of their screenshots: a person can judge no others.

    Args:
        name: of the format; None: recognised by the files.

    Raises:
        ValueError: there are none.
    """
    from components.formats import Damaged, format_named, format_of

    kind = format_named(name) if name else format_of(path)
    if not path.exists():
        raise ValueError(f"{path}: no such file or folder")
    trajectories: dict[str, Trajectory] = {}
    damaged: list[str] = []
    incomplete: list[str] = []
    for record in kind.read(path):
        if len(trajectories) == limit:
            break
        if isinstance(record, Damaged):
            damaged.append(record.reason)
            print(f"{record.place} is left out: {record.reason}", file=sys.stderr)
        elif record.missing:
            incomplete.append(record.missing[0])
            print(f"{record.place} is left out: {record.missing[0]}", file=sys.stderr)
        elif record.trajectory.termination.is_agents_doing:
            trajectories.setdefault(record.trajectory.trajectory_id, record.trajectory)
    if not trajectories:
        rest = f", and {len(damaged)} records that cannot be read (the first: {damaged[0]})" if damaged else ""
        rest += f", and {len(incomplete)} without a screenshot (the first: {incomplete[0]})" if incomplete else ""
        raise ValueError(f"{path} has no trajectory that an agent ended{rest}: name another file")
    return list(trajectories.values())
