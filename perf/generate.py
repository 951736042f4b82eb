"""The policy in this process against a plain `transformers` loop: `python -m perf.generate`.

The same prompts on generated pages, a screenshot in each, are answered 1, 8 and 32 at a time; the next ones begin when
all are answered. The peers are the same weights as transformers loads them: `generate` for one prompt after another
(`loop`), and for all prompts of a time in one batch (`batched`). All run on one thread, because our policy leaves the
other cores to the browsers; on two threads the peers gain little, and lose that when another process runs. All sample
at the same temperature up to `--tokens` tokens. Only tokens of answers count, including the end token. Each measurement
reads its images anew, and first answers other prompts for warming up, which do not count. Last line: JSON with the
medians over the rounds, in which the sides take turns; `ratio` is our rate over the loop's, `ratio_batched` over the
batches'.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import time
from collections.abc import Awaitable, Callable

import torch
from transformers import Qwen3VLForConditionalGeneration

from components.agent.rendering import Prompt
from components.model import VLM, Encoder
from components.params import load
from components.policies import TransformersPolicy
from perf.decoding_workload import answer_with_policy, answer_with_transformers, page_prompts

SIDES = ("ours", "loop", "batched")
Ask = Callable[[list[Prompt]], Awaitable[int]]
"""Answers a batch of prompts. Returns the number of tokens."""


async def rate(ask: Ask, prompts: list[Prompt], warmup: list[Prompt], at_once: int) -> float:
    """Tokens per second over all prompts, after `warmup`, which does not count."""
    await ask(warmup)
    started = time.monotonic()
    tokens = 0
    for begin in range(0, len(prompts), at_once):
        tokens += await ask(prompts[begin : begin + at_once])
    return tokens / (time.monotonic() - started)


async def measure(
    side: str,
    vlm: VLM,
    plain: Qwen3VLForConditionalGeneration,
    prompts: list[Prompt],
    warmup: list[Prompt],
    at_once: int,
    tokens: int,
) -> float:
    """Tokens per second of one side of `SIDES`."""
    encoder = Encoder(vlm)

    async def batched(batch: list[Prompt]) -> int:
        return sum(answer_with_transformers(plain, encoder, batch, tokens))

    async def loop(batch: list[Prompt]) -> int:
        return sum(sum(answer_with_transformers(plain, encoder, [prompt], tokens)) for prompt in batch)

    if side != "ours":
        return await rate(loop if side == "loop" else batched, prompts, warmup, at_once)
    async with TransformersPolicy(vlm, "benchmark", at_once, encoder) as policy:

        async def ours(batch: list[Prompt]) -> int:
            answers = (answer_with_policy(policy, prompt, seed, tokens) for seed, prompt in enumerate(batch))
            return sum(await asyncio.gather(*answers))

        return await rate(ours, prompts, warmup, at_once)


async def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sequences", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument("--prompts", type=int, default=32)
    parser.add_argument("--tokens", type=int, default=96, help="largest number of tokens of an answer")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    params = load("recipes/demo.yaml").model
    vlm = VLM.load(params.base, params)
    plain = Qwen3VLForConditionalGeneration.from_pretrained(params.base, dtype=torch.float32)
    count = options.prompts + max(options.sequences)
    all_prompts = (await page_prompts(count))[:count]
    prompts, warmup = all_prompts[: options.prompts], all_prompts[options.prompts :]
    rates: dict[int, dict[str, list[float]]] = {n: {side: [] for side in SIDES} for n in options.sequences}
    for number in range(options.rounds):
        torch.manual_seed(number)
        for n in options.sequences:
            for side in SIDES:
                rates[n][side].append(await measure(side, vlm, plain, prompts, warmup[:n], n, options.tokens))
            line = ", ".join(f"{side} {rates[n][side][-1]:.0f}" for side in SIDES)
            print(f"round {number + 1}, {n} at once, tokens/s: {line}", flush=True)
    sequences = {n: figures(rates[n]) for n in rates}
    print(json.dumps({"benchmark": "generate", **vars(options), "sequences": sequences}))


def figures(rates: dict[str, list[float]]) -> dict[str, float]:
    """Medians over the rounds, and our ratios to the peers."""
    medians = {side: statistics.median(rates[side]) for side in SIDES}
    return {
        **{f"{side}_tokens_s": round(medians[side], 1) for side in SIDES},
        "ratio": round(medians["ours"] / medians["loop"], 2),
        "ratio_batched": round(medians["ours"] / medians["batched"], 2),
    }


if __name__ == "__main__":
    asyncio.run(main())
