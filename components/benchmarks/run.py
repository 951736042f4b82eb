"""Evaluates one model on one published benchmark: `waymark evaluate BENCHMARK`.

Steps: apply the benchmark's settings to the recipe in use; resolve the model, and check that its answers can be judged;
drop tasks whose start pages robots.txt or the allow-list forbids; roll out, paced per host and within the budget, with
a journal in the stage's state; judge with the rest of the budget; write `reports/benchmarks/<name>@<model key>.json`
with a page beside it, the leaderboard and the MLflow run. It is no DVC stage, because live sites cannot be inputs.

A second run resumes the first, also with a larger budget or limit, and repeats the episodes that the environment ended.
If these are more than `evaluation.max_aborted`, the result is invalid and has no rate. The same holds if the official
judge decides no episode. Another judge that decides none is left out; if it leaves any undecided, the result is
partial.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from components.benchmarks.judging import episodes_budget, require_judge, require_judge_keys
from components.benchmarks.options import BenchmarkRun, Options
from components.benchmarks.result_assembly import assemble_result
from components.benchmarks.results import BenchmarkResult, write_result
from components.benchmarks.rollouts import roll_out_paced
from components.benchmarks.spec import Benchmark, BenchmarkError, load_benchmark
from components.benchmarks.subject import resolve_subject
from components.benchmarks.task_selection import judgeable_tasks, select_tasks
from components.evaluation import EvaluationError
from components.params import Params, load
from components.pipeline.evaluation import InvalidEvaluation
from components.pipeline.leaderboard import publish
from components.pipeline.stage_run import StageRun, reopen, stage
from components.records import Task
from components.store import read_table, write_table
from components.tasks import parse_rows
from components.worlds import WorldError, world_class


def evaluate(named: str | Path, options: Options) -> BenchmarkResult:
    """Measure a model on a benchmark.

    Args:
        named: a name in `recipes/benchmarks`, or a .yaml file.

    Raises:
        BenchmarkError, RuleError, EndpointError: something is missing; raised before the run costs anything.
        InvalidEvaluation: the environment ended too many episodes, or the official judge decided none. The result is
            written, marked invalid.
    """
    benchmark, recipe = load_benchmark(named), load()
    longest = max([benchmark.max_steps, *options.steps])
    params = benchmark.over(recipe, options.decoding, longest)
    require_judge(benchmark, recipe)
    require_judge_keys(benchmark, recipe)
    tasks, rejected = judgeable_tasks(benchmark, recipe, options.files) if benchmark.file is not None else ([], [])
    subject = resolve_subject(options.model, recipe)
    occasion = f"{benchmark.key} {subject.key} {options.decoding} {longest} {options.occasion}"
    with stage(f"benchmark@{benchmark.name}", occasion=occasion) as run:
        reopen(run.state)  # a run with more tasks may be cut short after one with fewer that ended
        if benchmark.pages is not None:
            tasks = _page_tasks(run, benchmark, params)
        selected = select_tasks(tasks, len(rejected), params, benchmark, options.limit)
        benchmark_run = BenchmarkRun(run, params, benchmark, options, subject)
        _describe(benchmark_run)
        rolled_out = asyncio.run(
            roll_out_paced(
                run,
                params,
                selected.tasks,
                benchmark.repeats,
                subject,
                benchmark.politeness,
                episodes_budget(options.budget, benchmark, params) if subject.is_priced else options.budget,
                options.occasion,
            )
        )
        result = assemble_result(benchmark_run, selected, rolled_out)
        summaries = [summary for summary in (result.summary, *result.also.values()) if summary is not None]
        has_unjudged = any(summary.unjudged > 0 for summary in summaries)
        run.is_partial = result.progress.stopped_by is not None or has_unjudged
        path = write_result(result)
        print(f"{run.name}: {path}", flush=True)
        run.tracker.artifact(path)
        run.tracker.tags({"waymark.benchmark.status": result.status})
        _refresh_leaderboard(run)
        if result.status == "invalid":
            raise InvalidEvaluation(f"{run.name}: {result.problem}; correct the cause and run again")
    return result


def _page_tasks(run: StageRun, benchmark: Benchmark, params: Params) -> list[Task]:
    """The tasks on the pages of a world, collected from them once.

    Raises:
        BenchmarkError: a page gave no task.
    """
    table, pages = run.state / "tasks.parquet", benchmark.pages
    assert pages is not None
    if table.exists():
        return read_table(table, Task)
    world = world_class(pages.world)
    run.progress(0, 1, f"opening pages of {world.name}")
    try:
        rows = asyncio.run(world(world.Params()).pinned_tasks(pages.pinned, params.browser.viewport))
    except WorldError as error:
        raise BenchmarkError(str(error)) from error
    tasks, rejections = parse_rows(rows, benchmark.name, world.name)
    if rejections:
        raise BenchmarkError(f"{len(rejections)} of {len(rows)} pages gave no task, such as: {rejections[0].reason}")
    write_table(table, Task, tasks)
    return tasks


def _describe(run: BenchmarkRun) -> None:
    """Log the benchmark and the model as parameters and tags of the MLflow run. The parameters of a run cannot change
    when it goes on, and one model has several names, so the model's name is only a tag."""
    benchmark = run.benchmark
    description = {
        "name": benchmark.name,
        "version": benchmark.version,
        "sha256": benchmark.sha256 or "",
        "judge": benchmark.judge,
        "decoding": run.options.decoding,
        "model_key": run.subject.key,
    }
    run.stage.tracker.params({"benchmark": description})
    named = description | {"model": run.subject.label}
    run.stage.tracker.tags({f"waymark.benchmark.{name}": value for name, value in named.items()})


def _refresh_leaderboard(run: StageRun) -> None:
    """Rewrite the leaderboard with this result; an unreadable file of another result is only reported."""
    try:
        publish(run)
    except EvaluationError as error:
        print(f"{run.name}: the leaderboard is unchanged: {error}; then `waymark leaderboard`", flush=True)
