"""Log-probabilities of recorded responses, with or without gradient; packed, or sample by sample if packing is wrong.

Shape suffixes: N response tokens of all samples, P tokens of a packed row, T response tokens of one sample, V words of
the vocabulary.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from components.model import VLM, Encoder, Sample
from components.model.truncation import truncate
from components.params import SamplingParams
from components.training.packing import micro_batches, pack
from components.training.update_clock import UpdateClock
from components.training.workers import SINGLE_PROCESS, Workers

PLAIN = SamplingParams()
"""The model's own distribution: temperature 1, and no token left out."""
Visit = Callable[[torch.Tensor], None]
"""Gets the log-probabilities (n, V) of the tokens that may follow, for chunks of the responses' tokens in order."""
CHECKED = 8
"""Samples of a run's first batch on which packed and single samples are compared."""


def response_logprobs(
    vlm: VLM,
    encoder: Encoder,
    samples: Sequence[Sample],
    sampling: SamplingParams = PLAIN,
    share: bool = True,
    visit: Visit | None = None,
) -> list[torch.Tensor]:
    """Log-probabilities (T,) of each sample's response ids, in nats, with gradient where enabled.

    They are those of the distribution that `sampling` draws from, after temperature, top-p and top-k; the response's
    own ids are always kept (`model.truncation`). The samples are packed into one row, and common prefixes are encoded
    once unless `share` is false. Only response ids are evaluated; the first of them is predicted from the prompt's last
    token.
    """
    packed, device = pack(samples, encoder, share), vlm.model.device
    inputs = {
        "input_ids": torch.tensor([packed.ids], device=device),
        "position_ids": packed.positions_3P[:, None].to(device),
        "segments": packed.segments,
        **encoder.vision.inputs(packed.images),
    }
    return _response_logprobs(vlm, encoder, samples, packed.predictors, sampling, inputs, visit)


def naive_logprobs(
    vlm: VLM,
    encoder: Encoder,
    samples: Sequence[Sample],
    sampling: SamplingParams = PLAIN,
    visit: Visit | None = None,
) -> list[torch.Tensor]:
    """`response_logprobs` with every sample as a padded sequence of its own: the reference for packing."""
    images = [image for sample in samples for image in sample.prompt.images]
    grids = encoder.vision.grids(images)
    inputs: dict[str, Any] = {
        **encoder.collate([s.prompt.ids + s.response for s in samples], pad="right"),
        "image_grid_thw": grids if grids is None else grids.to(encoder.device),
        **encoder.vision.inputs(images),
    }
    length = inputs["input_ids"].shape[1]
    begins = [row * length + len(sample.prompt.ids) - 1 for row, sample in enumerate(samples)]
    predictors = [np.arange(begin, begin + len(s.response)) for begin, s in zip(begins, samples, strict=True)]
    return _response_logprobs(vlm, encoder, samples, predictors, sampling, inputs, visit)


def _response_logprobs(
    vlm: VLM,
    encoder: Encoder,
    samples: Sequence[Sample],
    predictors: list[np.ndarray],
    sampling: SamplingParams,
    inputs: dict[str, Any],
    visit: Visit | None,
) -> list[torch.Tensor]:
    """Log-probabilities (T,) of each sample's response, whose tokens are predicted at `predictors` (T,), positions in
    the flattened rows."""

    def distribution(logits_NV: torch.Tensor, tokens_N: torch.Tensor) -> torch.Tensor:
        logits_NV = encoder.mask_placeholders(logits_NV)
        logits_NV = (logits_NV if logits_NV.dtype == torch.float64 else logits_NV.float()) / sampling.temperature
        logprobs_NV = truncate(torch.log_softmax(logits_NV, dim=-1), sampling.top_p, sampling.top_k, keep_N=tokens_N)
        if visit is not None:
            visit(logprobs_NV)
        return logprobs_NV

    device = vlm.model.device
    targets_N = torch.tensor([token for s in samples for token in s.response], device=device)
    with vlm.precision():
        predictors_N = torch.from_numpy(np.concatenate(predictors)).to(device)
        score: Callable[..., torch.Tensor] = vlm.model.token_logprobs  # type: ignore[assignment]  # see as_scorer
        logprobs_N = score(predictors_N, targets_N, distribution, **inputs)
    return list(logprobs_N.split([len(s.response) for s in samples]))


def token_count(samples: Sequence[Sample]) -> int:
    """Tokens of the samples, prompts included, as if no prefix were shared."""
    return sum(len(sample.prompt.ids) + len(sample.response) for sample in samples)


@dataclass(frozen=True)
class Forward:
    """How a run computes log-probabilities: packed, or sample by sample."""

    packed: bool = True
    clock: UpdateClock = field(default_factory=UpdateClock, compare=False, repr=False)
    """Measures the work of the update that computes them."""

    def __call__(
        self,
        vlm: VLM,
        encoder: Encoder,
        samples: Sequence[Sample],
        sampling: SamplingParams = PLAIN,
        visit: Visit | None = None,
    ) -> list[torch.Tensor]:
        """Log-probabilities (T,) of each sample's response, in nats. `visit` may get more rows than tokens."""
        compute = response_logprobs if self.packed else naive_logprobs
        if not encoder.vision.is_sharded or any(sample.prompt.images for sample in samples):
            return compute(vlm, encoder, samples, sampling, visit=visit)
        # The vision tower is sharded and other ranks have images: this rank must run the tower forward and backward too
        first, *others, blank = compute(vlm, encoder, [*samples, encoder.blank_sample()], sampling, visit=visit)
        return [first + 0 * blank.sum(), *others]

    def micro_batches(self, samples: Sequence[Sample], encoder: Encoder, tokens: int) -> Iterator[list[int]]:
        """Indices of samples to compute together: at most `tokens` in the layout of this form."""
        return micro_batches(samples, encoder, tokens, share=self.packed)


class PackingWarning(UserWarning):
    """Packing does not give the numbers of single samples, so the run continues without it: slower, but right."""


@torch.no_grad()
def checked_forward(
    vlm: VLM,
    encoder: Encoder,
    samples: Sequence[Sample],
    sampling: SamplingParams,
    max_gap: float | None = None,
    workers: Workers = SINGLE_PROCESS,
    clock: UpdateClock | None = None,
) -> tuple[Forward, float]:
    """Compare packed with single samples, and choose packing if they agree; also the largest gap of a token, in nats.

    Args:
        samples: the first samples of a run, turns of one trajectory; `CHECKED` of them are compared.
        max_gap: the gap of a token in nats up to which packing is used; None takes the rounding of the model's dtype,
            which has a limit for the mean gap, too.
        workers: all ranks call this and decide by the largest gap among them, so that they cut the same micro-batches.
        clock: measures this comparison and all passes of the returned form; None for a new one.
    """
    clock = clock or UpdateClock()
    tolerances = vlm.tolerances
    limits = (tolerances.packing, tolerances.mean_packing) if max_gap is None else (max_gap, max_gap)
    first = samples[:CHECKED]
    with clock.forward(encoder.vision):
        packed = response_logprobs(vlm, encoder, first, sampling)
        # In pairs, which need padding: a batch of all would need far more memory than `micro_batch_tokens` allows.
        pairs = [first[place : place + 2] for place in range(0, len(first), 2)]
        single = [row for pair in pairs for row in naive_logprobs(vlm, encoder, pair, sampling)]
        gaps = (torch.cat(packed) - torch.cat(single)).abs()
        largest, mean = gaps.max().item(), gaps.mean().item()
    of_all = torch.tensor(workers.gather([(largest, mean)]), dtype=torch.float64)
    gap, mean = of_all.amax(dim=0).tolist()  # NaN on any rank is the maximum
    if gap <= limits[0] and mean <= limits[1]:  # False for NaN
        return Forward(clock=clock), gap
    warnings.warn(
        f"packed and single log-probabilities differ by {gap:.2e} nats on a token and {mean:.2e} on average, more than "
        f"max_packing_gap = {limits[0]:.0e} or, on average, {limits[1]:.0e}: training continues without packing, which "
        "takes several times as long. In bfloat16 this may be rounding: raise max_packing_gap. In float32 it is a bug: "
        "please report it with the versions of torch and transformers",
        PackingWarning,
        stacklevel=2,
    )
    return Forward(packed=False, clock=clock), gap


@torch.no_grad()
def score(
    vlm: VLM,
    encoder: Encoder,
    samples: Sequence[Sample],
    sampling: SamplingParams,
    tokens: int,
    forward: Forward = Forward(),
    workers: Workers = SINGLE_PROCESS,
) -> list[torch.Tensor]:
    """Log-probabilities (T,) of many samples without gradient, in nats, in the order given; the ranks share the work.

    Args:
        tokens: of one micro-batch, at most.
    """
    own: list[tuple[int, torch.Tensor]] = []
    for indices, _ in workers.split(list(forward.micro_batches(samples, encoder, tokens))):
        with forward.clock.forward(encoder.vision):
            scores = forward(vlm, encoder, [samples[index] for index in indices], sampling)
        # to the CPU, since other ranks cannot read this rank's GPU
        own += zip(
            indices, (logprobs_T.cpu() if workers.size > 1 else logprobs_T for logprobs_T in scores), strict=True
        )
    scores_by_index = dict(workers.gather(own))
    return [scores_by_index[index].to(encoder.device) for index in range(len(samples))]
