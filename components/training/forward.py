"""Log-probabilities of recorded responses, in micro-batches bounded by tokens.

Every turn is its own sequence here (shared-prefix packing replaces that). Names: S samples, B rows of a micro-batch,
T response tokens of one sample.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from components.policies import VLM, Encoder, Sample


def sample_length(sample: Sample) -> int:
    """Tokens of a sample, prompt and response."""
    return len(sample.prompt.ids) + len(sample.response)


def micro_batches(samples: Sequence[Sample], tokens: int) -> Iterator[list[int]]:
    """Indices of samples in groups of like length, each at most `tokens` with its padding (or a single sample)."""
    order = sorted(range(len(samples)), key=lambda index: sample_length(samples[index]))
    group: list[int] = []
    for index in order:
        if group and (len(group) + 1) * sample_length(samples[index]) > tokens:
            yield group
            group = []
        group.append(index)
    if group:
        yield group


def response_logprobs(
    vlm: VLM, encoder: Encoder, samples: Sequence[Sample], temperature: float = 1.0
) -> list[torch.Tensor]:
    """Log-probabilities (T,) of each sample's response ids, in nats, after temperature, with gradient where enabled.

    Only response ids are evaluated; the first is predicted from the prompt's last token.
    """
    inputs = encoder.collate(
        [s.prompt.ids + s.response for s in samples], [s.prompt.images for s in samples], pad="right"
    )
    hidden_BLH = vlm.model.model(**inputs, use_cache=False).last_hidden_state
    rows = [
        hidden_BLH[row, len(s.prompt.ids) - 1 : len(s.prompt.ids) + len(s.response) - 1]
        for row, s in enumerate(samples)
    ]
    logits_NV = encoder.sayable(vlm.model.lm_head(torch.cat(rows)).float()) / temperature
    wanted_N = torch.tensor([token for s in samples for token in s.response], device=logits_NV.device)
    logprobs_N = torch.log_softmax(logits_NV, dim=-1).gather(1, wanted_N[:, None])[:, 0]
    return list(logprobs_N.split([len(s.response) for s in samples]))


@torch.no_grad()
def score(vlm: VLM, encoder: Encoder, samples: Sequence[Sample], temperature: float, tokens: int) -> list[torch.Tensor]:
    """`response_logprobs` of many samples without gradient, in the order given."""
    scores: list[torch.Tensor] = [torch.empty(0)] * len(samples)
    for group in micro_batches(samples, tokens):
        for index, logprobs in zip(
            group, response_logprobs(vlm, encoder, [samples[i] for i in group], temperature), strict=True
        ):
            scores[index] = logprobs
    return scores
