"""`waymark run`: one task on any page, watched as it happens."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from components.cli.command import PARAMS, Subparsers, cannot_write, duration, fail, positive, seed, web_address

INTERRUPTED = 130
"""Exit status after Ctrl-C: 128 + SIGINT, as a shell reports it."""


def add(commands: Subparsers) -> None:
    """Register `run`."""
    parser = commands.add_parser(
        "run",
        help="one task on any page, by a model or by you; each turn is printed as it happens",
        epilog="Exit status: 0 the agent called done; 1 the run could not begin or the model failed; 2 wrong "
        "arguments; 3 step or time limit; 4 the agent's responses could not be used; 5 the page or the browser failed; "
        "130 stopped by Ctrl-C.",
    )
    parser.add_argument("task", metavar="TASK", help='what to do, such as "add a red tent to the basket"')
    parser.add_argument("--url", required=True, metavar="URL", help="the page on which the task begins")
    parser.add_argument(
        "--recipe", type=Path, default=PARAMS, metavar="RECIPE",
        help="protocol, observation and browser: a file, or a name in recipes/; default: %(default)s",
    )  # fmt: skip
    parser.add_argument(
        "--model", metavar="PATH|NAME",
        help="a directory, a Hugging Face name, `champion` (the best model of the pipeline, by its alias in MLflow), "
        "or a registered version (models:/NAME/NUMBER); default: champion",
    )  # fmt: skip
    parser.add_argument(
        "--endpoint", type=web_address, metavar="URL", help="an OpenAI-compatible endpoint, up to and including /v1"
    )
    parser.add_argument("--endpoint-model", metavar="NAME", help="the endpoint's model")
    parser.add_argument(
        "--endpoint-key", metavar="VARIABLE", help="the environment variable with the endpoint's key; default: no key"
    )
    parser.add_argument("--teacher", choices=["human"], help="act yourself, and keep a demonstration")
    parser.add_argument(
        "--max-steps",
        type=positive,
        metavar="N",
        help="default: the recipe's evaluation.max_steps; 200 with --teacher human",
    )
    parser.add_argument(
        "--minutes", type=duration, metavar="M", help="time limit; default: the recipe's agent.task_timeout_s"
    )
    parser.add_argument(
        "--allow", action="append", default=[], metavar="HOST",
        help="another host that may be opened (a pattern, or host:port); repeatable; default: the first page's host "
        "with its subdomains",
    )  # fmt: skip
    parser.add_argument(
        "--dialogs", choices=["ask", "accept"],
        help="questions of pages, such as \"Delete?\": `ask` lets the agent answer, and dismisses those without an "
        "answer; `accept` confirms all at once; default: ask, or with a model the `browser.dialogs: accept` that a "
        "file of --recipe sets itself, which params.yaml does not",
    )  # fmt: skip
    parser.add_argument("--headed", action="store_true", help="show the browser")
    parser.add_argument("--record", action="store_true", help="keep a video of the page")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder of the results; default: one in data/runs")
    parser.add_argument("--seed", type=seed, metavar="N", help="seed of the model's sampling; default: the recipe's")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the episode and print where its files are; returns the exit status."""
    try:
        return _run(options)
    except KeyboardInterrupt:  # before the episode, which handles it itself, or for the second time
        return INTERRUPTED


def _run(options: argparse.Namespace) -> int:
    from components.browser import ChromiumNotFoundError, SandboxError
    from components.interactive import RunError, RunOptions, dialogs_of, exit_status, run_task
    from components.params import EndpointParams, RecipeError, find, load
    from components.tracking import TrackingError

    if (options.endpoint is None) != (options.endpoint_model is None):
        return fail("--endpoint URL and --endpoint-model NAME belong together: give both")
    if options.endpoint_key is not None and options.endpoint is None:
        return fail("--endpoint-key is of the endpoint that --endpoint names: give --endpoint, too")
    if options.model is not None and options.endpoint is not None:
        return fail("--model and --endpoint name two models, and one acts: leave one of them out")
    if options.teacher == "human" and (options.model is not None or options.endpoint is not None):
        return fail("with --teacher human you act, and no model does: leave out --model and --endpoint")
    if options.out is not None and (problem := cannot_write(options.out / "trajectories.parquet")):
        return fail(f"--out {problem}")
    endpoint = None
    if options.endpoint is not None:
        endpoint = EndpointParams(
            url=options.endpoint, model=options.endpoint_model, key_variable=options.endpoint_key, max_retries=2
        )
    try:
        params = load(file := find(options.recipe))
    except RecipeError as error:
        return fail(error)
    by_person = options.teacher == "human"
    settings = RunOptions(
        intent=options.task,
        url=options.url,
        model=options.model or "champion",
        endpoint=endpoint,
        by_person=by_person,
        max_steps=options.max_steps,
        minutes=options.minutes,
        allow=tuple(options.allow),
        headed=options.headed,
        record=options.record,
        out=options.out,
        seed=options.seed,
        dialogs=options.dialogs or (None if by_person else dialogs_of(file, params)),
    )
    try:
        record = run_task(settings, params)
    except (RecipeError, RunError, TrackingError, ChromiumNotFoundError, SandboxError) as error:
        return fail(error)
    print(f"Trajectory: {record.table}")
    print(f"View it:    waymark view --table {shlex.quote(str(record.table))}")
    if record.video is not None:
        print(f"Video:      {record.video} (any browser plays it)")
    if record.demonstrations is not None:
        print(f"Kept in:    {record.demonstrations}; name this file in curate.demonstrations to train on it")
    if record.error is not None:
        return fail(record.error)
    return exit_status(record.trajectory.termination)
