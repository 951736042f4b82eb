"""`waymark openenv`: the recipe's environment for trainers that are not Waymark's."""

from __future__ import annotations

import argparse
import asyncio
import signal
import socket
import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from components.cli.command import PARAMS, Subparsers, fail, nonempty_path, port, positive

if TYPE_CHECKING:
    from components.journal import Journal
    from components.params import Params
    from components.records import Task, Trajectory


def add(commands: Subparsers) -> None:
    """Register `openenv`."""
    parser = commands.add_parser(
        "openenv",
        help="serves the recipe's tasks and browsers to other trainers (TRL, verifiers, …) by the OpenEnv protocol",
        epilog="Ctrl-C ends the server. docs/how-to/use-another-trainer.md has a client for TRL.",
    )
    parser.add_argument(
        "recipe", nargs="?", type=Path, default=PARAMS, metavar="RECIPE",
        help="tasks, protocol, observation and browser: a file, or a name in recipes/; default: %(default)s",
    )  # fmt: skip
    parser.add_argument(
        "--tasks", action="append", type=nonempty_path, default=[], metavar="FILE",
        help="a task file whose tasks are offered in place of the recipe's; repeatable",
    )  # fmt: skip
    parser.add_argument(
        "--sessions", type=positive, metavar="N", help="episodes at once; default: the recipe's browser.concurrency"
    )
    parser.add_argument(
        "--max-steps", type=positive, metavar="N", help="turns of an episode; default: the recipe's rl.long.max_steps"
    )
    parser.add_argument(
        "--out", type=nonempty_path, metavar="DIR",
        help="record the episodes there, in a journal, and in trajectories.parquet when the server ends",
    )  # fmt: skip
    parser.add_argument(
        "--host", default="127.0.0.1",
        help="the address to listen at; 0.0.0.0 is all, and there is no password; default: %(default)s",
    )  # fmt: skip
    parser.add_argument("--port", type=port, default=8010, help="default: %(default)s")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Serve until Ctrl-C or SIGTERM; returns the exit status."""
    from components.browser import ChromiumNotFoundError, EnvError
    from components.judge import RuleError
    from components.openenv import recording, tasks_of
    from components.params import RecipeError, find, load
    from components.worlds import WorldError, worlds_of

    try:
        params = load(find(options.recipe))
        worlds = worlds_of(params)
        worlds.require_installed()
        tasks = tasks_of(params, options.tasks, tell=partial(print, file=sys.stderr))
        worlds.require(tasks)
        worlds.require_independent(tasks, "episodes of a trainer")
    except (RecipeError, WorldError, RuleError, EnvError, ChromiumNotFoundError, ValueError) as error:
        return fail(error)
    try:
        address = socket.create_server((options.host, options.port))
    except OSError as error:
        return fail(f"{options.host}:{options.port}: {error.strerror}: name another address with --host or --port")
    sessions = options.sessions or params.browser.concurrency
    params = params.model_copy(update={"browser": params.browser.model_copy(update={"concurrency": sessions})})
    try:
        with address, recording(options.out) if options.out is not None else nullcontext() as journal:
            asyncio.run(_serve(params, tasks, options, address, journal))
    except (ChromiumNotFoundError, RuleError, WorldError, EnvError, BlockingIOError, ValueError) as error:
        return fail(error)
    return 0


async def _serve(
    params: Params,
    tasks: list[Task],
    options: argparse.Namespace,
    address: socket.socket,
    journal: Journal[Trajectory] | None,
) -> None:
    from components.agent.protocols import protocol
    from components.cli.version import version_text
    from components.judge import require_rules
    from components.openenv import Description, EpisodeMaker, EpisodeServer, TaskSplits, create_app
    from components.pipeline.rollouts import open_pool

    require_rules(tasks)
    agent, splits = params.agent, TaskSplits(tasks)
    guide = protocol(agent.protocol).system(agent.model_copy(update={"prompt": "full"}))
    description = Description(params.name, version_text().split(",")[0].removeprefix("waymark "), guide)
    async with open_pool(params) as pool:
        maker = EpisodeMaker.of(pool, params, options.max_steps, journal)
        app = create_app(description, splits, maker, params.browser.concurrency)
        server = EpisodeServer(app)
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, server.handle_exit, number, None)
        counts = ", ".join(f"{len(splits.tasks(name))} {name}" for name in splits.names)
        host, port = address.getsockname()[:2]
        print(f"{params.name}: {counts}; http://{host}:{port}, Ctrl-C ends it", flush=True)
        await server.serve([address])
