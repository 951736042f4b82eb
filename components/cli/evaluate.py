"""`waymark evaluate`: one model on a published benchmark."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from components.cli.command import ListAndExit, Subparsers, amount, fail, positive, whole_amount


def add(commands: Subparsers) -> None:
    """Register `evaluate`."""
    parser = commands.add_parser("evaluate", help="a model on a published benchmark; a second run resumes the first")
    parser.add_argument("benchmark", metavar="BENCHMARK", help="a name in recipes/benchmarks, or a .yaml file")
    parser.add_argument(
        "--model",
        default="champion",
        metavar="PATH|NAME",
        help="a directory, a Hugging Face name, `champion` (the best model of the pipeline, by its alias in MLflow), a "
        "registered version (models:/NAME/NUMBER) or the recipe's `teacher`; default: %(default)s",
    )
    parser.add_argument("--limit", type=positive, metavar="N", help="N tasks of the set, drawn by the recipe's seed")
    parser.add_argument(
        "--steps", type=_counts, default=(), metavar="N,N,…", help="also report the success with these numbers of steps"
    )
    parser.add_argument(
        "--decoding",
        default="official",
        metavar="NAME",
        help="which sampling settings of the benchmark's file; default: %(default)s",
    )
    parser.add_argument("--budget-usd", type=amount, metavar="X", help="stop after X US dollars")
    parser.add_argument(
        "--budget-minutes", type=amount, metavar="M", help="stop after M minutes, earlier runs included"
    )
    parser.add_argument(
        "--budget-tokens",
        type=whole_amount,
        metavar="T",
        help="stop after the model has read and written T tokens",
    )
    parser.add_argument("--files", type=Path, metavar="DIR", help="the folder of task files; default: data/benchmarks")
    parser.add_argument(
        "--occasion",
        default="",
        metavar="TEXT",
        help="a label such as a date: another label starts a run of its own, the same one resumes",
    )
    parser.add_argument("--list", action=_ListBenchmarks, help="list the benchmarks")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Measure the model and print its rate; returns the exit status."""
    from components.benchmarks.options import Options
    from components.benchmarks.run import evaluate
    from components.benchmarks.spec import FILES
    from components.rollout import Budget

    settings = Options(
        model=options.model,
        limit=options.limit,
        steps=options.steps,
        decoding=options.decoding,
        files=options.files or FILES,
        budget=Budget(usd=options.budget_usd, minutes=options.budget_minutes, tokens=options.budget_tokens),
        occasion=options.occasion,
    )
    try:
        result = evaluate(options.benchmark, settings)
    except user_errors() as error:
        return fail(error)
    if result.summary is not None:
        low, high = result.summary.ci95
        print(
            f"{result.model} on {result.benchmark} ({result.version}): {result.summary.rate:.1%} of "
            f"{result.summary.n} tasks [{low:.1%}, {high:.1%}], {result.summary.aborted} aborted"
        )
    for point in result.curve:
        print(f"  {point.steps} steps: {point.rate:.1%}")
    print(result.status + (f": {result.problem}" if result.problem else ""))
    return 0


class _ListBenchmarks(ListAndExit):
    """Lists the benchmarks."""

    def lines(self) -> Iterator[str]:
        """A benchmark each."""
        from components.benchmarks.spec import RECIPES, BenchmarkError, load_benchmark

        paths = sorted(RECIPES.glob("*.yaml"))
        if not paths:
            raise SystemExit(fail(f"{RECIPES}/ has no benchmark: go to the folder of your checkout of Waymark first"))
        for path in paths:
            try:
                benchmark = load_benchmark(path)
            except BenchmarkError as error:
                yield f"{path.stem:24} cannot be read: {error}"
            else:
                yield f"{benchmark.name:24} {benchmark.title} ({benchmark.identity}), judged by {benchmark.judge}"


def _counts(text: str) -> tuple[int, ...]:
    return tuple(positive(part) for part in text.split(","))


def user_errors() -> tuple[type[Exception], ...]:
    """The errors of an evaluation whose message names the fix."""
    from components.benchmarks.spec import BenchmarkError
    from components.browser import ChromiumNotFoundError, SandboxError
    from components.endpoint import EndpointError
    from components.evaluation import EvaluationError
    from components.judge import JudgeOutage, RuleError
    from components.params import RecipeError
    from components.pipeline.evaluation import InvalidEvaluation
    from components.pipeline.stage_run import RecipeChanged, StageBusy
    from components.policies.vllm import ServerError
    from components.policies.vllm.policy import ServerMismatchError
    from components.tracking import TrackingError
    from components.worlds import WorldError

    return (
        BenchmarkError,
        ChromiumNotFoundError,
        EndpointError,
        EvaluationError,
        InvalidEvaluation,
        JudgeOutage,
        RecipeChanged,
        RecipeError,
        RuleError,
        SandboxError,
        ServerError,
        ServerMismatchError,
        StageBusy,
        TrackingError,
        WorldError,
    )
