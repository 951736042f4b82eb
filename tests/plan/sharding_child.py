"""Measures the memory of a sharded training step on two processes, for `test_sharded_memory`; started by `accelerate
launch --module`."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile
from transformers import Qwen3VLConfig, Qwen3VLForConditionalGeneration

from components.model import VLM
from components.model.attention import Segment, Segments
from components.training.sharding import shard
from components.training.workers import Workers
from tests.vlm import random_vlm

TOKENS = 4
TRIES = 3


def model_of(config: dict) -> VLM:
    """A model of this configuration with random weights and a frozen vision tower."""
    vlm = replace(random_vlm(), model=Qwen3VLForConditionalGeneration(Qwen3VLConfig(**config)))
    vlm.freeze_vision()
    vlm.model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    return vlm


def logprobs(vlm: VLM) -> torch.Tensor:
    """Log-probabilities of one token after a short row."""
    return vlm.model.token_logprobs(
        torch.tensor([TOKENS - 1]),
        torch.tensor([20]),
        lambda logits_nV, tokens_n: torch.log_softmax(logits_nV, dim=-1),
        input_ids=torch.arange(10, 10 + TOKENS)[None],
        position_ids=torch.arange(TOKENS)[None, None].expand(3, 1, -1),
        segments=Segments([Segment(0, TOKENS)]),
    )


def step(vlm: VLM) -> None:
    """Forward and backward."""
    logprobs(vlm).sum().backward()


def peak_of(passes: Callable[[], object]) -> tuple[int, int]:
    """Bytes that are allocated at the peak and at the end, beside what was there before."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        passes()
    events = sorted(
        (event.start_ns(), event.nbytes())
        for event in profiler.profiler.kineto_results.events()
        if event.name() == "[memory]"
    )
    held = list(itertools.accumulate(size for _, size in events))
    return max(held), held[-1]


def measured(config: dict, workers: Workers) -> dict[str, int]:
    """What a training pass holds at its peak beside shards and their gradients, and what is held after scoring.

    gloo's threads may keep a buffer for longer than FSDP does, so the least of some tries counts.
    """
    peaks = []
    for _ in range(TRIES):
        vlm = model_of(config)
        shard(vlm, workers)
        vlm.model.train()
        for parameter in vlm.trainable():
            parameter.grad = torch.zeros_like(parameter)
        peaks.append(peak_of(partial(step, vlm))[0])
    vlm = model_of(config)
    shard(vlm, workers)
    with torch.no_grad():
        _, kept = peak_of(partial(logprobs, vlm))
    return {"training": min(peaks), "kept": kept}


def main(configs: Path, out: Path) -> None:
    torch.set_num_threads(1)
    workers = Workers.join(cpu=True)
    found = [measured(config, workers) for config in json.loads(configs.read_text())]
    if workers.is_main:
        out.write_text(json.dumps(found))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
