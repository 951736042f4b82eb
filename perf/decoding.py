"""Decoding for many episodes at once, against `transformers.generate` in batches: `python -m perf.decoding`.

Both sides answer the same questions on generated pages. A fixed number of episodes ask at the same time; each waits for
its answer and then for its browser. The peer collects the waiting requests and generates for all of them together, so
all wait for the longest answer, and a late request waits for the next batch. Last line: JSON with both rates and their
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

from components.agent.rendering import Prompt
from components.model import VLM, Encoder
from components.params import load
from components.policies import TransformersPolicy
from perf.decoding_workload import answer_with_policy, answer_with_transformers, page_prompts

MAX_TOKENS = 96
Answer = Callable[[Prompt, int], Awaitable[int]]
"""Answers a prompt with a seed. Returns the number of tokens."""


class BatchedPeer:
    """The peer: transformers generates for all waiting requests together."""

    def __init__(self, vlm: VLM, encoder: Encoder) -> None:
        self.vlm, self.encoder = vlm, encoder
        self.queue: asyncio.Queue[tuple[Prompt, asyncio.Future[int]]] = asyncio.Queue()

    async def answer(self, prompt: Prompt, seed: int) -> int:
        """Wait for the answer of the next batch."""
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.queue.put_nowait((prompt, future))
        return await future

    async def serve(self) -> None:
        """Answer requests until cancelled."""
        while True:
            batch = [await self.queue.get()]
            await asyncio.sleep(0.01)
            while not self.queue.empty():
                batch.append(self.queue.get_nowait())
            prompts = [prompt for prompt, _ in batch]
            lengths = await asyncio.to_thread(
                answer_with_transformers, self.vlm.model, self.encoder, prompts, MAX_TOKENS
            )
            for (_, future), length in zip(batch, lengths, strict=True):
                future.set_result(length)


async def play(prompts: list[Prompt], answer: Answer, at_once: int, browser_s: float) -> float:
    """Tokens of answers per second while `at_once` episodes ask one question after another."""
    remaining = list(enumerate(prompts))
    tokens = 0

    async def episode() -> None:
        nonlocal tokens
        while remaining:
            seed, prompt = remaining.pop()
            tokens += await answer(prompt, seed)
            await asyncio.sleep(browser_s * random.Random(seed).uniform(0.5, 1.5))

    started = time.monotonic()
    await asyncio.gather(*(episode() for _ in range(at_once)))
    return tokens / (time.monotonic() - started)


async def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=120)
    parser.add_argument("--at-once", type=int, default=24)
    parser.add_argument("--browser-s", type=float, default=0.3, help="mean seconds between an answer and the next ask")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    params = load("recipes/demo.yaml")
    vlm = VLM.load(params.model.base, params.model)
    prompts = await page_prompts(options.pages)
    policy_rates, peer_rates = [], []
    for number in range(options.rounds):
        # with an encoder of its own: each keeps the features of the images that it has seen
        async with TransformersPolicy(vlm, "benchmark", options.at_once, Encoder(vlm)) as policy:

            async def ask_policy(prompt: Prompt, seed: int, policy: TransformersPolicy = policy) -> int:
                return await answer_with_policy(policy, prompt, seed, MAX_TOKENS)

            policy_rates.append(await play(prompts, ask_policy, options.at_once, options.browser_s))
        peer = BatchedPeer(vlm, Encoder(vlm))
        server = asyncio.create_task(peer.serve())
        peer_rates.append(await play(prompts, peer.answer, options.at_once, options.browser_s))
        server.cancel()
        print(
            f"round {number + 1}: {policy_rates[-1]:.0f} tokens/s, transformers.generate {peer_rates[-1]:.0f}",
            flush=True,
        )
    rate, peer_rate = statistics.median(policy_rates), statistics.median(peer_rates)
    figures = {"tokens_per_s": round(rate), "generate_tokens_per_s": round(peer_rate)}
    print(json.dumps({"benchmark": "decoding", **figures, "ratio": round(rate / peer_rate, 2), **vars(options)}))


if __name__ == "__main__":
    asyncio.run(main())
