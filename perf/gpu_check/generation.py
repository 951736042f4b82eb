"""Log-probabilities of sampled tokens against the trainer's, and the speed of decoding.

The engine is this process's own (`components.policies.generation`), with padded rows, a cache and draft tokens; the
trainer computes packed rows (`components.training.forward.score`). The limits are those of RL, beyond which an update
is refused (`Tolerances.logprob` and `mean_logprob`). The trained small model answers questions about drawn pages; the
others have random weights and random prompts, and seldom end a response.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import torch

from components.model import VLM, Encoder, Sample
from components.params import SamplingParams
from components.policies.generation import Row, generate_batch
from components.training.forward import score
from perf.gpu_check.drawn_pages import drawn_pages
from perf.gpu_check.exactness import BASE_MODEL, model_named
from perf.gpu_check.learning import lessons
from perf.gpu_check.setting import Outcome, Setting, clock, free_memory, say
from perf.training_workload import SHAPES, trajectory

PROMPTS = 4
"""Different prompts of a batch; the other rows are further attempts, as in a group of RL."""
ROW_TOKENS = 16384


@dataclass(frozen=True)
class Agreement:
    """Differences between recorded log-probabilities and the trainer's, in nats, and what RL allows."""

    largest: float
    largest_limit: float
    mean: float
    mean_limit: float

    def reasons(self, where: str) -> list[str]:
        """A sentence for each limit that is exceeded."""
        sentences = []
        if not self.largest <= self.largest_limit:  # True for NaN
            sentences.append(f"{where} differ by {self.largest:.2e} nats on a token")
        if not self.mean <= self.mean_limit:
            sentences.append(f"{where} differ by {self.mean:.2e} nats on average")
        return sentences


@dataclass(frozen=True)
class Decoding(Agreement):
    """A batch of responses: its speed, and the differences to the trainer."""

    model: str
    dtype: str
    sequences: int
    tokens: int
    """Sampled tokens of all responses."""
    seconds: float
    """With the reading of the prompts and their screenshots."""
    tokens_s: float


@dataclass(frozen=True)
class Generation:
    """All batches."""

    decoding: list[Decoding]


def check(setting: Setting) -> Outcome:
    """Decode 1, 8 and 32 sequences with each model."""
    decoding: list[Decoding] = []
    random_weights = "tiny" if setting.is_tiny else "qwen3-vl-4b"
    for name, dtype in ((BASE_MODEL, "float32"), (BASE_MODEL, "bfloat16"), (random_weights, "bfloat16")):
        vlm = model_named(name, setting, dtype)
        decode(vlm, setting, name, dtype, 1, 2)  # starts threads and loads kernels
        for sequences in (1, 8, 32):
            decoding.append(decode(vlm, setting, name, dtype, sequences, 12 if setting.is_tiny else 128))
            say(f"generation: {decoding[-1]}")
        del vlm
        free_memory(setting.device)
    where = "{0.model} in {0.dtype}, {0.sequences} sequences: trainer and generation"
    return Outcome(
        Generation(decoding), [reason for batch in decoding for reason in batch.reasons(where.format(batch))]
    )


def agreement(vlm: VLM, encoder: Encoder, samples: list[Sample], recorded: list[float]) -> dict[str, float]:
    """Score samples of temperature 1 as the trainer does: the fields of `Agreement`.

    Args:
        recorded: log-probabilities of all their tokens.
    """
    with torch.no_grad():
        scores = score(vlm, encoder, samples, SamplingParams(temperature=1.0), ROW_TOKENS)
    gaps, limits = (torch.cat(scores).cpu() - torch.tensor(recorded)).abs(), vlm.tolerances
    return {
        "largest": gaps.max().item(),
        "largest_limit": limits.logprob,
        "mean": gaps.mean().item(),
        "mean_limit": limits.mean_logprob,
    }


def decode(vlm: VLM, setting: Setting, model: str, dtype: str, sequences: int, max_tokens: int) -> Decoding:
    """Sample, and compare with the trainer."""
    encoder = Encoder(vlm)
    if model == BASE_MODEL:
        prompts = [lesson.prompt for lesson in lessons(encoder, drawn_pages(PROMPTS, seed=1), random.Random(1), 1)]
    else:
        prompts = [turn.prompt for turn in trajectory(encoder, PROMPTS, SHAPES[model])]
    sampling = SamplingParams(temperature=1.0)
    rows = [Row(prompts[index % len(prompts)], sampling, max_tokens, index) for index in range(sequences)]
    begin = clock(setting.device)
    completions = generate_batch(vlm, encoder, rows)
    seconds = clock(setting.device) - begin
    samples = [Sample(row.prompt, answer.token_ids) for row, answer in zip(rows, completions, strict=True)]
    recorded = [logprob for answer in completions for logprob in answer.logprobs]
    return Decoding(
        **agreement(vlm, encoder, samples, recorded),
        model=model,
        dtype=dtype,
        sequences=sequences,
        tokens=len(recorded),
        seconds=seconds,
        tokens_s=len(recorded) / seconds,
    )
