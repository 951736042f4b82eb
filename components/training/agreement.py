"""Does the trainer see what the policy saw? Prompts, and log-probabilities of both before an update's first step.

The same weights must give the same log-probabilities in both, up to rounding. If they do not, the prompt, the images or
the temperature differ, and an update would train on something that the policy never sampled.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from components.agent import Renderer
from components.model import Encoder, Sample
from components.params import SamplingParams
from components.records import Trajectory, Turn

ROUNDING = 1e-3
"""Nats per token: the rounding of float32 stays far below."""


@dataclass(frozen=True)
class GapLimits:
    """The largest gaps between trainer and rollout that rounding explains, in nats."""

    token: float
    mean: float
    truncation: float = 0.0
    """Added to `token` for `rl.top_p`: a token that only one of both keeps by rounding divides the others by its
    share."""

    @property
    def token_with_truncation(self) -> float:
        """The largest gap on a token."""
        return self.token + self.truncation

    @property
    def text(self) -> str:
        """The keys that set the limits, with their values."""
        allowance = f" (with rl.top_p {self.truncation:.2e} more)" if self.truncation else ""
        return (
            f"rl.objective.max_logprob_gap = {self.token:.0e}{allowance} or rl.objective.max_mean_logprob_gap = "
            f"{self.mean:.0e}"
        )


class TrainerMismatch(RuntimeError):
    """The trainer does not see what the policy saw, so an update would train on something else."""


def policy_sample(trajectory: Trajectory, turn: Turn, renderer: Renderer, encoder: Encoder) -> Sample:
    """A turn of the policy itself: its prompt, rendered again, and the token ids that were sampled.

    Raises:
        TrainerMismatch: the prompt is not the one that the policy saw.
    """
    prompt = renderer.prompt(trajectory.task, trajectory.turns[: turn.index], turn.observation)
    if prompt.sha256 != turn.prompt_sha256:
        raise TrainerMismatch(
            f"turn {turn.index} of {trajectory.trajectory_id} renders to another prompt than in the rollout: "
            "the code that renders it, or agent or observation in the recipe, has changed since; restore it, or start "
            "the stage with a new state"
        )
    return Sample(encoder.encode(prompt), turn.token_ids)


def logprob_gaps(
    recorded: Sequence[torch.Tensor], trainer: Sequence[torch.Tensor], limits: GapLimits, stale: bool
) -> tuple[float, float]:
    """The largest gap on a token and the mean gap, in nats.

    Args:
        recorded: the rollout's log-probabilities of each turn, (T,).
        trainer: the trainer's, (T,).
        stale: the rollout had older weights, so a gap is expected; then only one that is not finite is refused.

    Raises:
        TrainerMismatch: the gap on a token or the mean gap is larger than its limit.
    """
    gaps = torch.cat([(trainer_T - rollout_T).abs() for trainer_T, rollout_T in zip(trainer, recorded, strict=True)])
    gap, mean = gaps.max().item(), gaps.mean().item()
    agree = gap <= limits.token_with_truncation and mean <= limits.mean  # False for NaN, too
    if not agree and not (stale and math.isfinite(gap)):
        raise TrainerMismatch(
            f"trainer and rollout differ by {gap:.2e} nats on a token and by {mean:.2e} on average, more than "
            f"{limits.text} allows: the server must return log-probabilities after temperature and top-p, and must "
            "see the token ids and images that the trainer encodes"
        )
    return gap, mean


def check_distribution(
    recorded: Sequence[torch.Tensor],
    trainer: Sequence[torch.Tensor],
    trainer_before: Sequence[torch.Tensor],
    sampling: SamplingParams,
) -> None:
    """Refuse log-probabilities that fit the model's own distribution better than the one that was sampled from.

    `logprob_gaps` can miss this: a policy that is sure of most tokens stays within the limits in both.

    Args:
        recorded: the rollout's log-probabilities of each turn, (T,).
        trainer: the trainer's under `sampling`, (T,).
        trainer_before: the trainer's at a temperature of 1 and from all tokens, (T,).

    Raises:
        TrainerMismatch: the recorded ones are those before temperature and top-p.
    """
    recorded_N = torch.cat(list(recorded))
    gap, gap_before = (
        (torch.cat(list(logprobs)) - recorded_N).abs().mean().item() for logprobs in (trainer, trainer_before)
    )
    if gap_before < gap / 2:
        raise TrainerMismatch(
            f"the rollout's log-probabilities differ by {gap:.2e} nats per token from the trainer's at rl.temperature "
            f"= {sampling.temperature} and rl.top_p = {sampling.top_p}, and by {gap_before:.2e} from those before "
            "temperature and top-p: the server must return log-probabilities after them (vLLM: logprobs_mode "
            "processed_logprobs)"
        )
