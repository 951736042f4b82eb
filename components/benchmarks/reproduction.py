"""Published results to reproduce: `recipes/reproductions/<name>.yaml`, and what stands claimed beside reproduced.

A reproduction pins the checkpoint, the harness, and the benchmarks with their judge, decoding and step budget, and
names the paper's row. `compare_with_claims` holds it against this machine: for each benchmark the claimed rate, the
measured one with its denominators, and all that is missing for a run.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError, model_validator

from components.benchmarks.claimed_settings import RECORDED_KEYS, deviation
from components.benchmarks.results import FOLDER, BenchmarkResult, Progress
from components.benchmarks.spec import Benchmark, BenchmarkError, load_benchmark, load_named
from components.params import NoEffect, Section
from components.records import Record
from components.reports import published
from components.reports.published import PublishedRow
from components.statistics import Interval

RECIPES = Path("recipes/reproductions")
COMMIT = re.compile(r"[0-9a-f]{40}")


class Reproduction(Section):
    """A published result with everything that it depends on."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")
    title: Annotated[str, NoEffect]
    paper: str
    table: str
    row: str
    """The model's name in the paper's table of success rates."""
    checkpoint: str
    """The name on the Hugging Face hub."""
    revision: str | None
    """Its commit, 40 hexadecimal digits; None: the authors name none, and the checkpoint is not pinned."""
    recipe: str
    """The recipe whose harness the model was trained and evaluated with."""
    harness: dict[str, Any]
    """Values that the recipe in use must have, by dotted key."""
    benchmarks: list[str] = Field(min_length=1)
    open: list[str] = Field(default_factory=list)
    """What the publication leaves open, in words."""

    @model_validator(mode="after")
    def _require_what_can_be_compared(self) -> Reproduction:
        if self.revision is not None and not COMMIT.fullmatch(self.revision):
            raise ValueError(
                f"revision {self.revision!r} is no commit and may change: give the 40 digits of one on "
                f"https://huggingface.co/{self.checkpoint}/commits/main, or null"
            )
        if unrecorded := [key for key in self.harness if key not in RECORDED_KEYS]:
            raise ValueError(
                f"harness has {', '.join(unrecorded)}, which results do not record, so none would count: leave it out; "
                f"they record {', '.join(RECORDED_KEYS)}"
            )
        return self

    def claims(self) -> PublishedRow:
        """The paper's row.

        Raises:
            BenchmarkError: the paper's data has no such row.
        """
        rows = [row for row in published.table(self.paper, self.table, "success") if row.model == self.row]
        if len(rows) != 1:
            raise BenchmarkError(
                f"{self.name}: {self.paper}, table {self.table}, has {len(rows)} rows {self.row!r}; correct `row` in "
                f"{RECIPES / self.name}.yaml"
            )
        return rows[0]


class ComparedBenchmark(Record):
    """One benchmark: claimed beside reproduced.

    `tasks`, `asked`, `done`, `skipped` and `aborted` are the denominators of the reproduced rate; they are None, as the
    rate is, while there is no result.
    """

    benchmark: str
    claimed: float | None
    claimed_tasks: str
    """The paper's description of its tasks."""
    judge: str
    judge_model: str | None
    """The model that judged the claim."""
    decoding: str
    max_steps: int
    reproduced: float | None = None
    ci95: Interval | None = None
    n: int | None = None
    status: str | None = None
    problem: str | None = None
    progress: Progress | None = None
    aborted: int | None = None
    unjudged: int | None = None
    missing: list[str]
    """What is missing for a run here, each with what to do; empty if it can run."""

    @property
    def is_reproduced(self) -> bool | None:
        """Whether the claim lies in the interval of the reproduced rate; None without a complete result."""
        if self.status != "complete" or self.ci95 is None or self.claimed is None:
            return None
        return self.ci95.low <= self.claimed <= self.ci95.high


class Comparison(Record):
    """A reproduction on this machine."""

    name: str
    title: str
    source: str
    checkpoint: str
    revision: str | None
    unpinned: str | None = None
    """That no commit is pinned, and how to pin one."""
    missing: list[str]
    """What is missing for every benchmark."""
    open: list[str]
    benchmarks: list[ComparedBenchmark]

    @property
    def is_complete(self) -> bool:
        """Whether every benchmark has a complete result."""
        return all(line.status == "complete" for line in self.benchmarks)


def load_reproduction(named: str | Path) -> Reproduction:
    """Read a reproduction, with all that it `extends`: a file, or a name in `recipes/reproductions`.

    Raises:
        BenchmarkError: there is none of this name, or a field is wrong.
    """
    return load_named(named, RECIPES, Reproduction)


def compare_with_claims(
    reproduction: Reproduction,
    missing: Sequence[str],
    missing_for: dict[str, list[str]],
    model_key: str | None,
    folder: Path = FOLDER,
    limit: int | None = None,
) -> Comparison:
    """Claimed beside reproduced.

    Args:
        missing: what is missing for every benchmark.
        missing_for: what is missing for one, by its name.
        model_key: of the checkpoint's results in `folder`; None if the checkpoint is not here.
        limit: number of tasks of the runs whose results count; without them, and by default, those on all tasks.

    Raises:
        BenchmarkError: the paper has no such row, or a benchmark is unknown.
    """
    row = reproduction.claims()
    return Comparison(
        name=reproduction.name,
        title=reproduction.title,
        source=row.source,
        checkpoint=reproduction.checkpoint,
        revision=reproduction.revision,
        missing=list(missing),
        open=reproduction.open,
        benchmarks=[
            _compared(
                (benchmark := load_benchmark(name)),
                row,
                missing_for.get(benchmark.name, []),
                None if model_key is None else _result(benchmark, model_key, folder, limit, reproduction.harness),
                reproduction.harness,
            )
            for name in reproduction.benchmarks
        ],
    )


def _compared(
    benchmark: Benchmark,
    row: PublishedRow,
    missing: list[str],
    result: BenchmarkResult | None,
    harness: dict[str, Any],
) -> ComparedBenchmark:
    official = benchmark.decoding["official"]
    compared = ComparedBenchmark(
        benchmark=benchmark.name,
        claimed=row.share(benchmark.name) if benchmark.name in row.values else None,
        claimed_tasks=published.sets().get(benchmark.name, ""),
        judge=benchmark.judge,
        judge_model=benchmark.judge_model,
        decoding=f"T {official.temperature:g}, top-p {official.top_p:g}, top-k {official.top_k}",
        max_steps=benchmark.max_steps,
        missing=missing,
    )
    if result is None:
        return compared
    if (other := deviation(result, benchmark, harness)) is not None:
        problem = f"{other.problem}: run `waymark reproduce` with --run again"
        return compared.model_copy(update={"status": other.status, "problem": problem})
    summary = result.summary
    return compared.model_copy(
        update={
            "status": result.status,
            "problem": result.problem,
            "progress": result.progress,
            "reproduced": summary.rate if summary is not None else None,
            "ci95": summary.ci95 if summary is not None else None,
            "n": summary.n if summary is not None else None,
            "aborted": summary.aborted if summary is not None else None,
            "unjudged": summary.unjudged if summary is not None else None,
        }
    )


def _result(
    benchmark: Benchmark, model_key: str, folder: Path, limit: int | None, harness: dict[str, Any]
) -> BenchmarkResult | None:
    """The result of a run on this revision of the benchmark, of those with a limit first; None if there is none. One
    with another harness, decoding, step budget or judge, or with unrecorded ones, is taken only if there is no other.

    Raises:
        BenchmarkError: a file is no result.
    """
    others: list[BenchmarkResult] = []
    suffixes = ["", ".partial", ".invalid"]
    if limit is not None:
        suffixes = [f".limit-{limit}{suffix}" for suffix in suffixes] + suffixes
    for suffix in suffixes:
        path = folder / f"{benchmark.name}@{model_key}{suffix}.json"
        if not path.exists():
            continue
        try:
            result = BenchmarkResult.model_validate_json(path.read_text())
        except ValidationError as error:
            raise BenchmarkError(f"{path} is no result of a benchmark run; run `waymark evaluate` again") from error
        if result.version != benchmark.identity:
            continue
        if deviation(result, benchmark, harness) is None:
            return result
        others.append(result)
    return others[0] if others else None
