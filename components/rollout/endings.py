"""How many episodes of a stage the environment may end, and why it ended them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from components.records import Termination, Trajectory

_VARIES = re.compile(r"https?://\S+|\d+(?:\.\d+)?")
"""The parts of a message that differ between episodes with the same cause."""
MAX_REASON = 300
"""Characters of a quoted error."""


class TooManyHarnessErrors(RuntimeError):
    """Bugs of the harness ended more episodes than `rollout.max_harness_errors` allows."""


class AllEndedByEnvironment(RuntimeError):
    """The environment ended every episode of a stage, so there is nothing to go on with."""


def commonest_reason(trajectories: Sequence[Trajectory]) -> str:
    """The most frequent reason why the environment ended episodes, with the number of episodes and one example.

    Messages that differ only in numbers and addresses count as one reason.

    Args:
        trajectories: those that the agent ended are left out. At least one must be left.
    """
    reasons = defaultdict[tuple[str, str], list[str]](list)
    for trajectory in trajectories:
        if not trajectory.termination.is_agents_doing:
            lines = str(trajectory.diagnostics.get("error", "")).splitlines()
            error = lines[0] if lines else ""
            reasons[trajectory.termination, _VARIES.sub("…", error)].append(error)
    (termination, _), errors = max(reasons.items(), key=lambda item: len(item[1]))
    example = f': "{errors[0][:MAX_REASON]}"' if errors[0] else ""
    return f"{termination} in {len(errors)} of {sum(map(len, reasons.values()))}{example}"


def require_agents_endings(trajectories: Sequence[Trajectory]) -> None:
    """Require that the agent ended at least one episode, if there are any.

    Raises:
        AllEndedByEnvironment: the environment ended all of them.
    """
    if trajectories and not any(trajectory.termination.is_agents_doing for trajectory in trajectories):
        raise AllEndedByEnvironment(
            f"all {len(trajectories)} episodes were ended by the environment, most often by "
            f"{commonest_reason(trajectories)}; fix the cause and run the stage again, which repeats these episodes"
        )


def termination_counts(terminations: Iterable[str]) -> dict[str, int]:
    """Number of episodes per termination, for the result of a stage."""
    return {str(end): count for end, count in sorted(Counter(terminations).items())}


def harness_errors(terminations: Iterable[str]) -> int:
    """Number of episodes that bugs of the harness ended, for the result of a stage."""
    return sum(termination == Termination.HARNESS_ERROR for termination in terminations)


class HarnessErrorLimit:
    """Counts the episodes that bugs of the harness ended, and stops the run above the recipe's share.

    Args:
        max_share: `rollout.max_harness_errors`.
    """

    def __init__(self, max_share: float) -> None:
        self._episodes = 0
        self._max_share = max_share
        self._ended: list[Trajectory] = []

    def expect(self, episodes: int) -> None:
        """Add the episodes that are about to run, or that ran in an earlier process."""
        self._episodes += episodes

    def count(self, trajectory: Trajectory) -> None:
        """Count a finished episode if a bug ended it.

        Raises:
            TooManyHarnessErrors: the share is above the limit now.
        """
        if trajectory.termination is not Termination.HARNESS_ERROR:
            return
        self._ended.append(trajectory)
        if len(self._ended) > self._max_share * self._episodes:
            raise TooManyHarnessErrors(
                f"errors of the harness ended {len(self._ended)} of {self._episodes} episodes, above "
                f"rollout.max_harness_errors = {self._max_share:g}; most often {commonest_reason(self._ended)}. "
                "Report the traceback, which is in the diagnostics of these episodes, or raise the limit to mask them"
            )
