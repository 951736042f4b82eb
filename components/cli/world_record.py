"""`waymark world record`: a person does a task in a browser, which becomes the task's oracle."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import sys
from typing import TYPE_CHECKING

from components.cli.command import Subparsers, fail, positive

if TYPE_CHECKING:
    from playwright.async_api import Page

    from components.records import Task
    from components.worlds.recorded import Recorded, RuleVerdict

HOW = (
    "Do the task in the window. Then type the answer here (nothing if the task asks for none) and press Enter. "
    "Ctrl-C and closing the window end the recording, too."
)


def add(commands: Subparsers) -> None:
    """Register `record` under `world`."""
    parser = commands.add_parser(
        "record",
        help="you do a task of your own site in a browser; what you do is written down as its oracle and replayed",
        epilog="Exit status: 0 the replay gets 1; 1 it does not, or the recording could not begin.",
    )
    parser.add_argument("name", metavar="WORLD", help="a name, or the dotted path of a world of your own")
    parser.add_argument("family", metavar="FAMILY", help="the kind of task, as tasks of site.yaml names it")
    parser.add_argument(
        "--task",
        type=positive,
        default=1,
        metavar="N",
        help="the number of the task within its kind; default: %(default)s",
    )
    parser.add_argument(
        "--headless", action="store_true", help="show no window, for a program that acts in place of a person"
    )
    parser.set_defaults(run=record)


def record(options: argparse.Namespace) -> int:
    """Record, replay and print the verdicts."""
    from components.browser import ChromiumNotFoundError, EnvError
    from components.browser.chromium import find_headed_chromium
    from components.params import BrowserParams
    from components.plugins import UnknownKindError
    from components.worlds import WorldError, world_class

    async def recording() -> Recorded:
        kind = world_class(options.name)
        params = BrowserParams(concurrency=1)
        return await kind(kind.Params()).record(options.family, options.task, params, ask, not options.headless)

    try:
        if not options.headless:
            find_headed_chromium()
        recorded = asyncio.run(recording())
    except (UnknownKindError, WorldError, EnvError, ChromiumNotFoundError) as error:
        return fail(error)
    print(report(recorded))
    return int(recorded.replay.reward != 1)


async def ask(task: Task, page: Page) -> str:
    """Show the task on the terminal; returns the line that the person types, or nothing after Ctrl-C."""
    from components.interactive.console import Console

    print(f"{task.task_id}: {task.intent}\n{HOW}", flush=True)
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    with contextlib.suppress(NotImplementedError):
        loop.add_signal_handler(signal.SIGINT, stop.set)
    stopping = asyncio.create_task(stop.wait())
    reading = asyncio.create_task(Console(_write).read_line("answer> "))
    try:
        await asyncio.wait({reading, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if reading.done() and (line := reading.result()) is not None:
            return line.strip()
        await stopping  # the input has ended: Ctrl-C or the window ends the recording
        return ""
    finally:
        reading.cancel()
        stopping.cancel()
        with contextlib.suppress(NotImplementedError):
            loop.remove_signal_handler(signal.SIGINT)
        _write("\n")


def report(recorded: Recorded) -> str:
    """The steps, the verdicts and what to do next, as text."""
    lines = [recorded.text.rstrip()]
    lines += ["", *(f"Note: {remark}" for remark in recorded.remarks)] if recorded.remarks else [""]
    if recorded.person is not None:
        lines += _verdict("What you did", recorded.person)
    lines += _verdict("The steps, replayed on a fresh copy", recorded.replay)
    for verdict in recorded.others:
        lines += _verdict(f"The steps on {verdict.task_id}", verdict)
    lines += [f"Written to {recorded.file}"] if recorded.file is not None else []
    return "\n".join([*lines, *recorded.advice])


def _verdict(subject: str, verdict: RuleVerdict) -> list[str]:
    return [f"{subject}: reward {verdict.reward:g}", *(f"    {reason}" for reason in verdict.reasons)]


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
