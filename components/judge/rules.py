"""Verdicts by rule: the site's own reward, where the site has one (MiniWoB++).

The rationale says what was asked and what was done, from what a judge model sees too; only the outcome knows the
reward. A judge trained on it learns to compare the two.
"""

from __future__ import annotations

from components.judge.history import events
from components.records import Outcome, Termination, Trajectory, Verdict

JUDGE, VERSION = "rules", "site-reward-1"
COMPLETE = 1.0
"""The raw reward of a completed MiniWoB++ page; less is partial credit or a mistake."""
MAX_INTENT = 200
"""Characters of the intent that a rationale repeats."""
MAX_EVENTS = 10
"""Last events that a rationale lists."""


def rules_verdict(trajectory: Trajectory) -> Verdict:
    """Success if the agent said `done` and the site's raw reward is complete; failure if not; error if nobody can tell:
    the environment ended the episode, or the task's site has no reward.

    `verdict_text(verdict.rationale, verdict.outcome)` is what a judge model is to write.
    """
    outcome, rationale = _judge(trajectory)
    return Verdict(
        trajectory_id=trajectory.trajectory_id, outcome=outcome, rationale=rationale, judge=JUDGE, judge_version=VERSION
    )


def rationale(trajectory: Trajectory) -> str:
    """One line such as `asked: Click on the "ok" button. did: click button "ok"; done`."""
    intent = " ".join(trajectory.task.intent.split())
    did = events(trajectory)
    shown = did if len(did) <= MAX_EVENTS else ["…", *did[-MAX_EVENTS:]]
    return f"asked: {intent[:MAX_INTENT]} did: {'; '.join(shown) or 'nothing'}"


def _judge(trajectory: Trajectory) -> tuple[Outcome, str]:
    if not trajectory.termination.is_agents_doing:
        return Outcome.ERROR, f"the environment ended the episode: {trajectory.termination.value}"
    if trajectory.site_reward is None and not trajectory.task.evaluator:
        return Outcome.ERROR, f"{trajectory.task.website} has no reward and the task no evaluator; ask a judge model"
    complete = trajectory.site_reward is not None and trajectory.site_reward >= COMPLETE
    done = trajectory.termination is Termination.DONE
    return Outcome.SUCCESS if complete and done else Outcome.FAILURE, rationale(trajectory)
