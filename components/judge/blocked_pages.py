"""Asks the recipe's judge which failed episodes ended on a page that keeps the agent out (`waymark blocklist --ask`).

The protocol is `blocking` (WebGym, appendix E.4). Answers are kept in the same file as those of all judges, and the
endpoint's `max_usd` applies to one set of trajectory tables.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from components.endpoint import ANSWERS
from components.judge.clients import JudgeClients
from components.judge.model_judge import ModelJudge
from components.params import ModelJudgeParams, RecipeError, load
from components.records import Outcome, Trajectory, Verdict
from components.store import digest, iter_named_table, state_dir
from components.tasks.blocklist import is_doubtful


class BlockedPages(NamedTuple):
    """The judge's rationale by trajectory id for each last page that keeps the agent out, and what judging took.

    `judged` counts last pages, `unclear` those of them without a readable answer.
    """

    blocked: dict[str, str]
    judged: int
    unclear: int
    usd: float


def find_blocked_pages(recipe: Path, folders: Sequence[Path], on_progress: Callable[[int], None]) -> BlockedPages:
    """Judge the last pages of all doubtful episodes in the folders' tables.

    Args:
        recipe: the file of the recipe, which names the judge.
        folders: folders with a trajectories.parquet, and a verdicts.parquet where they were judged.
        on_progress: called with the number of judged pages.

    Raises:
        RecipeError: the recipe names no judge.
        JudgeOutage, EndpointError: see `ModelJudge`; earlier answers are kept.
    """
    params = load(recipe).judge.model
    if params is None:
        raise RecipeError(
            f"{recipe}: judge.model = None: --ask needs a model that reads images: name one in judge.model.endpoint"
        )
    state = state_dir("blocklist", digest(*(folder / "trajectories.parquet" for folder in folders)))
    return asyncio.run(_judge_pages(params, state, folders, on_progress))


def iter_trajectories(folders: Sequence[Path]) -> Iterator[Trajectory]:
    """The trajectories of all folders, one in memory at a time.

    Raises:
        UnreadableTable: a table is damaged.
    """
    for folder in folders:
        yield from iter_named_table(folder / "trajectories.parquet", Trajectory)


async def _judge_pages(
    params: ModelJudgeParams, state: Path, folders: Sequence[Path], on_progress: Callable[[int], None]
) -> BlockedPages:
    ids: list[str] = []

    def doubtful() -> Iterator[Trajectory]:
        for trajectory in _doubtful_trajectories(folders):
            ids.append(trajectory.trajectory_id)
            yield trajectory

    async with JudgeClients(params, state, ANSWERS) as clients:
        answers = await ModelJudge(params, clients).blocked(doubtful(), on_progress)
    return BlockedPages(
        blocked={key: rationale for key, (is_blocked, rationale) in zip(ids, answers, strict=True) if is_blocked},
        judged=len(answers),
        unclear=sum(is_blocked is None for is_blocked, _ in answers),
        usd=clients.spent.usd,
    )


def _doubtful_trajectories(folders: Sequence[Path]) -> Iterator[Trajectory]:
    """Each doubtful episode once, without those that were judged a success."""
    tables = [path for folder in folders if (path := folder / "verdicts.parquet").exists()]
    seen = {
        verdict.trajectory_id
        for path in tables
        for verdict in iter_named_table(path, Verdict)
        if verdict.outcome is Outcome.SUCCESS
    }
    for trajectory in iter_trajectories(folders):
        if trajectory.trajectory_id not in seen and is_doubtful(trajectory):
            seen.add(trajectory.trajectory_id)
            yield trajectory
