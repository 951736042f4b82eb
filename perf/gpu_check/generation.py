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
class Decoding:
    """A batch of responses: its speed, and the differences to the trainer in nats."""

    model: str
    dtype: str
    sequences: int
    tokens: int
    """Sampled tokens of all responses."""
    seconds: float
    """With the reading of the prompts and their screenshots."""
    tokens_s: float
    largest: float
    largest_limit: float
    mean: float
    mean_limit: float


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
        decode(vlm, setting, name, 1, 2)  # starts threads and loads kernels
        for sequences in (1, 8, 32):
            figures = decode(vlm, setting, name, sequences, 12 if setting.is_tiny else 128)
            decoding.append(Decoding(name, dtype, *figures))
            say(f"generation: {decoding[-1]}")
        del vlm
        free_memory(setting.device)
    return Outcome(Generation(decoding), [reason for batch in decoding for reason in reasons(batch)])


def reasons(batch: Decoding) -> list[str]:
    """A sentence for each limit that is exceeded."""
    where = f"{batch.model} in {batch.dtype}, {batch.sequences} sequences: trainer and generation differ by"
    sentences = []
    if not batch.largest <= batch.largest_limit:  # True for NaN
        sentences.append(f"{where} {batch.largest:.2e} nats on a token")
    if not batch.mean <= batch.mean_limit:
        sentences.append(f"{where} {batch.mean:.2e} nats on average")
    return sentences


def decode(
    vlm: VLM, setting: Setting, name: str, sequences: int, max_tokens: int
) -> tuple[int, int, float, float, float, float, float, float]:
    """Sample, and score the samples as the trainer does: the fields of `Decoding` after the first two."""
    encoder = Encoder(vlm)
    if name == BASE_MODEL:
        prompts = [lesson.prompt for lesson in lessons(encoder, drawn_pages(PROMPTS, seed=1), random.Random(1), 1)]
    else:
        prompts = [turn.prompt for turn in trajectory(encoder, PROMPTS, SHAPES[name])]
    sampling = SamplingParams(temperature=1.0)
    rows = [Row(prompts[index % len(prompts)], sampling, max_tokens, index) for index in range(sequences)]
    begin = clock(setting.device)
    completions = generate_batch(vlm, encoder, rows)
    seconds = clock(setting.device) - begin
    samples = [Sample(row.prompt, answer.token_ids) for row, answer in zip(rows, completions, strict=True)]
    scores = score(vlm, encoder, samples, sampling, ROW_TOKENS)
    recorded = torch.tensor([logprob for answer in completions for logprob in answer.logprobs])
    gaps = (torch.cat(scores).cpu() - recorded).abs()
    limits, tokens = vlm.tolerances, len(recorded)
    return (
        sequences,
        tokens,
        seconds,
        tokens / seconds,
        gaps.max().item(),
        limits.logprob,
        gaps.mean().item(),
        limits.mean_logprob,
    )
