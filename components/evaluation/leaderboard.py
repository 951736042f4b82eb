"""The leaderboard: our runs beside the published rows of the four papers, each marked, grouped by benchmark.

Measured are the evaluations of the pipeline (`evaluate@base`, `sft` and `rl`) and the benchmark runs under
`reports/benchmarks`; published is `published.py`. Within a benchmark the higher rate comes first; an invalid run has no
number and comes last. A set's name, version and checksum stand beside each of our runs: sets of the same name differ,
and so do judges, decodings and step budgets, which are beside each row for that reason.

`leaderboard.md` and `leaderboard.html` show what there is when they are written. They are no DVC outputs: benchmark
runs are on live sites, which DVC cannot know.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from components.evaluation import published
from components.evaluation.errors import EvaluationError
from components.evaluation.html import percent, templates, write_html
from components.evaluation.intervals import Interval
from components.evaluation.metrics import SuccessSummary
from components.evaluation.results import POLICIES, Written
from components.records import Record

SHOWN = ("recipe", "protocol", "decoding", "max_steps", "repeats")
"""Settings of a measured run that stand in its row; a published row shows all it has."""
COLUMNS = "benchmark mark model success ci95_low ci95_high tasks without_aborted set settings source note".split()
"""Of the table for MLflow; rates are shares of 1."""
AGAIN = "measure it again, or remove the file"
NAMES = {"base": "base", "sft": "SFT", "rl": "RL"}


class Entry(Record):
    """A row. `rate` is None for a run that is invalid; `note` says why, or what else is to be known."""

    mark: Literal["measured", "published"]
    benchmark: str
    model: str
    rate: float | None
    ci95: Interval | None = None
    n: int | None = None
    without_aborted: float | None = None
    task_set: str
    settings: str
    source: str
    note: str = ""


class StageFile(Written):
    """What `evaluate` wrote beside its summary; results of an earlier version do not say."""

    recipe: str = "an earlier recipe"
    tasks: str = "held-out tasks"


class BenchmarkFile(Written):
    """What a benchmark run wrote; what it did not, such as a summary, it could not say."""

    benchmark: str
    version: str
    model: str
    summary: SuccessSummary | None = None
    status: str = "complete"
    problem: str | None = None
    judge: str | None = None
    also: dict[str, SuccessSummary] = Field(default_factory=dict)
    settings: dict[str, Any] = Field(default_factory=dict)
    measured_at: str = ""


def board(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    """Entries by benchmark: those with runs of ours first, then by name; the best first, invalid runs last."""
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(entry.benchmark, []).append(entry)
    ours = {name for name, group in groups.items() if any(entry.mark == "measured" for entry in group)}
    names = sorted(groups, key=lambda name: (name not in ours, name))
    return {name: sorted(groups[name], key=lambda entry: (entry.rate is None, -(entry.rate or 0.0))) for name in names}


def published_entries(ablations: bool = True) -> list[Entry]:
    """The papers' rates on whole benchmarks; parts of one and means of several are in the data, not on the board."""
    return [
        Entry(
            mark="published",
            benchmark=column,
            model=row.model,
            rate=row.share(column),
            task_set=published.sets().get(column, ""),
            settings=_said(row.settings),
            source=row.source,
            note="ablation" if row.ablation else "",
        )
        for row in published.rows()
        if row.metric == "success" and (ablations or not row.ablation)
        for column, value in row.values.items()
        if value is not None and "/" not in column and column != published.AVERAGE
    ]


def stage_entries(stages: Path) -> list[Entry]:
    """The pipeline's own evaluations, `evaluate@*.json` of a folder.

    Raises:
        EvaluationError: a file is no result of the stage.
    """
    found = []
    for policy in POLICIES:
        path = stages / f"evaluate@{policy}.json"
        if path.exists():
            raw = _read(path, f"run `dvc repro --force evaluate@{policy}`")
            said, summary = StageFile.model_validate(raw), _summary_of(raw, path)
            found += run_entries(said.recipe, said.tasks, policy, summary)
    return found


def run_entries(recipe: str, tasks: str, policy: str, whole: SuccessSummary) -> list[Entry]:
    """One evaluation of the pipeline, the families never trained on as a set of their own.

    Args:
        tasks: what the tasks are called, such as `miniwob`.
    """
    found = []
    for name, summary in ((tasks, whole), (f"{tasks}, new families", whole.heldout)):
        if summary is not None:
            one = _measured(f"{name} ({recipe})", f"{recipe} {NAMES[policy]}", summary, whole.valid)
            place = {
                "task_set": f"{name} of {recipe}" + (f", tasks {summary.task_set}" if summary.task_set else ""),
                "source": f"evaluate@{policy}",
            }
            found.append(one.model_copy(update=place))
    return found


def benchmark_entries(folder: Path) -> list[Entry]:
    """The benchmark runs in a folder; a run that other judges read too has a row for each.

    Raises:
        EvaluationError: a file is no result of a benchmark run.
    """
    return [entry for path in sorted(folder.glob("*.json")) for entry in _file_entries(path)]


def write_leaderboard(entries: Iterable[Entry], folder: Path) -> list[Path]:
    """Write `leaderboard.md` and `leaderboard.html`."""
    groups = board(entries)
    text, page = folder / "leaderboard.md", folder / "leaderboard.html"
    template = templates().get_template("leaderboard.html.jinja")
    write_html(
        page,
        template.render(
            title="Waymark leaderboard", board=groups, titles=published.TITLES, left_out=published.left_out()
        ),
    )
    write_html(text, markdown(groups))
    return [text, page]


def table(entries: Iterable[Entry]) -> dict[str, list[Any]]:
    """The board by `COLUMNS`."""
    rows = [
        (
            entry.benchmark,
            entry.mark,
            entry.model,
            entry.rate,
            *(entry.ci95 or (None, None)),
            entry.n,
            entry.without_aborted,
            entry.task_set,
            entry.settings,
            entry.source,
            entry.note,
        )
        for group in board(entries).values()
        for entry in group
    ]
    return {name: [row[index] for row in rows] for index, name in enumerate(COLUMNS)}


def markdown(groups: Mapping[str, Sequence[Entry]]) -> str:
    """The board as text, a table per benchmark."""
    lines = [
        "# Leaderboard",
        "",
        "Success rates. Sets of the same name differ: read set and settings beside the number.",
    ]
    for name, group in groups.items():
        lines += [
            "",
            f"## {published.TITLES.get(name, name)}",
            "",
            "| | model | success | 95% interval | tasks | without aborted | set | settings | source |",
        ]
        lines.append("|---|---|---|---|---|---|---|---|---|")
        lines += [f"| {' | '.join(_cells(entry))} |" for entry in group]
    return "\n".join([*lines, "", "Not in the papers' text:", "", *(f"- {line}" for line in published.left_out()), ""])


def _cells(entry: Entry) -> list[str]:
    interval = " – ".join(percent(end) for end in entry.ci95) if entry.ci95 else ""
    said = entry.settings + (f" ({entry.note})" if entry.note and entry.rate is not None else "")
    cells = [
        entry.mark,
        entry.model,
        "invalid" if entry.rate is None else percent(entry.rate),
        entry.note if entry.rate is None else interval,
        "" if entry.n is None else str(entry.n),
        "" if entry.without_aborted is None else percent(entry.without_aborted),
        entry.task_set,
        said,
        entry.source,
    ]
    return [re.sub(r"\s+", " ", cell).replace("|", "\\|") for cell in cells]


def _file_entries(path: Path) -> list[Entry]:
    raw = _read(path, AGAIN)
    try:
        read = BenchmarkFile.model_validate(raw)
    except ValidationError as error:
        fields = ", ".join(".".join(map(str, detail["loc"])) for detail in error.errors())
        raise EvaluationError(f"{path} is no result of a benchmark run ({fields}); {AGAIN}") from error
    found = []
    for judge, summary in [(read.judge, read.summary), *read.also.items()]:
        entry = _measured(benchmark_of(read.benchmark), read.model, summary, read.status != "invalid", read.problem)
        said = {name: value for name in SHOWN if (value := read.settings.get(name)) is not None}
        judged = {"judge": judge} if judge else {}
        notes = [note for note in (entry.note, read.problem if read.status == "partial" else None) if note]
        place = {
            "task_set": f"{read.benchmark} {read.version}",
            "settings": _said(judged | said),
            "source": read.measured_at[:10] or path.name,
            "note": "; ".join(notes),
        }
        found.append(entry.model_copy(update=place))
    return found


def benchmark_of(name: str) -> str:
    """The published benchmark that a measured set is: `webarena-lite` for `WebArena_Lite`. A name with anything more in
    it, such as `online-mind2web-later`, is another revision with a judge of its own, and a group of its own."""
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    known = {column for row in published.rows() for column in row.values if row.metric == "success"}
    return slug if slug in known else name


def _measured(
    benchmark: str, model: str, summary: SuccessSummary | None, valid: bool, problem: str | None = None
) -> Entry:
    """A row without its place; an invalid run has no number, and says why."""
    entry = Entry(mark="measured", benchmark=benchmark, model=model, rate=None, task_set="", settings="", source="")
    if summary is not None and summary.valid and valid:
        figures = {"rate": summary.rate, "ci95": summary.ci95, "n": summary.n}
        return entry.model_copy(update=figures | {"without_aborted": summary.rate_without_aborted})
    lost = f"{summary.aborted} episodes ended by the environment, {summary.unjudged} not judged" if summary else ""
    return entry.model_copy(update={"note": problem or lost})


def _read(path: Path, remedy: str) -> dict[str, Any]:
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise EvaluationError(f"{path} is not JSON; {remedy}") from error
    if not isinstance(raw, dict):
        raise EvaluationError(f"{path} holds no object; {remedy}")
    return raw


def _summary_of(raw: dict[str, Any], path: Path) -> SuccessSummary:
    try:
        return SuccessSummary.model_validate({name: raw[name] for name in SuccessSummary.model_fields if name in raw})
    except ValidationError as error:
        raise EvaluationError(f"{path} lacks figures; run `dvc repro --force {path.stem}`") from error


def _said(settings: Mapping[str, object]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in settings.items())
