"""`waymark reproduce`: a published result, claimed beside reproduced."""

from __future__ import annotations

import argparse
import sys
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

from components.cli.command import Subparsers, fail, positive
from components.cli.evaluate import user_errors

if TYPE_CHECKING:
    from components.benchmarks.reproduction import ComparedBenchmark, Comparison, Reproduction
    from components.params import Params

INCOMPLETE = 3
"""Exit status of a comparison without a complete result on every benchmark."""


def add(commands: Subparsers) -> None:
    """Register `reproduce`."""
    parser = commands.add_parser(
        "reproduce",
        help="a published result: claimed beside reproduced, the denominators, and what is missing here",
        epilog="Exit status: 0 every benchmark has a complete result; 1 something is wrong; 2 wrong arguments; 3 a "
        "result is missing or partial.",
    )
    parser.add_argument("name", metavar="NAME", help="a name in recipes/reproductions, or a .yaml file")
    parser.add_argument(
        "--checkpoint", type=Path, metavar="DIR", help="the folder of its model; default: where the hub's downloads are"
    )
    parser.add_argument("--files", type=Path, metavar="DIR", help="the folder of task files; default: data/benchmarks")
    parser.add_argument(
        "--run", action="store_true", dest="evaluate", help="evaluate on each benchmark for which nothing is missing"
    )
    parser.add_argument(
        "--limit", type=positive, metavar="N", help="with --run: N tasks of each set; such results are partial"
    )
    parser.add_argument("--format", choices=["text", "json"], default="text", help="default: %(default)s")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the comparison, after the runs that --run asks for; returns the exit status."""
    from components.benchmarks.checkpoints import find_checkpoint
    from components.benchmarks.reproduction import load_reproduction
    from components.params import load

    try:
        reproduction = load_reproduction(options.name)
        checkpoint = find_checkpoint(reproduction, options.checkpoint)
        params = load()
        comparison = _compare(reproduction, options, params, checkpoint)
        if options.evaluate and checkpoint is not None and _evaluate(reproduction, comparison, options, checkpoint):
            comparison = _compare(reproduction, options, params, checkpoint)
    except user_errors() as error:
        return fail(error)
    print(comparison.model_dump_json(indent=1) if options.format == "json" else as_text(comparison))
    return 0 if comparison.is_complete else INCOMPLETE


def as_text(comparison: Comparison) -> str:
    """The comparison for the terminal."""
    revision = f" at {comparison.revision[:12]}" if comparison.revision else ""
    lines = [f"{comparison.title} ({comparison.source}), checkpoint {comparison.checkpoint}{revision}"]
    if comparison.unpinned is not None:
        lines.append(comparison.unpinned)
    for line in comparison.benchmarks:
        lines += ["", *_benchmark_lines(line)]
    if comparison.missing:
        lines += ["", "Missing for every benchmark:", *(f"  - {text}" for text in comparison.missing)]
    if comparison.open:
        lines += ["", "Left open by the publication:", *(f"  - {text}" for text in comparison.open)]
    return "\n".join(lines)


def _benchmark_lines(line: ComparedBenchmark) -> list[str]:
    by = f" ({line.judge_model})" if line.judge_model else ""
    claimed = "none" if line.claimed is None else f"{line.claimed:.1%}"
    lines = [
        f"{line.benchmark}: judge {line.judge}{by}, {line.decoding}, {line.max_steps} steps",
        f"  claimed     {claimed} of {line.claimed_tasks or 'a set that the paper does not describe'}",
    ]
    if line.reproduced is None or line.ci95 is None:
        lines.append("  reproduced  nothing" + (f": {line.status}, {line.problem}" if line.status else " yet"))
    else:
        verdict = {True: "; the claim is in the interval", False: "; the claim is outside of the interval", None: ""}
        lines.append(
            f"  reproduced  {line.reproduced:.1%} of {line.n} tasks [{line.ci95.low:.1%}, {line.ci95.high:.1%}], "
            f"{line.status}{verdict[line.is_reproduced]}"
        )
    if line.progress is not None:
        progress = line.progress
        skipped = ", ".join(f"{len(ids)} {reason}" for reason, ids in progress.skipped.items()) or "none"
        lines.append(
            f"  of          {progress.tasks} tasks of the set: {progress.asked} attempted, {progress.done} done, "
            f"skipped: {skipped}; {line.aborted or 0} episodes ended by the environment, {line.unjudged or 0} without "
            "a verdict"
        )
    return lines + [f"  missing     {text}" for text in line.missing]


def _compare(
    reproduction: Reproduction, options: argparse.Namespace, params: Params, checkpoint: Path | None
) -> Comparison:
    from components.benchmarks.checkpoints import unpinned
    from components.benchmarks.reproduction import compare_with_claims
    from components.benchmarks.requirements import missing_everywhere, missing_for
    from components.benchmarks.spec import FILES, load_benchmark
    from components.benchmarks.subject import resolve_subject

    key = None if checkpoint is None else resolve_subject(str(checkpoint), params).key
    benchmarks = [load_benchmark(name) for name in reproduction.benchmarks]
    lacking = {benchmark.name: missing_for(benchmark, params, options.files or FILES) for benchmark in benchmarks}
    everywhere = missing_everywhere(reproduction, params, checkpoint)
    comparison = compare_with_claims(reproduction, everywhere, lacking, key, limit=options.limit)
    return comparison.model_copy(update={"unpinned": unpinned(reproduction, checkpoint)})


def _evaluate(
    reproduction: Reproduction, comparison: Comparison, options: argparse.Namespace, checkpoint: Path
) -> bool:
    """Evaluate where nothing is missing, also after an invalid evaluation; returns whether anything ran."""
    from components.benchmarks.options import Options
    from components.benchmarks.run import evaluate
    from components.benchmarks.spec import FILES
    from components.pipeline.evaluation import InvalidEvaluation

    if comparison.missing:
        print("nothing is run: see what is missing for every benchmark", file=sys.stderr)
        return False
    pairs = zip(reproduction.benchmarks, comparison.benchmarks, strict=True)
    ready = [named for named, line in pairs if not line.missing]
    settings = Options(model=str(checkpoint), limit=options.limit, files=options.files or FILES)
    for name in ready:
        try:
            with redirect_stdout(sys.stderr) if options.format == "json" else nullcontext():
                evaluate(name, settings)
        except InvalidEvaluation as error:
            print(error, file=sys.stderr)
    return bool(ready)
