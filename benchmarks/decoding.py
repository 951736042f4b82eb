"""Decoding for many episodes at once, against `transformers.generate` in batches: `python -m benchmarks.decoding`.

Both sides answer the same questions on generated pages, asked as episodes ask: so many at once, each waiting for its
answer and then for its browser. The peer collects what is asked and generates for all of it together, so that everybody
waits for the longest answer and whoever comes late waits for the next batch. Last line: JSON with both rates and their
ratio, medians over the rounds.
"""

from __future__ import annotations

import components.stages  # noqa: F401, isort: skip  (thread settings, before torch)

import argparse
import asyncio
import json
import random
import statistics
import time
from collections.abc import Awaitable, Callable

from benchmarks.asking import complete, generate, questions
from components.agent.rendering import Prompt
from components.params import load
from components.policies import VLM, Encoder, TransformersPolicy

MAX_TOKENS = 96
Answer = Callable[[Prompt, int], Awaitable[int]]
"""Answers a prompt with a seed; returns the number of tokens."""


class Batched:
    """The peer: whatever waits is generated together, by transformers."""

    def __init__(self, vlm: VLM, encoder: Encoder) -> None:
        self.vlm, self.encoder = vlm, encoder
        self.queue: asyncio.Queue[tuple[Prompt, asyncio.Future[int]]] = asyncio.Queue()

    async def answer(self, prompt: Prompt, seed: int) -> int:
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.queue.put_nowait((prompt, future))
        return await future

    async def serve(self) -> None:
        while True:
            batch = [await self.queue.get()]
            await asyncio.sleep(0.01)
            while not self.queue.empty():
                batch.append(self.queue.get_nowait())
            prompts = [prompt for prompt, _ in batch]
            lengths = await asyncio.to_thread(generate, self.vlm.model, self.encoder, prompts, MAX_TOKENS)
            for (_, future), length in zip(batch, lengths, strict=True):
                future.set_result(length)


async def play(prompts: list[Prompt], answer: Answer, at_once: int, browser_s: float) -> float:
    """Answered tokens per second while `at_once` episodes ask one question after another."""
    todo = list(enumerate(prompts))
    tokens = 0

    async def episode() -> None:
        nonlocal tokens
        while todo:
            seed, prompt = todo.pop()
            tokens += await answer(prompt, seed)
            await asyncio.sleep(browser_s * random.Random(seed).uniform(0.5, 1.5))

    started = time.monotonic()
    await asyncio.gather(*(episode() for _ in range(at_once)))
    return tokens / (time.monotonic() - started)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=120)
    parser.add_argument("--at-once", type=int, default=24)
    parser.add_argument("--browser-s", type=float, default=0.3, help="mean seconds between an answer and the next ask")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    params = load("recipes/demo.yaml")
    vlm = VLM.load(params.model.base, params.model)
    encoder = Encoder(vlm)
    prompts = await questions(options.pages)
    ours, theirs = [], []
    for number in range(options.rounds):
        async with TransformersPolicy(vlm, "benchmark", options.at_once, encoder) as policy:

            async def ask_us(prompt: Prompt, seed: int, policy: TransformersPolicy = policy) -> int:
                return await complete(policy, prompt, seed, MAX_TOKENS)

            ours.append(await play(prompts, ask_us, options.at_once, options.browser_s))
        peer = Batched(vlm, encoder)
        server = asyncio.create_task(peer.serve())
        theirs.append(await play(prompts, peer.answer, options.at_once, options.browser_s))
        server.cancel()
        print(f"round {number + 1}: {ours[-1]:.0f} tokens/s, transformers.generate {theirs[-1]:.0f}", flush=True)
    rate, peer_rate = statistics.median(ours), statistics.median(theirs)
    figures = {"tokens_per_s": round(rate), "generate_tokens_per_s": round(peer_rate)}
    print(json.dumps({"benchmark": "decoding", **figures, "ratio": round(rate / peer_rate, 2), **vars(options)}))


if __name__ == "__main__":
    asyncio.run(main())
