"""How far the policy in training is from another model, at the tokens that rollouts sampled.

Shape suffixes: N response tokens of a micro-batch (n in one chunk), T of one turn, V words of the vocabulary.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import torch

from components.agent import Renderer
from components.memory import free_models
from components.model import VLM, Encoder, Sample
from components.params import SamplingParams
from components.records import Trajectory, Turn
from components.rollout import without_run
from components.training.agreement import policy_sample
from components.training.forward import Forward, checked_forward
from components.training.learner import Learner
from components.training.sharding import is_sharded, shard

TURNS = 64
"""Turns of an iteration on which the KL is measured; more would cost time and narrow it little."""


def drawn_turns(trajectories: Sequence[Trajectory], seed: int) -> list[tuple[Trajectory, Turn]]:
    """The turns of an iteration on which the KL is measured, at most `TURNS`, drawn by the recipe's seed."""
    turns = [(trajectory, turn) for trajectory in trajectories for turn in trajectory.turns if turn.token_ids]
    if not turns:
        return []
    return random.Random(f"{seed}:kl:{without_run(trajectories[0].policy)}").sample(turns, min(TURNS, len(turns)))


@dataclass(frozen=True)
class OtherModel:
    """A model that is not trained, with which the policy is compared."""

    vlm: VLM
    encoder: Encoder
    passes: Callable[[], AbstractContextManager[object]] = nullcontext
    """The context of each of its passes."""


def kl_by_family(
    learner: Learner, drawn: Sequence[tuple[Trajectory, Turn]], model: Path
) -> dict[str, tuple[float, int]]:
    """Per family the KL of the learner's policy to a model, summed over sampled tokens in nats, and the number of
    tokens. All ranks call this, in any thread: it sets the number of PyTorch's threads as an update does.

    At each place where a token was sampled, it is the sum of p log(p / q) over the whole vocabulary, p of the policy
    and q of the model, at `rl.temperature`. It is exact there and never negative. `rl.top_p` plays no part: the kept
    tokens of two policies differ, and then a KL of the truncated distributions is infinite.

    Args:
        drawn: turns with their trajectories (`drawn_turns`). Only these trajectories travel to the other ranks.
        model: the directory of the other model (`other_model`).

    Raises:
        TrainerMismatch: a prompt does not render to what the policy saw.
    """
    torch.set_num_threads(learner.threads)
    params = learner.params
    if not drawn:
        return {}
    other = other_model(learner, model)
    renderer = Renderer(params.agent, params.observation, params.model.think_prefix)
    samples = [policy_sample(trajectory, turn, renderer, learner.encoder) for trajectory, turn in drawn]
    sampling, tokens = SamplingParams(temperature=params.rl.temperature), params.rl.micro_batch_tokens
    with other.passes():
        forward, _ = checked_forward(
            other.vlm, other.encoder, samples, sampling, params.rl.max_packing_gap, learner.workers
        )
    own: list[tuple[int, float]] = []
    for indices, _ in learner.workers.split(list(forward.micro_batches(samples, learner.encoder, tokens))):
        batch = [samples[index] for index in indices]
        kl_N = divergences((learner.vlm, learner.encoder), other, batch, sampling, forward)
        kl = kl_N.split([len(sample.response) for sample in batch])
        own += zip(indices, (kl_T.sum().item() for kl_T in kl), strict=True)
    nats_by_index = dict(learner.workers.gather(own))
    sums: dict[str, tuple[float, int]] = {}
    for index, (trajectory, turn) in enumerate(drawn):
        nats, count = sums.get(trajectory.task.family, (0.0, 0))
        sums[trajectory.task.family] = nats + nats_by_index[index], count + len(turn.token_ids)
    del other, forward
    free_models()
    return sums


def other_model(learner: Learner, directory: Path) -> OtherModel:
    """The model of a directory, in memory that the learner has already if it can be. All ranks call this.

    The objective's reference may be that model. With adapters, the model with which the phase began is the policy
    without them. Any other model is loaded, and sharded if the learner's is (`plan.sft_policy` counts it). It uses the
    learner's vision tower and cached images if its own tower is frozen and equal.
    """
    own, params = learner.vlm, learner.params.model
    if learner.reference is not None and learner.reference_from == directory:
        encoder = learner.encoder if learner.encoder.vision.is_of(learner.reference) else None
        return OtherModel(learner.reference, encoder or Encoder(learner.reference, params.image_cache))
    if own.has_lora and learner.begun_from == directory:
        return OtherModel(own, learner.encoder, own.without_adapters)
    device = own.model.device
    loaded = VLM.load(directory, params.model_copy(update={"device": "cpu"}))
    loaded.model.eval().requires_grad_(False)
    loaded.model.model.visual.to(device)
    is_equal = loaded.share_frozen_tower(own)  # first, so that a GPU never holds two towers beside the weights
    if is_sharded(own):
        shard(loaded, learner.workers, device)
    else:
        loaded.model.to(device)  # type: ignore[arg-type]  # as in VLM.load
    return OtherModel(loaded, learner.encoder if is_equal else Encoder(loaded, params.image_cache))


@torch.no_grad()
def divergences(
    policy: tuple[VLM, Encoder],
    other: OtherModel,
    samples: Sequence[Sample],
    sampling: SamplingParams,
    forward: Forward,
) -> torch.Tensor:
    """KL of the policy to the other model (N,) at each response token of the samples, in nats and float64.

    The policy's distributions wait in the memory of the CPU: a micro-batch has 600 KB per response token with a
    vocabulary of 152,000.
    """
    waiting: list[torch.Tensor] = []
    forward(*policy, samples, sampling, visit=lambda policy_nV: waiting.append(policy_nV.cpu()))
    chunks, kl = iter(waiting), []

    def compare(other_nV: torch.Tensor) -> None:
        policy_nV = next(chunks).to(other_nV.device)
        rows = min(len(policy_nV), len(other_nV))  # one of the two may have a blank sample at its end
        policy_nV, other_nV = policy_nV[:rows], other_nV[:rows]
        nats_nV = (policy_nV.exp() * (policy_nV - other_nV)).masked_fill_(policy_nV == float("-inf"), 0.0)
        kl.append(nats_nV.sum(-1, dtype=torch.float64))

    with other.passes():
        forward(other.vlm, other.encoder, samples, sampling, visit=compare)
    return torch.cat(kl)[: sum(len(sample.response) for sample in samples)]
