"""Health of an iteration's rollouts, as figures for MLflow and as a line for the screen."""

from __future__ import annotations

from collections.abc import Mapping

from components.judge.rules import is_complete
from components.records import Termination, Trajectory
from components.rollout import SampledGroups, TaskSampler, harness_errors


def rollout_figures(sampled: SampledGroups, sampler: TaskSampler) -> dict[str, float]:
    """Figures of an iteration's rollouts: rewards and shares without unit, `entropy_estimate` in nats per token.

    Rewards and `success_rate` are over the first members of the groups (`Group.first_scored`), `format_ok_share` and
    `turns_mean` over the members that the environment did not end, and all else is over all members. `episodes` and
    `harness_errors`, those of them that bugs of the harness ended, also count branches.
    """
    trajectories = [t for group in sampled.groups for t in group.trajectories]
    rewards = [r for group in sampled.groups for r in group.rewards]
    scored = [value for group in sampled.groups for value in group.first_scored]
    ended_by_agent = [(t, r) for t, r in zip(trajectories, rewards, strict=True) if t.termination.is_agents_doing]
    return {
        "reward_mean": _mean(scored),
        "pool_reward": sampler.pool_reward(),
        "success_rate": _mean([float(value > 0) for value in scored]),
        "overdone_share": _mean([float(is_complete(t) and bool(t.late_actions)) for t in trajectories]),
        "effective_groups": len(sampled.effective),
        "sampled_groups": len(sampled.groups),
        "episodes": sum(len(group.episodes) for group in sampled.groups),
        "masked_share": _mean([float(r.masked) for r in rewards]),
        **masked_shares(sampled),
        "harness_errors": harness_errors(e.termination for group in sampled.groups for e in group.episodes),
        "format_ok_share": _mean([float(r.format_ok) for _, r in ended_by_agent]),
        "entropy_estimate": _entropy_estimate(trajectories),
        "turns_mean": _mean([float(len(t.turns)) for t, _ in ended_by_agent]),
        "response_tokens_mean": _mean([float(len(turn.token_ids)) for t in trajectories for turn in t.turns]),
    }


def branch_figures(sampled: SampledGroups) -> dict[str, float]:
    """Figures of an iteration with branches: their number, those that did not begin because their page was not the
    recorded one, and those that are learned from, with their mean reward."""
    branches = [branches for group in sampled.groups for branches in group.branches]
    scored = [reward.value for part in branches for reward in part.rewards if not reward.masked]
    return {
        "branches_run": float(sum(len(part.trajectories) for part in branches)),
        "branches_dropped": float(sum(part.dropped for part in branches)),
        "branches_used": float(sum(part.used for part in branches)),
        "branches_reward": _mean(scored),
    }


def health_line(figures: Mapping[str, float], objective_summary: str = "") -> str:
    """An iteration's figures on one line. Times are in seconds; `waited` is the time in which the trainer was idle.

    Args:
        objective_summary: what the objective says of its own figures (`Objective.summary`).
    """

    def part(label: str, name: str, form: str) -> str:
        """A figure of the update, unless this one did not measure it (`UpdateStats`)."""
        return f"  {label} {figures[name]:{form}}" if name in figures else ""

    masked = ", ".join(
        f"{name.removeprefix('masked_')} {value:.2f}"
        for name, value in figures.items()
        if name.startswith("masked_") and name != "masked_share" and value
    )
    packed = f"{'packed' if figures['packed'] else 'NOT PACKED'} (off {figures['packing_gap']:.1e})"
    branches = ""
    if "branches_run" in figures:
        branches = "  branches {branches_used:.0f}/{branches_run:.0f} (dropped {branches_dropped:.0f})".format(
            **figures
        )
    agreement = ""
    if "judge_agreement" in figures:
        agreement = f"  judge agrees {figures['judge_agreement']:.2f} of {figures['judge_audited']:.0f}"
    if "judge_precision" in figures:
        agreement += f", precision {figures['judge_precision']:.2f}"
    return (
        f"iteration {figures['iteration']:.0f}: reward {figures['reward_mean']:.3f}"
        f"  pool {figures['pool_reward']:.3f}"
        f"  groups {figures['effective_groups']:.0f}/{figures['sampled_groups']:.0f}"
        f"{branches}"
        f"{f'  {objective_summary}' if objective_summary else ''}"
        f"{part('ratio', 'ratio_mean', '.4f')}{part('clipped', 'clip_fraction', '.3f')}"
        f"{part('gap', 'logprob_gap_max', '.1e')}"
        f"  entropy {figures['entropy_estimate']:.2f}{part('grad', 'grad_norm', '.2f')}"
        f"  turns {figures['turns_mean']:.2f}  tokens {figures['response_tokens_mean']:.0f}"
        f"  masked {figures['masked_share']:.2f}{f' ({masked})' if masked else ''}"
        f"  {figures['tokens_per_s']:.0f} tokens/s"
        f"  {packed}  rollout {figures['rollout_s']:.0f} s  judge {figures['judge_s']:.0f} s"
        f"  train {figures['train_s']:.0f} s  waited {figures['waited_s']:.0f} s{agreement}"
    )


def masked_shares(sampled: SampledGroups) -> dict[str, float]:
    """Why members were masked, as shares of all members: the termination of the episode, or the judge."""
    pairs = [pair for group in sampled.groups for pair in zip(group.trajectories, group.rewards, strict=True)]
    reasons = {
        f"masked_{end}": [reward.masked and trajectory.termination is end for trajectory, reward in pairs]
        for end in Termination
        if not end.is_agents_doing
    }
    by_judge = [reward.masked and trajectory.termination.is_agents_doing for trajectory, reward in pairs]
    return {name: _mean([float(hit) for hit in hits]) for name, hits in {**reasons, "masked_judge": by_judge}.items()}


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _entropy_estimate(trajectories: list[Trajectory]) -> float:
    """Mean of -log p over the sampled tokens: an unbiased estimate of the policy's entropy per token, in nats."""
    return _mean([-logprob for t in trajectories for turn in t.turns for logprob in turn.logprobs])
