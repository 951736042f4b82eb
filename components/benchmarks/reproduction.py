"""Published results to reproduce: `recipes/reproductions/<name>.yaml`, and what stands claimed beside reproduced.

A reproduction pins the checkpoint, the harness, and the benchmarks with their judge, decoding and step budget, and
names the paper's row. `compare_with_claims` holds it against this machine: for each benchmark the claimed rate, the
measured one with its denominators, and all that is missing for a run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError

from components.benchmarks.results import FOLDER, BenchmarkResult, Progress
from components.benchmarks.spec import Benchmark, BenchmarkError, load_benchmark, load_named
from components.params import NoEffect, Section
from components.records import Record
from components.reports import published
from components.reports.published import PublishedRow
from components.statistics import Interval

RECIPES = Path("recipes/reproductions")
RECORDED_KEYS = (
    "agent.protocol",
    "agent.prompt",
    "agent.max_context_tokens",
    "browser.viewport",
    "browser.scroll_bars",
    "model.think_prefix",
)
"""Keys of the harness that the settings of a result have under their last names."""


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
    """Its commit; None: the authors name none."""
    recipe: str
    """The recipe whose harness the model was trained and evaluated with."""
    harness: dict[str, Any]
    """Values that the recipe in use must have, by dotted key."""
    benchmarks: list[str] = Field(min_length=1)
    open: list[str] = Field(default_factory=list)
    """What the publication leaves open, in words."""

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
                missing_for.get(name, []),
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
    harness: Mapping[str, Any],
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
    if other := _other_harness(result, harness):
        problem = f"{other}: run `waymark reproduce` with --run again"
        return compared.model_copy(update={"status": "of another harness", "problem": problem})
    if other := _other_judge(result, benchmark):
        problem = f"{other}: run `waymark reproduce` with --run again"
        return compared.model_copy(update={"status": "of another judge", "problem": problem})
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


def _other_harness(result: BenchmarkResult, harness: Mapping[str, Any]) -> str:
    """In what a result's harness differs from the one that is pinned; empty if in nothing that the result records.
    Results of earlier versions record less."""
    settings = result.settings
    recorded = {
        **{key: settings.get(key.rpartition(".")[2]) for key in RECORDED_KEYS},
        **{f"agent.{key}": value for key, value in settings.get("context", {}).items()},
        **{f"observation.{key}": value for key, value in settings.get("observation", {}).items()},
    }
    others = {key: recorded[key] for key in harness if recorded.get(key) not in (None, harness[key])}
    return ", ".join(f"{key} is {value!r} and not {harness[key]!r}" for key, value in others.items())


def _other_judge(result: BenchmarkResult, benchmark: Benchmark) -> str:
    """In what a result was judged otherwise than the claim; empty if in nothing that the result records."""
    claimed = {"judge": benchmark.judge, "max_steps": benchmark.max_steps, "judge_model": benchmark.judge_model}
    recorded = {"judge": result.judge} | {key: result.settings.get(key) for key in ("max_steps", "judge_model")}
    others = {
        key: value for key, value in claimed.items() if None not in (value, recorded[key]) and recorded[key] != value
    }
    return ", ".join(f"{key} is {recorded[key]!r} and not {value!r}" for key, value in others.items())


def _result(
    benchmark: Benchmark, model_key: str, folder: Path, limit: int | None, harness: Mapping[str, Any]
) -> BenchmarkResult | None:
    """The result of a run on this revision of the benchmark, of those with a limit first; None if there is none. One of
    another harness or judge is taken only if there is no other.

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
        if not _other_harness(result, harness) and not _other_judge(result, benchmark):
            return result
        others.append(result)
    return others[0] if others else None
