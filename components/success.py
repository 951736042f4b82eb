"""Whether an episode succeeded: by its ending first, by the judge only where the ending allows.

Rewards, evaluations and exports take it from here, so that an episode counts alike in each.
"""

from __future__ import annotations

from components.records import Outcome, Termination, Trajectory, Verdict


def needs_judge(trajectory: Trajectory) -> bool:
    """True if only a judge can decide: the agent called `done` with an answer, in a valid response, and did not act on
    a page after the page had ended the task. An episode with such an action is a failure, whatever a judge would say.
    """
    finished = trajectory.termination is Termination.DONE and trajectory.answer is not None
    return finished and trajectory.format_ok and not trajectory.late_actions


def success(trajectory: Trajectory, verdict: Verdict | None) -> bool | None:
    """Whether an episode is a success.

    False without a judge if the agent's own ending needs none, such as `max_steps`; a verdict is then ignored. None if
    the environment ended the episode, or if it needs a verdict that is missing, an error or unreadable: this is no
    failure of the agent.
    """
    if not trajectory.termination.is_agents_doing:
        return None
    if not needs_judge(trajectory):
        return False
    if verdict is None or verdict.outcome not in (Outcome.SUCCESS, Outcome.FAILURE):
        return None
    return verdict.outcome is Outcome.SUCCESS
