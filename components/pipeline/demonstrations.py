"""The file of demonstrations by people: `waymark run --teacher human` adds to it, and the stage `curate_sft` reads it.

A demonstration trains a model only if its prompts are those of the recipe, so they are rendered again and compared. The
kind of the page's text is no part of a rendering; the demonstration's diagnostics have it.
"""

from __future__ import annotations

import fcntl
from collections.abc import Sequence
from pathlib import Path

from components.agent import Renderer
from components.params import Params
from components.records import Termination, Trajectory, trajectory_id
from components.store import iter_table, read_table, write_table

DEMONSTRATIONS = Path("data/demonstrations/trajectories.parquet")
"""Where demonstrations are kept; name it in `curate.demonstrations` to train on them."""


class DemonstrationError(ValueError):
    """A demonstration cannot be used by this recipe. The message says why."""


def observed_as(params: Params) -> dict[str, str]:
    """What the diagnostics of a demonstration say about the recipe with which it was made."""
    return {"recipe": params.name, "observation": params.observation.text}


def attempts_at(task_id: str, path: Path) -> int:
    """Number of demonstrations of a task in a file, which may be missing."""
    if not path.exists():
        return 0
    return sum(trajectory.task_id == task_id for trajectory in iter_table(path, Trajectory))


def add_demonstration(trajectory: Trajectory, path: Path) -> Trajectory:
    """Add a trajectory to a file of demonstrations, which several people may do at the same time.

    Returns:
        The trajectory as it was added: one whose id the file has is the next attempt at its task.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(f".{path.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        earlier = read_table(path, Trajectory) if path.exists() else []
        taken = {other.trajectory_id for other in earlier}
        while trajectory.trajectory_id in taken:
            attempt = trajectory.attempt + 1
            fresh = trajectory_id(trajectory.task_id, attempt, trajectory.policy, trajectory.seed)
            trajectory = trajectory.model_copy(update={"attempt": attempt, "trajectory_id": fresh})
        write_table(path, Trajectory, [*earlier, trajectory])
    return trajectory


def read_demonstrations(paths: Sequence[Path], params: Params) -> list[Trajectory]:
    """All demonstrations of the files, in their order.

    Raises:
        DemonstrationError: a file is missing, or a demonstration is unfinished or was made with other parameters.
    """
    renderer = Renderer(params.agent, params.observation, params.model.think_prefix)
    demonstrations = []
    for path in paths:
        if not path.exists():
            raise DemonstrationError(
                f"there is no file of demonstrations {path}: correct curate.demonstrations, or make one with "
                "`waymark run TASK --url URL --teacher human`"
            )
        for trajectory in iter_table(path, Trajectory):
            _require_usable(trajectory, path, params, renderer)
            demonstrations.append(trajectory)
    return demonstrations


def _require_usable(trajectory: Trajectory, path: Path, params: Params, renderer: Renderer) -> None:
    name = f"{path}: demonstration {trajectory.trajectory_id} ({trajectory.task.intent[:60]})"
    if trajectory.termination is not Termination.DONE:
        raise DemonstrationError(f"{name} ended with {trajectory.termination} and not with done: remove it")
    if not trajectory.turns:
        raise DemonstrationError(f"{name} has no turns: remove it")
    agent = params.agent
    if trajectory.protocol != agent.protocol:
        raise DemonstrationError(
            f"{name} is in the protocol {trajectory.protocol}, and the recipe's is {agent.protocol}"
        )
    text, viewport = trajectory.diagnostics.get("observation"), params.browser.viewport
    same = text == params.observation.text and trajectory.turns[0].observation.viewport == viewport
    for index, turn in enumerate(trajectory.turns):
        prompt = renderer.prompt(trajectory.task, trajectory.turns[:index], turn.observation)
        same = same and prompt.sha256 == turn.prompt_sha256
    if not same:
        raise DemonstrationError(
            f"{name} was made with other values of agent, observation, browser.viewport or model.think_prefix than the "
            f"recipe has: use the recipe {trajectory.diagnostics.get('recipe')}, or demonstrate the task again"
        )
