"""One model on one published benchmark: `waymark evaluate BENCHMARK`; no DVC stage, since live sites are no input.

Steps: lay the benchmark over the recipe in use; find who is evaluated and whether somebody can judge; leave out tasks
whose start pages robots.txt or the allow-list forbids; roll out, paced per host and within the budget, journalled in
the stage's state; judge, with what is left of the money; write `reports/benchmarks/<name>@<model key>.json` with a page
beside it, the leaderboard and the MLflow run.

Run again, it goes on: with more budget or a larger limit, from the episodes that it has; episodes that the environment
ended are tried again. More of those than `evaluation.max_aborted` make the result invalid, without a rate.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from components import quality
from components.browser.egress import allows
from components.browser.robots import disallowed
from components.evaluation import EvaluationError, SuccessSummary, success
from components.evaluation.benchmark_results import TABLES, BenchmarkResult, Progress, write_result
from components.evaluation.benchmarks import FILES, Benchmark, BenchmarkError, file_tasks, load_benchmark, page_families
from components.evaluation.step_budgets import BudgetPoint, budget_curve, within
from components.judge import require_rules
from components.params import Params, load
from components.records import Record, Task, Trajectory, Verdict
from components.rollout import Budget
from components.sites import MiniWoB, world_of
from components.stages._contender import CHAMPION, Contender, contender
from components.stages._judged import judge, require_judge
from components.stages._leaderboard import publish
from components.stages._live import Measured, roll_out_paced
from components.stages._run import StageRun, stage
from components.stages.evaluate import InvalidEvaluation
from components.store import read_table, write_table
from components.tasks import at_sites, parse_rows, shuffled
from components.tasks.placeholders import site_of


class Options(Record):
    """What is asked of a run beside its benchmark. `occasion` tells nights apart."""

    model: str = CHAMPION
    limit: int | None = None
    steps: tuple[int, ...] = ()
    decoding: str = "official"
    files: Path = FILES
    budget: Budget = Budget()
    occasion: str = ""


class _Asked(Record):
    """The tasks to run, of how many, and those left out."""

    tasks: list[Task]
    in_set: int
    rejected: int
    skipped: dict[str, list[str]]


def evaluate(named: str | Path, options: Options) -> BenchmarkResult:
    """Measure a model on a benchmark.

    Raises:
        BenchmarkError, RuleError: something is missing; before anything is spent.
        InvalidEvaluation: the environment ended too many episodes. The result is written, marked invalid.
    """
    benchmark, recipe = load_benchmark(named), load()
    longest = max([benchmark.max_steps, *options.steps])
    params = benchmark.over(recipe, options.decoding, longest)
    require_judge(benchmark, recipe)
    tasks, rejected = file_tasks(benchmark, options.files) if benchmark.file is not None else ([], [])
    tasks = [at_sites(task, recipe.tasks.sites) for task in tasks]
    unplaced = [task.start_url for task in tasks if site_of(task.start_url) is not None]
    if unplaced:
        raise BenchmarkError(
            f"{len(unplaced)} tasks of {benchmark.name} begin on sites that must be served, such as {unplaced[0]}: "
            f"tasks.sites of the recipe says where, as {site_of(unplaced[0])}"
        )
    if benchmark.judge == "rules":
        require_rules(tasks)
    who = contender(options.model, recipe)
    occasion = f"{benchmark.key} {who.key} {options.decoding} {longest} {options.occasion}"
    with stage(f"benchmark@{benchmark.name}", occasion=occasion) as run:
        if benchmark.pages is not None:
            tasks = _page_tasks(run, benchmark, params)
        asked = _asked(tasks, len(rejected), params, benchmark, options.limit)
        _describe(run, benchmark, who, options.decoding)
        measured = asyncio.run(
            roll_out_paced(run, params, asked.tasks, benchmark.repeats, who, benchmark.politeness, options.budget)
        )
        result = _result(run, params, benchmark, options, who, asked, measured)
        run.is_partial = result.progress.stopped_by is not None
        path = write_result(result)
        print(f"{run.name}: {path}", flush=True)
        run.tracker.artifact(path)
        run.tracker.tags({"waymark.benchmark.status": result.status})
        _refresh_board(run)
        if result.status == "invalid":
            raise InvalidEvaluation(f"{run.name}: {result.problem}; mend the cause and run again")
    return result


def _refresh_board(run: StageRun) -> None:
    """The leaderboard with this result on it; another result's file that cannot be read is said, and fails nothing."""
    try:
        publish(run)
    except EvaluationError as error:
        print(f"{run.name}: the leaderboard is as it was: {error}; then `waymark leaderboard`", flush=True)


def _page_tasks(run: StageRun, benchmark: Benchmark, params: Params) -> list[Task]:
    """The tasks on pages of MiniWoB++, read off them once.

    Raises:
        BenchmarkError: a page gave no task.
    """
    table, pages = run.state / "tasks.parquet", benchmark.pages
    assert pages is not None
    if table.exists():
        return read_table(table, Task)
    run.progress(0, 1, "opening MiniWoB++ pages")
    seeds = range(pages.first_seed, pages.first_seed + pages.per_page)
    rows = asyncio.run(MiniWoB().collect(page_families(pages), seeds, "eval", params.browser.viewport))
    tasks, rejections = parse_rows(rows, benchmark.name, "miniwob")
    if rejections:
        raise BenchmarkError(f"{len(rejections)} of {len(rows)} pages gave no task, such as: {rejections[0].reason}")
    write_table(table, Task, tasks)
    return tasks


def _asked(tasks: Sequence[Task], rejected: int, params: Params, benchmark: Benchmark, limit: int | None) -> _Asked:
    """The tasks in seeded order, which mixes sites; the first `limit`, less those that may not be asked.

    The benchmark's step budget is the only one: a task's own horizon is for training.
    """
    chosen = [task.model_copy(update={"horizon": None}) for task in shuffled(tasks, params.seed)[:limit]]
    skipped: dict[str, list[str]] = {}
    if chosen and world_of(chosen[0]) == "live":
        egress = params.browser.egress
        outside = {task.task_id for task in chosen if not allows(egress, task.start_url)}
        inside = [task.start_url for task in chosen if task.task_id not in outside]
        forbidden = asyncio.run(disallowed(inside, egress)) if benchmark.politeness.robots else {}
        found = {
            "not_allowed": [task.task_id for task in chosen if task.task_id in outside],
            "robots": [task.task_id for task in chosen if task.start_url in forbidden],
        }
        skipped = {reason: ids for reason, ids in found.items() if ids}
        for reason, ids in skipped.items():
            print(f"{benchmark.name}: {len(ids)} tasks are left out: {reason} ({', '.join(ids[:3])}…)", flush=True)
    left_out = {task_id for ids in skipped.values() for task_id in ids}
    kept = [task for task in chosen if task.task_id not in left_out]
    return _Asked(tasks=kept, in_set=len(tasks), rejected=rejected, skipped=skipped)


def _describe(run: StageRun, benchmark: Benchmark, who: Contender, decoding: str) -> None:
    """What the MLflow run is about."""
    about = {
        "name": benchmark.name,
        "version": benchmark.version,
        "sha256": benchmark.sha256 or "",
        "judge": benchmark.judge,
        "decoding": decoding,
        "model": who.label,
    }
    run.tracker.params({"benchmark": about})
    run.tracker.tags({f"waymark.benchmark.{name}": value for name, value in about.items()})


def _result(
    run: StageRun,
    params: Params,
    benchmark: Benchmark,
    options: Options,
    who: Contender,
    asked: _Asked,
    measured: Measured,
) -> BenchmarkResult:
    """Judge, count, and say how much of the benchmark it is. Episodes that no judge could be paid for do not count."""
    evaluation, usd = params.evaluation, options.budget.usd
    judged = judge(run, params, measured.trajectories, benchmark, None if usd is None else usd - measured.spent.usd)
    trajectories, official = measured.trajectories[: judged.reached], judged.verdicts[benchmark.judge]
    spent = measured.spent.model_copy(update={"usd": round(measured.spent.usd + judged.usd, 6)})
    progress = _progress(benchmark, asked, trajectories, measured.retried, measured.stopped_by or judged.stopped_by)
    summaries: dict[str, SuccessSummary] = {}
    curve: list[BudgetPoint] = []
    if trajectories:
        run.check("trajectories", quality.trajectory_frame(trajectories), expected=len(trajectories))
        rules = evaluation.bootstrap, params.seed, evaluation.max_aborted
        at_budget = [within(trajectory, benchmark.max_steps) for trajectory in trajectories]
        summaries = {name: success(at_budget, verdicts, *rules) for name, verdicts in judged.verdicts.items()}
        curve = budget_curve(trajectories, official, options.steps, *rules)
    headline = summaries.get(benchmark.judge)
    status, problem = _status(headline, progress, len(trajectories), evaluation.max_aborted, judged.unfinished)
    result = BenchmarkResult(
        benchmark=benchmark.name,
        version=benchmark.identity,
        title=benchmark.title,
        licence=benchmark.licence,
        status=status,
        problem=problem,
        model=who.label,
        model_key=who.key,
        judge=benchmark.judge,
        summary=None if status == "invalid" else headline,
        also={} if status == "invalid" else {name: one for name, one in summaries.items() if name != benchmark.judge},
        curve=[] if status == "invalid" else curve,
        progress=progress,
        spent=spent,
        judge_usd=judged.usd,
        settings=_settings(params, benchmark, options),
        measured_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    out = TABLES / result.name
    write_table(out / "trajectories.parquet", Trajectory, trajectories)
    write_table(out / "verdicts.parquet", Verdict, official)
    run.traces(trajectories, official)
    run.result(result.model_dump(mode="json", exclude_none=True, include={"status", "version", "summary", "spent"}))
    for point in result.curve:
        run.metrics({"success_by_steps": point.rate}, step=point.steps)
    return result


def _progress(
    benchmark: Benchmark, asked: _Asked, trajectories: Sequence[Trajectory], retried: int, stopped_by: str | None
) -> Progress:
    ended: dict[str, int] = {}
    for trajectory in trajectories:
        ended[trajectory.task_id] = ended.get(trajectory.task_id, 0) + 1
    return Progress(
        tasks=asked.in_set,
        rejected=asked.rejected,
        asked=len(asked.tasks),
        done=sum(count == benchmark.repeats for count in ended.values()),
        skipped=asked.skipped,
        retried=retried,
        stopped_by=stopped_by,
    )


def _status(
    headline: SuccessSummary | None,
    progress: Progress,
    episodes: int,
    max_aborted: float,
    unfinished: Sequence[str],
) -> tuple[str, str | None]:
    """Complete, partial or invalid, and why."""
    if headline is not None and not headline.valid:
        return "invalid", (
            f"{headline.aborted} of {episodes} episodes were ended by the environment and {headline.unjudged} were not "
            f"judged (evaluation.max_aborted is {max_aborted}): {headline.terminations}"
        )
    if progress.done == progress.tasks and progress.stopped_by is None and not progress.rejected:
        return "complete", None
    reasons = [f"{progress.done} of {progress.tasks} tasks are done"]
    if progress.rejected:
        reasons.append(f"{progress.rejected} of {progress.tasks + progress.rejected} rows of the file are no tasks")
    reasons += [f"{len(ids)} left out ({reason})" for reason, ids in progress.skipped.items()]
    reasons += [f"not judged by {name}" for name in unfinished]
    if progress.stopped_by is not None:
        reasons.append(f"stopped at the budget: {progress.stopped_by}; raise it and run again to go on")
    return "partial", ", ".join(reasons)


def _settings(params: Params, benchmark: Benchmark, options: Options) -> dict[str, object]:
    """What the number depends on, and how it was come by."""
    evaluation = params.evaluation
    return {
        "recipe": params.name,
        "seed": params.seed,
        "decoding": options.decoding,
        "sampling": evaluation.sampling.model_dump(),
        "max_steps": benchmark.max_steps,
        "rolled_out_steps": evaluation.max_steps,
        "repeats": benchmark.repeats,
        "max_response_tokens": evaluation.max_response_tokens or params.agent.max_response_tokens,
        "task_timeout_s": params.agent.task_timeout_s,
        "inference_timeout_s": params.agent.inference_timeout_s,
        "protocol": params.agent.protocol,
        "observation": params.observation.model_dump(),
        "viewport": list(params.browser.viewport),
        "official_judge_model": benchmark.judge_model,
        "limit": options.limit,
        "budget": options.budget.model_dump(),
        "politeness": benchmark.politeness.model_dump(),
    }
