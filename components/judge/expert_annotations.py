"""The experts' annotations of AgentRewardBench (Lù et al., 2025, section 3): success and three other aspects.

The published `annotations.csv` has one row per expert and trajectory: `annotator_name, benchmark, task_id, model_name,
exp_name, trajectory_success, trajectory_side_effect, trajectory_optimality, trajectory_looping`. The first row of a
trajectory is the primary expert's, whose label counts; a second expert annotated some, and their agreement is what a
judge can reach at most. `splits.csv`, in the same folder, says which tasks are `dev` and which are `test`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from components.formats import Unreadable
from components.formats.agent_reward_bench import identity_of
from components.judge.calibration import Calibration, calibrate
from components.judge.csv_tables import read_csv
from components.records import Outcome, Record, Verdict
from components.statistics import Estimate, wilson

LABELS = {"Successful": Outcome.SUCCESS, "Unsuccessful": Outcome.FAILURE}
_UNSURE = ("Unsure", "")
_COLUMNS = ("benchmark", "task_id", "model_name", "trajectory_success")
ASPECTS = ("trajectory_side_effect", "trajectory_optimality", "trajectory_looping")
SECOND = "second expert"
"""The name under which the second expert stands among the judges."""


class Annotation(Record):
    """One expert's annotation of one trajectory.

    `line` is its line in the file. `success` is None if the expert was unsure. `aspects` has the published text of each
    of `ASPECTS` that the file has, without unsure ones.
    """

    line: int
    benchmark: str
    task: str
    agent: str
    success: Outcome | None
    aspects: dict[str, str]


class AspectSummary(Record):
    """What the primary experts say of one aspect, such as side effects, and how often a second one says the same."""

    aspect: str
    counts: dict[str, int]
    pairs: int
    agreement: Estimate | None
    """Share of the pairs of experts that say the same; None without pairs."""


def read_experts(path: Path, left_out: list[str] | None = None) -> dict[str, list[Annotation]]:
    """All annotations by trajectory id, the primary expert's first.

    Args:
        left_out: gets a sentence about each row that is left out, because it is short or its label is unknown.

    Raises:
        Unreadable: the file is no CSV table, or a column is missing.
    """
    left_out = [] if left_out is None else left_out
    columns, rows = read_csv(path, Unreadable)
    if missing := [name for name in _COLUMNS if name not in columns]:
        raise Unreadable(f"{path}: no column {', '.join(missing)}; it must be AgentRewardBench's annotations.csv")
    experts: dict[str, list[Annotation]] = {}
    for line, row in rows:
        if absent := [name for name in _COLUMNS if row[name] is None]:
            left_out.append(f"{path}:{line}: the row ends before {', '.join(absent)}")
            if absent != ["trajectory_success"]:
                continue
        label = (row["trajectory_success"] or "").strip()
        if not absent and label not in LABELS and label not in _UNSURE:
            left_out.append(f"{path}:{line}: trajectory_success is {label!r}, not Successful or Unsuccessful")
        # without a label the row still has its place: the next one is by the second expert
        annotation = Annotation(
            line=line,
            benchmark=row["benchmark"],
            task=row["task_id"],
            agent=row["model_name"],
            success=LABELS.get(label),
            aspects={
                name: value.strip() for name in ASPECTS if (value := row.get(name)) and value.strip() not in _UNSURE
            },
        )
        experts.setdefault(identity_of(annotation.benchmark, annotation.agent, annotation.task), []).append(annotation)
    return experts


def of_split(experts: Mapping[str, list[Annotation]], annotations: Path, split: str) -> dict[str, list[Annotation]]:
    """The annotations of one published split.

    Args:
        annotations: the file that was read; `splits.csv` with the columns `task_id` and `split` is beside it.
        split: `dev` or `test`.

    Raises:
        Unreadable: there is no such file, it is no CSV table, or it names no task of the split.
    """
    path = annotations.with_name("splits.csv")
    if not path.is_file():
        raise Unreadable(f"{path} does not exist: copy AgentRewardBench's data/splits.csv beside its annotations.csv")
    table = read_csv(path, Unreadable)
    splits = {_task(row.get("task_id") or ""): row.get("split") for _, row in table.rows}
    chosen = {key: rows for key, rows in experts.items() if splits.get(_task(rows[0].task)) == split}
    if not chosen:
        raise Unreadable(f"{path} has no annotated task of the split {split!r}: its splits are dev and test")
    return chosen


def _task(task_id: str) -> str:
    """A task's id without the mark of VisualWebArena's resized images, which `splits.csv` leaves out."""
    return task_id.strip().replace(".resized", "")


def second_expert(experts: Mapping[str, list[Annotation]], bootstrap: int, seed: int) -> Calibration | None:
    """The second experts as a judge of the primary ones' labels: the ceiling for any judge; None without pairs."""
    pairs = [
        (f"{rows[0].benchmark}/{rows[0].task}", rows[0].success, rows[1].success)
        for rows in experts.values()
        if len(rows) > 1 and rows[0].success is not None and rows[1].success is not None
    ]
    if not pairs:
        return None
    verdicts = [
        Verdict(trajectory_id="", outcome=outcome, rationale="", judge=SECOND, judge_version="")
        for _, _, outcome in pairs
    ]
    tasks, labels = [task for task, _, _ in pairs], [label for _, label, _ in pairs]
    return calibrate(SECOND, tasks, labels, verdicts, bootstrap, seed)


def summarise_aspects(experts: Mapping[str, list[Annotation]]) -> list[AspectSummary]:
    """Side effects, optimality and repetition as the experts see them; aspects that the file lacks are left out."""
    return [summary for name in ASPECTS if (summary := _aspect(name, list(experts.values()))) is not None]


def _aspect(name: str, annotated: Sequence[list[Annotation]]) -> AspectSummary | None:
    counts = Counter(rows[0].aspects[name] for rows in annotated if name in rows[0].aspects)
    pairs = [rows for rows in annotated if len(rows) > 1 and all(name in row.aspects for row in rows[:2])]
    same = sum(rows[0].aspects[name] == rows[1].aspects[name] for rows in pairs)
    if not counts:
        return None
    share = same / len(pairs) if pairs else 0.0
    return AspectSummary(
        aspect=name.removeprefix("trajectory_"),
        counts=dict(sorted(counts.items())),
        pairs=len(pairs),
        agreement=Estimate(value=share, ci95=wilson(share, len(pairs))) if pairs else None,
    )
