"""`waymark blocklist`: hosts that refuse the agent or fail, learned from the trajectories of all stages."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Iterator

from components.cli.command import PARAMS, STAGE_FOLDERS, Subparsers, fail, positive

DAYS = 14
MAX_DAYS = 36_500
"""A date that is later than this may have a year of five digits, which no date has."""


def add(commands: Subparsers) -> None:
    """Register `blocklist`."""
    parser = commands.add_parser(
        "blocklist", help="hosts that refuse the agent or fail, and why; filter_tasks drops their tasks"
    )
    parser.add_argument("--learn", action="store_true", help="update the list from the stages' trajectories")
    parser.add_argument(
        "--ask", action="store_true", help="with --learn: judge.model looks at the last pages of failed episodes"
    )
    parser.add_argument(
        "--days", type=_days, metavar="N", help=f"with --learn: days for which a host stays listed; default: {DAYS}"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the list, after updating it if `--learn` is given; returns the exit status."""
    import datetime as dt

    from components.endpoint import EndpointError
    from components.judge import JudgeOutage
    from components.judge.blocked_pages import find_blocked_pages, iter_trajectories
    from components.params import RecipeError
    from components.tasks import blocklist

    if options.ask and not options.learn:
        return fail("--ask needs --learn: `waymark blocklist --learn --ask`")
    if options.days is not None and not options.learn:
        return fail(f"--days needs --learn: `waymark blocklist --learn --days {options.days}`")
    folders = [folder for folder in STAGE_FOLDERS if (folder / "trajectories.parquet").exists()]
    if options.learn and not folders:
        return fail("no trajectories in data/ to learn from: run the pipeline first, as `make demo` does")
    try:
        hosts = blocklist.read()
        if options.learn:
            blocked = None
            if options.ask:
                with _progress() as advance:
                    pages = find_blocked_pages(PARAMS, folders, advance)
                print(
                    f"{pages.judged} last pages judged: {len(pages.blocked)} block the agent, {pages.unclear} unclear; "
                    f"{pages.usd:.4f} USD"
                )
                blocked = pages.blocked
            today = dt.date.today()
            tables = (blocklist.Rollouts(blocklist.day_of(folder), iter_trajectories([folder])) for folder in folders)
            hosts = blocklist.learn(tables, hosts, today, days=options.days or DAYS, blocked_pages=blocked)
            blocklist.write(hosts)
    except (ValueError, RecipeError, EndpointError, JudgeOutage) as error:
        return fail(error)
    for host in hosts:
        verb = "refused" if host.why == "refuses" else "refused or broke"
        print(f"{host.host}: {verb} {host.refused} of {host.tried}, left out until {host.until}")
        print(*(f"  {line}" for line in host.evidence), sep="\n")
    print(f"{len(hosts)} hosts in {blocklist.PATH}")
    return 0


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[int], None]]:
    """A progress bar for a number of pages that is not known beforehand."""
    from rich.progress import Progress

    with Progress(transient=True) as bar:
        row = bar.add_task("last pages", total=None)
        yield lambda judged: bar.update(row, completed=judged)


def _days(text: str) -> int:
    value = positive(text)
    if value > MAX_DAYS:
        raise argparse.ArgumentTypeError(f"{text} is too large: give at most {MAX_DAYS}")
    return value
