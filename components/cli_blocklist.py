"""`waymark blocklist`: hosts that refuse us or break, learned from the trajectories there are.

`--ask` has the recipe's judge look at the last pages of episodes that failed for no reason that the browser knows, by
the protocol `blocking` (WebGym, appendix E.4). Its answers are kept as all judges' are; the endpoint's budget is that
of these trajectories.

Imports wait until the command runs, so that `waymark --help` answers at once.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from components.params import JudgeParams
    from components.records import Trajectory


def add(commands: Any, recipe: Path, tables: Sequence[str]) -> None:
    """The command.

    Args:
        commands: the subparsers of `waymark`.
        recipe: the recipe in use, which names the judge.
        tables: folders with a trajectories.parquet, and a verdicts.parquet where they were judged.
    """
    one = commands.add_parser("blocklist", help="hosts that refuse us or break, and why; filter_tasks leaves them out")
    one.add_argument("--learn", action="store_true", help="update the list from the trajectories there are")
    one.add_argument(
        "--ask", action="store_true", help="with --learn: have judge.endpoint look at the last pages of failed episodes"
    )
    one.add_argument(
        "--days", type=int, default=14, metavar="N", help="how long a host is left out; default: %(default)s"
    )
    one.set_defaults(run=run, recipe=recipe, tables=tables)


def run(options: argparse.Namespace) -> int:
    """Show the list, learned anew if asked to; returns the exit status."""
    import datetime as dt

    from components.endpoint import EndpointError
    from components.judge import JudgeOutage
    from components.params import RecipeError
    from components.tasks import blocklist as room

    if options.ask and not options.learn:
        return _fail("--ask is a way to learn: `waymark blocklist --learn --ask`")
    folders = [folder for one in options.tables if ((folder := Path(one)) / "trajectories.parquet").exists()]
    try:
        listed = room.read()
        if options.learn:
            seen = _seen(options.recipe, folders) if options.ask else {}
            listed = room.learn(_trajectories(folders), listed, dt.date.today(), days=options.days, seen=seen)
            room.write(listed)
    except (ValueError, RecipeError, EndpointError, JudgeOutage) as error:
        return _fail(str(error))
    for one in listed:
        did = "refused" if one.why == "refuses" else "refused or broke"
        print(f"{one.host}: {did} {one.refused} of {one.tried}, left out until {one.until}")
        print(*(f"  {line}" for line in one.evidence), sep="\n")
    print(f"{len(listed)} hosts in {room.PATH}")
    return 0


def _seen(recipe: Path, folders: Sequence[Path]) -> dict[str, str]:
    """What the judge says of last pages that kept the agent out, by trajectory.

    Raises:
        RecipeError: the recipe names no judge.
        JudgeOutage, EndpointError: see `judge.ModelJudge`; what was answered is kept.
    """
    from components.params import RecipeError, load
    from components.store import digest, state_dir

    params = load(recipe).judge
    if params.endpoint is None:
        raise RecipeError(f"{recipe}: judge.endpoint = None: --ask wants a model that sees, with a url and a model")
    state = state_dir("blocklist", digest(*(folder / "trajectories.parquet" for folder in folders)))
    return asyncio.run(_ask(params, state, folders))


async def _ask(params: JudgeParams, state: Path, folders: Sequence[Path]) -> dict[str, str]:
    from rich.progress import Progress

    from components.endpoint import ANSWERS
    from components.judge import JudgeClients, ModelJudge

    ids: list[str] = []

    def doubtful() -> Iterator[Trajectory]:
        for trajectory in _doubtful(folders):
            ids.append(trajectory.trajectory_id)
            yield trajectory

    with Progress(transient=True) as bar:
        shown = bar.add_task("last pages", total=None)
        async with JudgeClients(params, state, ANSWERS) as clients:
            found = await ModelJudge(params, clients).blocked(
                doubtful(), lambda done: bar.update(shown, completed=done)
            )
    said = dict(zip(ids, found, strict=True))
    blocked = {key: words for key, (is_blocked, words) in said.items() if is_blocked}
    unknown = sum(is_blocked is None for is_blocked, _ in found)
    print(
        f"{len(found)} last pages seen, {len(blocked)} of them blocks, {unknown} unclear; {clients.spent.usd:.4f} USD"
    )
    return blocked


def _doubtful(folders: Sequence[Path]) -> Iterator[Trajectory]:
    """Episodes that nobody has judged a success and that a host may have kept out unseen, each once."""
    from components.records import Outcome, Verdict
    from components.store import iter_table
    from components.tasks.blocklist import is_doubtful

    judged = [path for folder in folders if (path := folder / "verdicts.parquet").exists()]
    done = {
        verdict.trajectory_id
        for path in judged
        for verdict in iter_table(path, Verdict)
        if verdict.outcome is Outcome.SUCCESS
    }
    for trajectory in _trajectories(folders):
        if trajectory.trajectory_id not in done and is_doubtful(trajectory):
            done.add(trajectory.trajectory_id)
            yield trajectory


def _trajectories(folders: Sequence[Path]) -> Iterator[Trajectory]:
    from components.records import Trajectory
    from components.store import iter_table

    for folder in folders:
        yield from iter_table(folder / "trajectories.parquet", Trajectory)


def _fail(message: str) -> int:
    print(message, file=sys.stderr)
    return 1
