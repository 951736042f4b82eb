"""The site's own reward, where the world has one and nothing was done after the page's ending, and what was done.

The rationale says what was done and whether the task named it, from what a judge model sees too; only the outcome
knows the reward.
"""

from __future__ import annotations

import re

from components.judge.history import events
from components.records import Outcome, Trajectory

COMPLETE = 1.0
"""The raw reward of a completed task; less is partial credit or a mistake."""
_QUOTED = re.compile(r'"([^"]+)"')
_ADDRESS = re.compile(r'\.? Page navigated to \S+(?=[^"]*$)')
MAX_EVENTS = 10
"""Last events that a rationale lists."""


def judge_site_reward(trajectory: Trajectory) -> tuple[Outcome, str]:
    """Success if the site's raw reward is complete, and the agent did not act on the page after the page's own ending.

    On a real site an action after the task is done has consequences; here the first ending decides the raw reward.
    """
    complete = trajectory.site_reward is not None and trajectory.site_reward >= COMPLETE
    clean = complete and not trajectory.late_actions
    return Outcome.SUCCESS if clean else Outcome.FAILURE, rationale(trajectory)


def is_complete(trajectory: Trajectory) -> bool:
    """Whether the task was done, whatever else was done: all expected changes of the state are there; without a state,
    the site's raw reward is that of a completed task."""
    if trajectory.state_check is not None:
        return trajectory.state_check.credit >= COMPLETE
    return trajectory.site_reward is not None and trajectory.site_reward >= COMPLETE


def rationale(trajectory: Trajectory) -> str:
    """One line such as `click button "ok" (asked); click button "no" (not asked); done`.

    The line lists the actions. For each element that an action names, it says whether the task names the element too.
    This comparison decides the outcome, so a judge model learns it from every line and not only from the verdict. The
    addresses of links are left out: the judge's prompt has them, and a model that copies addresses seldom reaches the
    verdict within its response.
    """
    did = [_held_against(event, trajectory.task.intent) for event in events(trajectory)]
    shown = did if len(did) <= MAX_EVENTS else ["…", *did[-MAX_EVENTS:]]
    return "; ".join(shown) or "nothing was done"


def _held_against(event: str, intent: str) -> str:
    named = _QUOTED.search(event)
    if named is None:
        return event
    is_asked = re.search(rf"(?<!\w){re.escape(named[1])}(?!\w)", intent, re.IGNORECASE)
    return f"{_ADDRESS.sub('', event)} ({'asked' if is_asked else 'not asked'})"
