"""Verdicts by rule: the site's own reward, where the site has one (MiniWoB++).

The rationale says what was done and whether the task named it, from what a judge model sees too; only the outcome
knows the reward.
"""

from __future__ import annotations

import re

from components.judge.history import events
from components.records import Outcome, Termination, Trajectory, Verdict

JUDGE, VERSION = "rules", "site-reward-1"
COMPLETE = 1.0
"""The raw reward of a completed MiniWoB++ page; less is partial credit or a mistake."""
_QUOTED = re.compile(r'"([^"]+)"')
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
    """One line such as `click button "ok" (asked); click button "no" (not asked); done`.

    What was done, and of each thing that the browser named, whether the task names it too: the comparison that decides,
    spelled out, so that a judge model has it to learn from in every line and not only in the verdict.
    """
    did = [_held_against(event, trajectory.task.intent) for event in events(trajectory)]
    shown = did if len(did) <= MAX_EVENTS else ["…", *did[-MAX_EVENTS:]]
    return "; ".join(shown) or "nothing was done"


def _held_against(event: str, intent: str) -> str:
    named = _QUOTED.search(event)
    if named is None:
        return event
    is_asked = re.search(rf"(?<!\w){re.escape(named[1])}(?!\w)", intent, re.IGNORECASE)
    return f"{event} ({'asked' if is_asked else 'not asked'})"


def _judge(trajectory: Trajectory) -> tuple[Outcome, str]:
    if not trajectory.termination.is_agents_doing:
        return Outcome.ERROR, f"the environment ended the episode: {trajectory.termination.value}"
    if trajectory.site_reward is None and (trajectory.task.evaluator or {}).get("type") != "miniwob":
        return Outcome.ERROR, f"{trajectory.task.website} has no reward of its own; ask a judge model"
    complete = trajectory.site_reward is not None and trajectory.site_reward >= COMPLETE
    done = trajectory.termination is Termination.DONE
    return Outcome.SUCCESS if complete and done else Outcome.FAILURE, rationale(trajectory)
