"""`waymark mcp`: one task in a contained browser for any agent, by the Model Context Protocol."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from components.cli.command import PARAMS, Subparsers, cannot_write, fail, nonempty, nonempty_path, positive

if TYPE_CHECKING:
    from components.browser import Environments
    from components.journal import Journal
    from components.mcp_server import EpisodeResult
    from components.params import Params
    from components.records import Task, Trajectory

STEPS = 50
INTENT = "Use the browser for what your user asks."
RESULTS, SUCCESSES = "results.jsonl", "demonstrations.parquet"
INTERRUPTED = 130
"""Exit status after Ctrl-C: 128 + SIGINT, as a shell reports it."""


def add(commands: Subparsers) -> None:
    """Register `mcp`."""
    parser = commands.add_parser(
        "mcp",
        help="one task in a contained browser for any agent, by the Model Context Protocol (stdio)",
        epilog="Your agent starts this command. docs/how-to/connect-an-agent.md has its configuration.",
    )
    parser.add_argument(
        "recipe", nargs="?", type=Path, default=PARAMS, metavar="RECIPE",
        help="tasks, tools, observation and browser: a file, or a name in recipes/; default: %(default)s",
    )  # fmt: skip
    task = parser.add_mutually_exclusive_group(required=True)
    task.add_argument("--task", type=nonempty, metavar="ID", help="a task of the recipe by its id")
    task.add_argument("--split", type=nonempty, metavar="NAME", help="the task of this split at --index")
    task.add_argument("--url", type=nonempty, metavar="URL", help="no task of the recipe, but this page")
    parser.add_argument("--index", type=int, metavar="N", help="with --split, from 0; default: 0")
    parser.add_argument(
        "--tasks", action="append", type=nonempty_path, default=[], metavar="FILE",
        help="a task file whose tasks --task and --split mean in place of the recipe's; repeatable",
    )  # fmt: skip
    parser.add_argument(
        "--intent", type=nonempty, metavar="TEXT", help="with --url: what to do there; default: what your user asks"
    )
    parser.add_argument(
        "--allow", action="append", default=[], metavar="HOST",
        help="with --url: another host that may be opened (a pattern, or host:port); repeatable; default: the page's "
        "host with its subdomains",
    )  # fmt: skip
    parser.add_argument(
        "--max-steps", type=positive, default=STEPS, metavar="N", help="calls of an episode; default: %(default)s"
    )
    parser.add_argument("--no-screenshots", action="store_true", help="results are text alone")
    parser.add_argument(
        "--out", type=nonempty_path, metavar="DIR",
        help=f"record the episode there, in a journal and in trajectories.parquet, and its verdict in {RESULTS}",
    )  # fmt: skip
    parser.add_argument(
        "--policy",
        type=nonempty,
        default="mcp",
        metavar="NAME",
        help="the agent, for the record; default: %(default)s",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Serve until the client leaves, Ctrl-C or SIGTERM; returns the exit status."""
    from components.browser import ChromiumNotFoundError, EnvError, SandboxError
    from components.interactive import RunError
    from components.judge import RuleError
    from components.openenv import recording
    from components.params import RecipeError, find, load
    from components.worlds import WorldError

    if options.url is None and (options.allow or options.intent):
        return fail("--allow and --intent belong to --url: leave them out, because the recipe's task has both")
    if options.index is not None and options.split is None:
        return fail("--index counts the tasks of a split: name one with --split, or leave it out")
    if options.url is not None and options.tasks:
        return fail("--url is no task of a file: leave out --tasks, or name a task with --task or --split")
    if options.out is not None and (problem := cannot_write(options.out / RESULTS)):
        return fail(f"--out {problem}")
    refused = (RecipeError, RunError, WorldError, RuleError, EnvError, ChromiumNotFoundError, ValueError, LookupError)
    try:
        params = load(find(options.recipe))
        if options.no_screenshots and params.observation.text == "none":
            return fail(
                f"with --no-screenshots the agent would see nothing of a page, because {params.name} has "
                "observation.text: none: leave the option out, or use a recipe with another value"
            )
        place = _page(params, options) if options.url is not None else _task(params, options)
    except refused as error:
        return fail(error.args[0] if isinstance(error, LookupError) else error)
    try:
        with recording(options.out) if options.out is not None else nullcontext() as journal:
            status = INTERRUPTED if asyncio.run(_serve(*place, options, journal)) else 0
    except BlockingIOError:
        status = fail(f"--out {options.out} is in use by another server: give each server a folder of its own")
    except (*refused, SandboxError) as error:
        status = fail(error)
    sys.stderr.flush()
    os._exit(status)  # a thread may still read standard input, and Python would wait for it


def _task(params: Params, options: argparse.Namespace) -> tuple[Params, Task, Environments]:
    """A task of the recipe, and browsers with its worlds.

    Raises:
        LookupError: there is no such task.
        WorldError: its world is missing something.
        RuleError: its rule cannot be used.
    """
    from components.judge import require_rules
    from components.openenv import ResetRequest, TaskSplits, tasks_of
    from components.pipeline.rollouts import open_pool
    from components.worlds import worlds_of

    worlds = worlds_of(params)
    worlds.require_installed()
    tasks = tasks_of(params, options.tasks, tell=partial(print, file=sys.stderr))
    splits = TaskSplits(tasks)
    if options.task is not None and options.task not in {task.task_id for task in tasks}:
        counts = ", ".join(f"{len(splits.tasks(name))} in {name}" for name in splits.names)
        raise LookupError(
            f"there is no task {options.task!r}; there are {counts}, such as {tasks[0].task_id}: name a task by "
            "its id, or with --split NAME --index N"
        )
    index = options.index or 0 if options.split is not None else None
    task = splits.chosen(ResetRequest(task_id=options.task, split=options.split, index=index))
    worlds.require([task])
    require_rules([task])
    return params, task, open_pool(params)


def _page(params: Params, options: argparse.Namespace) -> tuple[Params, Task, Environments]:
    """The task on any page, and browsers that reach only its hosts.

    Raises:
        RunError: an address or a host is wrong.
    """
    from components.browser import open_browsers
    from components.interactive import RunOptions, page_task

    chosen = RunOptions(
        options.intent or INTENT,
        options.url,
        by_person=True,  # a dialog waits for as long as the agent thinks
        allow=tuple(options.allow),
    )
    page = page_task(chosen, params)
    return page.params, page.task, open_browsers(page.params.browser, [page.site], page.params.observation.text)


async def _serve(
    params: Params,
    task: Task,
    browsers: Environments,
    options: argparse.Namespace,
    journal: Journal[Trajectory] | None,
) -> bool:
    """Serve the task; returns whether Ctrl-C or SIGTERM ended it."""
    from components.cli.version import version_text
    from components.mcp_server import TaskSession, serve
    from components.openenv import EpisodeMaker, ResetRequest

    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    request = ResetRequest(screenshot=not options.no_screenshots, policy=options.policy)
    session = TaskSession(task, params.agent.protocol, request, partial(_report, options.out))
    version = version_text().split(",")[0].removeprefix("waymark ")
    serving = asyncio.create_task(serve(session, version, _instructions(params, task, options)))
    stop = asyncio.create_task(stopped.wait())
    print(f"{params.name}: {task.task_id}, {task.intent}", file=sys.stderr, flush=True)
    async with browsers as pool:
        session.maker.set_result(EpisodeMaker.of(pool, params, options.max_steps, journal, keeps_unfinished=True))
        try:
            await asyncio.wait([serving, stop], return_when=asyncio.FIRST_COMPLETED)
        finally:
            stop.cancel()
            await session.close()
        if serving.done():
            await serving
    return stopped.is_set()


def _instructions(params: Params, task: Task, options: argparse.Namespace) -> str:
    from components.mcp_server.server import ELEMENTS, PAGE, TASK

    words = PAGE if options.url is not None and options.intent is None else TASK
    with_points = params.observation.text == "elements"
    text = words.format(intent=task.intent, url=task.start_url, steps=options.max_steps)
    return text + ELEMENTS * with_points


def _report(folder: Path | None, result: EpisodeResult, trajectory: Trajectory | None) -> None:
    from components.pipeline.demonstrations import add_demonstration

    line = result.model_dump_json()
    print(line, file=sys.stderr, flush=True)
    if folder is not None:
        with (folder / RESULTS).open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
        if result.success and trajectory is not None:
            add_demonstration(trajectory, folder / SUCCESSES)
