"""How far the policy in training is from another model, on the tokens that it sampled."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import torch

from components.agent import Renderer
from components.model import VLM, Encoder
from components.records import Trajectory
from components.rollout import without_run
from components.training.agreement import policy_sample
from components.training.forward import checked_forward, score
from components.training.learner import Learner

TURNS = 64
"""Turns of an iteration on which the KL is measured; more would cost time and narrow it little."""


def kl_by_family(learner: Learner, trajectories: Sequence[Trajectory], model: Path) -> dict[str, tuple[float, int]]:
    """Per family the KL of the rollouts' policy to a model, summed over sampled tokens in nats, and the number of
    tokens. All ranks call this.

    The estimator is exp(r) - r - 1 with r = log p_model - log p_policy, per sampled token: unbiased and never negative
    (Schulman 2020, "Approximating KL divergence", k3). Both are of the distribution that `rl.temperature` and
    `rl.top_p` sample from. The model is loaded for the time of the call, so each rank needs memory for one more copy of
    the weights.

    Args:
        trajectories: of an iteration; `TURNS` of their turns are drawn, by the recipe's seed.
        model: the directory of the other model.

    Raises:
        TrainerMismatch: a prompt does not render to what the policy saw.
    """
    params = learner.params
    turns = [(trajectory, turn) for trajectory in trajectories for turn in trajectory.turns if turn.token_ids]
    if not turns:
        return {}
    drawn = random.Random(f"{params.seed}:kl:{without_run(trajectories[0].policy)}").sample(
        turns, min(TURNS, len(turns))
    )
    other = VLM.load(model, params.model)
    other.model.eval()
    encoder = Encoder(other, params.model.image_cache)
    renderer = Renderer(params.agent, params.observation, params.model.think_prefix)
    samples = [policy_sample(trajectory, turn, renderer, encoder) for trajectory, turn in drawn]
    rl, workers = params.rl, learner.workers
    forward, _ = checked_forward(other, encoder, samples, rl.sampling, rl.max_packing_gap, workers)
    logprobs = score(other, encoder, samples, rl.sampling, rl.micro_batch_tokens, forward, workers)
    sums: dict[str, tuple[float, int]] = {}
    for (trajectory, turn), logprobs_T in zip(drawn, logprobs, strict=True):
        ratio_T = logprobs_T.double() - torch.tensor(turn.logprobs, dtype=torch.float64, device=logprobs_T.device)
        nats, tokens = sums.get(trajectory.task.family, (0.0, 0))
        kl = (torch.exp(ratio_T) - ratio_T - 1).sum().item()
        sums[trajectory.task.family] = nats + kl, tokens + len(turn.token_ids)
    return sums
