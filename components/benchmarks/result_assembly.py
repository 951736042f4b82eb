"""Judges the episodes of a benchmark run and assembles its result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

from components import quality
from components.benchmarks.judging import JudgedEpisodes, judge
from components.benchmarks.options import BenchmarkRun, Options
from components.benchmarks.results import TABLES, BenchmarkResult, Progress, Status, free_name
from components.benchmarks.rollouts import RolledOut
from components.benchmarks.spec import Benchmark
from components.benchmarks.step_budgets import BudgetPoint, budget_curve, within
from components.benchmarks.task_selection import SelectedTasks
from components.evaluation import EvaluationError, SuccessSummary, success
from components.params import OPENWEBRL_KEYS, Params
from components.pipeline.stage_run import StageRun
from components.records import Outcome, Trajectory, Verdict
from components.store import write_table
from components.success import needs_judge

DECIDED = (Outcome.SUCCESS, Outcome.FAILURE)


def assemble_result(run: BenchmarkRun, selected: SelectedTasks, rolled_out: RolledOut) -> BenchmarkResult:
    """Judge the episodes with the rest of the budget, summarise them, and log tables, traces and figures.

    Episodes that the budget for judges did not cover do not count.
    """
    params, benchmark, options = run.params, run.benchmark, run.options
    usd = options.budget.usd
    judged = judge(
        run.stage, params, rolled_out.trajectories, benchmark, None if usd is None else usd - rolled_out.spent.usd
    )
    trajectories, official = rolled_out.trajectories[: judged.reached], judged.verdicts[benchmark.judge]
    if trajectories:
        run.stage.check("trajectories", quality.trajectory_frame(trajectories), expected=len(trajectories))
    summaries, curve, undecided = _summarise(params, benchmark, options, trajectories, judged)
    stopped_by = rolled_out.stopped_by or judged.stopped_by
    unjudged = _unjudged(benchmark, trajectories, official)
    progress = _progress(benchmark, selected, trajectories, unjudged, rolled_out.retried, stopped_by)
    headline = summaries.get(benchmark.judge)
    status, problem = _status(headline, progress, len(trajectories), [*judged.unfinished, *undecided])
    is_invalid = status == "invalid"
    result = BenchmarkResult(
        benchmark=benchmark.name,
        version=benchmark.identity,
        title=benchmark.title,
        licence=benchmark.licence,
        status=status,
        problem=problem,
        model=run.subject.label,
        model_key=run.subject.key,
        judge=benchmark.judge,
        summary=None if is_invalid else headline,
        also={} if is_invalid else {name: summary for name, summary in summaries.items() if name != benchmark.judge},
        curve=[] if is_invalid else curve,
        progress=progress,
        spent=rolled_out.spent.model_copy(update={"usd": round(rolled_out.spent.usd + judged.usd, 6)}),
        judge_usd=judged.usd,
        settings=_settings(params, benchmark, options) | {"judge_versions": _versions(official)},
        measured_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    _log(run.stage, result, trajectories, official)
    return result


def _summarise(
    params: Params, benchmark: Benchmark, options: Options, trajectories: Sequence[Trajectory], judged: JudgedEpisodes
) -> tuple[dict[str, SuccessSummary], list[BudgetPoint], list[str]]:
    """Summaries by judge under the benchmark's step budget, the curve over other budgets by the official judge, and the
    judges that decided no episode, which have no summary, or, of `also`, not all."""
    if not trajectories:
        return {}, [], []
    max_aborted = params.evaluation.max_aborted
    cut = [within(trajectory, benchmark.max_steps) for trajectory in trajectories]
    summaries: dict[str, SuccessSummary] = {}
    undecided: list[str] = []
    for name, verdicts in judged.verdicts.items():
        try:
            summaries[name] = success(cut, verdicts, max_aborted)
        except EvaluationError:
            undecided.append(name)
            continue
        if name != benchmark.judge and (count := summaries[name].unjudged):
            undecided.append(f"{name} on {count} episodes")
    official = judged.verdicts[benchmark.judge]
    return summaries, budget_curve(trajectories, official, options.steps, max_aborted), undecided


def _log(stage: StageRun, result: BenchmarkResult, trajectories: Sequence[Trajectory], verdicts: list[Verdict]) -> None:
    """Write the tables of the result, and log its traces and figures to the MLflow run."""
    folder = TABLES / free_name(result)
    write_table(folder / "trajectories.parquet", Trajectory, trajectories)
    write_table(folder / "verdicts.parquet", Verdict, verdicts)
    stage.evaluation(trajectories, verdicts)
    stage.result(result.model_dump(mode="json", exclude_none=True, include={"status", "version", "summary", "spent"}))
    for point in result.curve:
        stage.metrics({"success_by_steps": point.rate}, step=point.steps)


def _unjudged(benchmark: Benchmark, trajectories: Sequence[Trajectory], official: Sequence[Verdict]) -> set[str]:
    """Ids of the trajectories that need a verdict under the benchmark's step budget, and whose official one decides
    nothing."""
    undecided = {verdict.trajectory_id for verdict in official if verdict.outcome not in DECIDED}
    cut = (within(trajectory, benchmark.max_steps) for trajectory in trajectories)
    return {trajectory.trajectory_id for trajectory in cut if needs_judge(trajectory)} & undecided


def _progress(
    benchmark: Benchmark,
    selected: SelectedTasks,
    trajectories: Sequence[Trajectory],
    unjudged: set[str],
    retried: int,
    stopped_by: str | None,
) -> Progress:
    """How much was measured.

    Args:
        unjudged: ids of the trajectories that lack a verdict (`_unjudged`).
    """
    ended = Counter(trajectory.task_id for trajectory in trajectories if trajectory.trajectory_id not in unjudged)
    return Progress(
        tasks=selected.in_set,
        rejected=selected.rejected,
        asked=len(selected.tasks),
        done=sum(count == benchmark.repeats for count in ended.values()),
        skipped=selected.skipped,
        retried=retried,
        stopped_by=stopped_by,
    )


def _status(
    headline: SuccessSummary | None,
    progress: Progress,
    episodes: int,
    unfinished: Sequence[str],
) -> tuple[Status, str | None]:
    """Complete, partial or invalid, and the reason.

    Args:
        headline: by the official judge; None if it decided no episode.
        unfinished: judges that did not decide all episodes.
    """
    if headline is None and episodes:
        return "invalid", (
            f"the official judge decided none of {episodes} episodes: start the model of judge.model, or name one if "
            "the rules need it"
        )
    if headline is not None and not headline.valid:
        return "invalid", f"{'; '.join(headline.problems)}: {headline.terminations}"
    if progress.done == progress.tasks and progress.stopped_by is None and not progress.rejected and not unfinished:
        return "complete", None
    reasons = [f"{progress.done} of {progress.tasks} tasks are done"]
    if progress.rejected:
        reasons.append(f"{progress.rejected} of {progress.tasks + progress.rejected} rows of the file are no tasks")
    if headline is not None and headline.unjudged:
        reasons.append(
            f"{headline.unjudged} episodes have no verdict that can be read: run again to ask the judge about those "
            "that it did not answer"
        )
    reasons += [f"{len(ids)} left out ({reason})" for reason, ids in progress.skipped.items()]
    reasons += [f"not judged by {name}" for name in unfinished]
    if progress.stopped_by is not None:
        reasons.append(f"stopped at the budget: {progress.stopped_by}; raise it and run again to resume")
    return "partial", ", ".join(reasons)


def _versions(verdicts: Sequence[Verdict]) -> list[str]:
    """The versions of the judges that decided, sorted."""
    return sorted({verdict.judge_version for verdict in verdicts if verdict.outcome in DECIDED})


def _settings(params: Params, benchmark: Benchmark, options: Options) -> dict[str, object]:
    """The settings that the result depends on."""
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
        "prompt": params.agent.prompt,
        "max_context_tokens": params.agent.max_context_tokens,
        "think_prefix": params.model.think_prefix,
        "context": {key: getattr(params.agent, key) for key in OPENWEBRL_KEYS},
        "observation": params.observation.model_dump(),
        "viewport": list(params.browser.viewport),
        "scroll_bars": params.browser.scroll_bars,
        "official_judge_model": benchmark.judge_model,
        "judge_model": params.judge.model.endpoint.model if params.judge.model is not None else None,
        "limit": options.limit,
        "occasion": options.occasion,
        "budget": options.budget.model_dump(),
        "politeness": benchmark.politeness.model_dump(),
    }
