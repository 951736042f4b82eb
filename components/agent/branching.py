"""Brings a fresh browser to a turn of an earlier episode, so that another episode continues from there: a branch.

The parent's calls run again on a fresh copy of the task's data. This restores more than a copy of the database and the
browser's storage would: text that was typed and not sent, the scroll position, open menus, tabs and their history, and
what scripts of the pages keep. It needs nothing from the parent but its record, so it also works after a crash and on
another machine. The price is the time of the parent's earlier actions, without the policy's.

A branch begins only if the browser told the parent the same of each call, and if the prompt at the turn is the same in
text and, where the policy sees screenshots, in pictures.
"""

from __future__ import annotations

from dataclasses import dataclass

from components.agent.rendering import Renderer
from components.browser import Environment
from components.records import BranchPoint, Observation, Trajectory, Turn


@dataclass(frozen=True)
class Branch:
    """Where an episode begins if it continues another one."""

    parent: Trajectory
    turn: int
    """Index of the parent's turn that the branch does differently, from 1."""

    @property
    def shared(self) -> list[Turn]:
        """The parent's turns before the branch."""
        return self.parent.turns[: self.turn]

    def point(self, difference: str | None = None) -> BranchPoint:
        """The branch as its record has it."""
        return BranchPoint(parent=self.parent.trajectory_id, turn=self.turn, difference=difference)


@dataclass(frozen=True)
class Replayed:
    """The state after the parent's calls."""

    observation: Observation
    late_actions: int | None = None
    """As in `Trajectory`, of the shared turns."""
    difference: str | None = None
    """What is not as the parent's record says, as a clause; None if nothing is."""


async def replay(branch: Branch, session: Environment, first: Observation, renderer: Renderer) -> Replayed:
    """Run the calls of the shared turns.

    Args:
        session: on the start page of the parent's task.
        first: the observation of that page.

    Raises:
        EnvError, BlockedError, SandboxError: as `Session.step`.
    """
    observation, late = first, None
    for turn in branch.shared:
        if turn.parse_error is not None:
            continue
        result = await session.step(turn.tool_calls)
        observation = result.observation
        if result.late_actions is not None:
            late = (late or 0) + result.late_actions
        if result.feedback != turn.feedback:
            return Replayed(observation, late, f"turn {turn.index} gave {result.feedback}, not {turn.feedback}")
    return Replayed(observation, late, _difference(branch, observation, renderer))


def _difference(branch: Branch, now: Observation, renderer: Renderer) -> str | None:
    """What of the page at the branch is not as it was for the parent."""
    turn = branch.parent.turns[branch.turn]
    then = turn.observation
    if renderer.prompt(branch.parent.task, branch.shared, now).sha256 == turn.prompt_sha256 and now.url == then.url:
        return None
    kinds = {
        "address": now.url != then.url,
        "tabs": now.tabs != then.tabs,
        "text": now.text != then.text,
        "screenshot": now.screenshot.sha256 != then.screenshot.sha256,
    }
    names = [name for name, differs in kinds.items() if differs] or ["prompt"]
    return f"turn {branch.turn} begins with another {' and '.join(names)}"
