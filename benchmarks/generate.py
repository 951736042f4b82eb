"""The policy in this process against a plain `transformers` loop: `python -m benchmarks.generate`.

The same prompts on generated pages, a screenshot in each, are asked 1, 8 and 32 at once; the next ones when all are
answered. The peers are the same weights as transformers loads them: `generate` for one prompt after another, and for
all that are asked at once in one batch. All run on one thread: our policy leaves the other cores to the browsers, and
on two the peers gain little and lose all where anything else runs. All sample at the same temperature up to `--tokens`
tokens; only tokens of answers count, the end token included. Each measurement reads its images anew, and first answers
as many other prompts as are asked at once, not counted. Last line: JSON with the medians over the rounds, in which the
sides take turns; `ratio` is ours over the loop, `ratio_batched` ours over the batches.
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

from benchmarks.asking import complete, generate, questions
from components.agent.rendering import Prompt
from components.params import load
from components.policies import VLM, Encoder, TransformersPolicy

SIDES = ("ours", "loop", "batched")
Ask = Callable[[list[Prompt]], Awaitable[int]]
"""Answers prompts that are asked at once; returns the number of tokens."""


async def rate(ask: Ask, prompts: list[Prompt], before: list[Prompt], at_once: int) -> float:
    """Tokens per second over all prompts; `before` warms up."""
    await ask(before)
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
    before: list[Prompt],
    at_once: int,
    tokens: int,
) -> float:
    """Tokens per second of a side."""
    encoder = Encoder(vlm)

    async def batched(batch: list[Prompt]) -> int:
        return sum(generate(plain, encoder, batch, tokens))

    async def loop(batch: list[Prompt]) -> int:
        return sum(sum(generate(plain, encoder, [prompt], tokens)) for prompt in batch)

    if side != "ours":
        return await rate(loop if side == "loop" else batched, prompts, before, at_once)
    async with TransformersPolicy(vlm, "benchmark", at_once, encoder) as policy:

        async def ours(batch: list[Prompt]) -> int:
            return sum(await asyncio.gather(*(complete(policy, p, seed, tokens) for seed, p in enumerate(batch))))

        return await rate(ours, prompts, before, at_once)


async def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sequences", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument("--prompts", type=int, default=32)
    parser.add_argument("--tokens", type=int, default=96, help="most tokens of an answer")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    params = load("recipes/demo.yaml").model
    vlm = VLM.load(params.base, params)
    plain = Qwen3VLForConditionalGeneration.from_pretrained(params.base, dtype=torch.float32)
    most = options.prompts + max(options.sequences)
    asked = (await questions(most))[:most]
    prompts, others = asked[: options.prompts], asked[options.prompts :]
    found: dict[int, dict[str, list[float]]] = {n: {side: [] for side in SIDES} for n in options.sequences}
    for number in range(options.rounds):
        torch.manual_seed(number)
        for n in options.sequences:
            for side in SIDES:
                found[n][side].append(await measure(side, vlm, plain, prompts, others[:n], n, options.tokens))
            rates = ", ".join(f"{side} {found[n][side][-1]:.0f}" for side in SIDES)
            print(f"round {number + 1}, {n} at once, tokens/s: {rates}", flush=True)
    sequences = {n: figures(found[n]) for n in found}
    print(json.dumps({"benchmark": "generate", **vars(options), "sequences": sequences}))


def figures(rates: dict[str, list[float]]) -> dict[str, float]:
    """Medians over the rounds."""
    middle = {side: statistics.median(rates[side]) for side in SIDES}
    return {
        **{f"{side}_tokens_s": round(middle[side], 1) for side in SIDES},
        "ratio": round(middle["ours"] / middle["loop"], 2),
        "ratio_batched": round(middle["ours"] / middle["batched"], 2),
    }


if __name__ == "__main__":
    asyncio.run(main())
