"""Rejection fine-tuning: which samples the next supervised training learns from (BrowserAgent, sections 2.4 and B.5).

    D    = { tau_q : q is mixed }  and a random share of the demonstrations (`rl.demonstrations`, the paper's is 0.8)
    loss = that of `objectives.sft` over the turns of D

A question q is mixed if some of its scored attempts are right and some are wrong (the paper samples 4); tau_q is the
right one with most turns. The choice and its funnel are `tasks.curation`'s; here it is made of sampled groups.

Deviations: of equally long attempts the first is taken, the paper says nothing of them. The paper leaves out attempts
that a string match finds ill-formed; here a right attempt's last turn parses. It draws 400 questions of one source and
673 of another; here a round has `rl.effective_groups`, of what the pool has.
"""

from __future__ import annotations

from collections.abc import Sequence

from components.records import Trajectory
from components.rollout import Group
from components.tasks import curate_rft, mix


def selected(groups: Sequence[Group]) -> list[Trajectory]:
    """One right trajectory of each mixed group; of equally long ones, the first attempt."""
    return [one for group in groups for one in curate_rft(group.trajectories, group.rewards)[0]]


def mixed(
    chosen: Sequence[Trajectory], demonstrations: Sequence[Trajectory], share: float, seed: int
) -> list[Trajectory]:
    """The selected trajectories and a random `share` of the earlier demonstrations, in the order of these."""
    return mix(chosen, demonstrations, share, seed)[0]
