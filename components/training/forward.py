"""Log-probabilities of recorded responses, with gradient or without, packed or, where packing is wrong, one by one.

Names: N response tokens of all samples, P tokens of a packed row, T response tokens of one sample.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from components.policies import VLM, Encoder, Sample
from components.training.packing import micro_batches, pack
from components.training.team import ALONE, Team

CHECKED = 8
"""Samples of a run's first batch on which packing is held against single samples."""


def response_logprobs(
    vlm: VLM, encoder: Encoder, samples: Sequence[Sample], temperature: float = 1.0, share: bool = True
) -> list[torch.Tensor]:
    """Log-probabilities (T,) of each sample's response ids, in nats, after temperature, with gradient where enabled.

    The samples are packed into one row, and what they share is encoded once unless `share` is false. Only response ids
    are evaluated; the first is predicted from the prompt's last token.
    """
    packed, device = pack(samples, encoder, share), vlm.model.device
    inputs = {
        "input_ids": torch.tensor([packed.ids], device=device),
        "position_ids": packed.positions_3P[:, None].to(device),
        "segments": packed.segments,
        **encoder.vision.inputs(packed.images),
    }
    return _of_responses(vlm, encoder, samples, packed.predictors, temperature, inputs)


def naive_logprobs(
    vlm: VLM, encoder: Encoder, samples: Sequence[Sample], temperature: float = 1.0
) -> list[torch.Tensor]:
    """`response_logprobs` with every sample a padded sequence of its own: what packing is held against."""
    inputs = encoder.collate(
        [s.prompt.ids + s.response for s in samples], [s.prompt.images for s in samples], pad="right"
    )
    length = inputs["input_ids"].shape[1]
    begins = [row * length + len(sample.prompt.ids) - 1 for row, sample in enumerate(samples)]
    places = [np.arange(begin, begin + len(s.response)) for begin, s in zip(begins, samples, strict=True)]
    return _of_responses(vlm, encoder, samples, places, temperature, inputs)


def _of_responses(
    vlm: VLM,
    encoder: Encoder,
    samples: Sequence[Sample],
    places: list[np.ndarray],
    temperature: float,
    inputs: dict[str, Any],
) -> list[torch.Tensor]:
    """Log-probabilities (T,) of each sample's response, whose tokens are predicted at `places` (T,) of the rows."""

    def distribution(logits_NV: torch.Tensor) -> torch.Tensor:
        logits_NV = encoder.sayable(logits_NV)
        logits_NV = (logits_NV if logits_NV.dtype == torch.float64 else logits_NV.float()) / temperature
        return torch.log_softmax(logits_NV, dim=-1)

    device = vlm.model.device
    wanted_N = torch.tensor([token for s in samples for token in s.response], device=device)
    with vlm.precision():
        places_N = torch.from_numpy(np.concatenate(places)).to(device)
        logprobs_N = vlm.model.token_logprobs(places_N, wanted_N, distribution, **inputs)
    return list(logprobs_N.split([len(s.response) for s in samples]))


@dataclass(frozen=True)
class Forward:
    """How a run computes log-probabilities: `packed`, or sample by sample."""

    packed: bool = True

    def __call__(
        self, vlm: VLM, encoder: Encoder, samples: Sequence[Sample], temperature: float = 1.0
    ) -> list[torch.Tensor]:
        compute = response_logprobs if self.packed else naive_logprobs
        if not encoder.vision.spread or any(sample.prompt.images for sample in samples):
            return compute(vlm, encoder, samples, temperature)
        first, *others, blank = compute(vlm, encoder, [*samples, encoder.blank()], temperature)
        return [first + 0 * blank.sum(), *others]  # other processes have images, and run through the tower both ways

    def micro_batches(self, samples: Sequence[Sample], encoder: Encoder, tokens: int) -> Iterator[list[int]]:
        """Indices of samples to take together: at most `tokens` as this form lays them out."""
        return micro_batches(samples, encoder, tokens, share=self.packed)


class PackingWarning(UserWarning):
    """Packing does not give the numbers of single samples, so that the run goes on without it: slower, and right."""


@torch.no_grad()
def checked_forward(
    vlm: VLM, encoder: Encoder, samples: Sequence[Sample], temperature: float, most: float, team: Team = ALONE
) -> tuple[Forward, float]:
    """Packed, if a few samples have the same log-probabilities so and one by one; and the largest gap, in nats.

    Args:
        samples: the first of a run, turns of one trajectory; `CHECKED` of them are compared.
        most: the gap up to which packing is trusted.
        team: all of its processes call this and go by the largest gap among them, so that they cut the same
            micro-batches.
    """
    some = samples[:CHECKED]
    packed, alone = response_logprobs(vlm, encoder, some, temperature), naive_logprobs(vlm, encoder, some, temperature)
    here = (torch.cat(packed) - torch.cat(alone)).abs().max().item()
    gap = torch.tensor(team.gather([here]), dtype=torch.float64).max().item()  # a NaN of any process is the largest
    if gap <= most:  # NaN is not
        return Forward(), gap
    warnings.warn(
        f"packed and single log-probabilities differ by {gap:.2e} nats, more than max_packing_gap = {most:.0e}: going "
        "on without packing, which costs several times the time. In bfloat16 such a gap is rounding: raise "
        "max_packing_gap there. In float32 it is a fault: please report it with the versions of torch and transformers",
        PackingWarning,
        stacklevel=2,
    )
    return Forward(packed=False), gap


@torch.no_grad()
def score(
    vlm: VLM,
    encoder: Encoder,
    samples: Sequence[Sample],
    temperature: float,
    tokens: int,
    forward: Forward = Forward(),
    team: Team = ALONE,
) -> list[torch.Tensor]:
    """Log-probabilities of many samples without gradient, in the order given; the team shares the work."""
    found: list[tuple[int, torch.Tensor]] = []
    for group, _ in team.share(list(forward.micro_batches(samples, encoder, tokens))):
        scores = forward(vlm, encoder, [samples[index] for index in group], temperature)
        found += zip(group, (one.cpu() if team.size > 1 else one for one in scores), strict=True)  # of another GPU
    scores_by_index = dict(team.gather(found))
    return [scores_by_index[index].to(encoder.device) for index in range(len(samples))]
