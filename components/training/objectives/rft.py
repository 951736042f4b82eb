"""Rejection fine-tuning: which samples the next supervised training learns from (BrowserAgent, sections 2.4 and B.5).

    D    = { tau_q : q is mixed }  and a random share of the demonstrations (`rl.demonstrations`, the paper's is 0.8)
    loss = that of `objectives.sft` over the turns of D

A question q is mixed if some of its scored attempts are right and some are wrong (the paper samples 4); tau_q is the
right one with most turns. The choice and its funnel are `tasks.curation`'s; here it is made of all groups that a
round sampled, those without a spread of rewards, too.

Deviations: of equally long attempts the first is taken, the paper says nothing of them. The paper leaves out attempts
that a string match finds ill-formed; here a right attempt's last turn parses. It draws 400 questions of one source and
673 of another; here `rl.max_per_source` does, of the `rl.effective_groups` of a round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from components.records import Trajectory
from components.rollout import Group
from components.tasks import Funnel, curate_rft, mix


def selected(
    groups: Sequence[Group], max_per_source: Mapping[str, int] | None, seed: int
) -> tuple[list[Trajectory], Funnel]:
    """The longest right trajectory of each mixed group, of equally long ones the first attempt, and the funnel of all
    attempts; at most `max_per_source` of a source, drawn by `seed`."""
    trajectories = [one for group in groups for one in group.trajectories]
    rewards = [one for group in groups for one in group.rewards]
    return curate_rft(trajectories, rewards, max_per_source, seed)


def funnel_figures(funnel: Funnel) -> dict[str, float]:
    """A funnel as figures of an iteration: `rft_attempts`, how many each step dropped, `rft_chosen`."""
    dropped = {step.step.replace("'", "").replace(" ", "_"): step.dropped for step in funnel.steps}
    counts = {"attempts": funnel.total, **dropped, "chosen": funnel.left}
    return {f"rft_{name}": float(count) for name, count in counts.items()}


def mixed(
    chosen: Sequence[Trajectory], demonstrations: Sequence[Trajectory], share: float, seed: int
) -> list[Trajectory]:
    """The selected trajectories and a random `share` of the earlier demonstrations, in the order of these."""
    return mix(chosen, demonstrations, share, seed)[0]
