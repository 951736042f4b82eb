"""Health of an iteration's rollouts, as figures for MLflow and for the line on the screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from components.records import Outcome, Termination, Trajectory, Verdict
from components.rollout import Sampled, TaskSampler


def rollout_figures(sampled: Sampled, sampler: TaskSampler) -> dict[str, float]:
    """Health of an iteration's rollouts."""
    trajectories = [t for group in sampled.groups for t in group.trajectories]
    rewards = [r for group in sampled.groups for r in group.rewards]
    scored = [r.value for r in rewards if not r.masked]
    return {
        "reward_mean": _mean(scored),
        "pool_reward": sampler.pool_reward(),
        "success_rate": _mean([float(value > 0) for value in scored]),
        "effective_groups": len(sampled.effective),
        "sampled_groups": len(sampled.groups),
        "masked_share": _mean([float(r.masked) for r in rewards]),
        **masked_shares(sampled),
        "format_ok_share": _mean([float(r.format_ok) for r in rewards]),
        "entropy_estimate": _surprise(trajectories),
        "turns_mean": _mean([float(len(t.turns)) for t in trajectories]),
        "response_tokens_mean": _mean([float(len(turn.token_ids)) for t in trajectories for turn in t.turns]),
    }


def audit_figures(verdicts: Mapping[str, Verdict], audited: Sequence[Verdict]) -> dict[str, float]:
    """How far the judge that rewards agrees with an auditor, as shares of what both could judge.

    `judge_precision` is the share of its successes that are the auditor's too: it falls first when a policy learns to
    please the judge. A figure over nothing is left out.
    """
    sure = (Outcome.SUCCESS, Outcome.FAILURE)
    pairs = [(verdicts[one.trajectory_id].outcome, one.outcome) for one in audited if one.outcome in sure]
    pairs = [pair for pair in pairs if pair[0] in sure]
    if not pairs:
        return {}
    figures = {"judge_audited": float(len(pairs)), "judge_agreement": _mean([float(a is b) for a, b in pairs])}
    passed = [float(b is Outcome.SUCCESS) for a, b in pairs if a is Outcome.SUCCESS]
    return figures | ({"judge_precision": _mean(passed)} if passed else {})


def health_line(figures: dict[str, float]) -> str:
    """An iteration's figures on one line; at the end seconds, `waited` those in which the trainer had nothing to do."""
    one = figures
    masked = ", ".join(
        f"{name.removeprefix('masked_')} {value:.2f}"
        for name, value in one.items()
        if name.startswith("masked_") and name != "masked_share" and value
    )
    packed = f"{'packed' if one['packed'] else 'NOT PACKED'} (off {one['packing_gap']:.1e})"
    agreed = ""
    if "judge_agreement" in one:
        agreed = f"  judge agrees {one['judge_agreement']:.2f} of {one['judge_audited']:.0f}"
    chosen = f"  chosen {one['rft_chosen']:.0f} of {one['rft_attempts']:.0f} attempts" if "rft_chosen" in one else ""
    return (
        f"iteration {one['iteration']:.0f}: reward {one['reward_mean']:.3f}  pool {one['pool_reward']:.3f}"
        f"  groups {one['effective_groups']:.0f}/{one['sampled_groups']:.0f}{chosen}"
        f"  ratio {one['ratio_mean']:.4f}  clipped {one['clip_fraction']:.3f}  gap {one['logprob_gap_max']:.1e}"
        f"  entropy {one['entropy_estimate']:.2f}  grad {one['grad_norm']:.2f}"
        f"  turns {one['turns_mean']:.2f}  tokens {one['response_tokens_mean']:.0f}"
        f"  masked {one['masked_share']:.2f}{f' ({masked})' if masked else ''}  {one['tokens_per_s']:.0f} tokens/s"
        f"  {packed}  rollout {one['rollout_s']:.0f} s  judge {one['judge_s']:.0f} s  train {one['train_s']:.0f} s"
        f"  waited {one['waited_s']:.0f} s{agreed}"
    )


def masked_shares(sampled: Sampled) -> dict[str, float]:
    """Why members were masked, as shares of all: what ended the episode, or else the judge."""
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


def _surprise(trajectories: list[Trajectory]) -> float:
    """Mean of -log p over the sampled tokens: an unbiased estimate of the policy's entropy per token, in nats."""
    return _mean([-logprob for t in trajectories for turn in t.turns for logprob in turn.logprobs])
