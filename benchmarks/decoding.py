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

import torch

from components.agent import Request
from components.agent.rendering import IM_END, IM_START, Prompt, Text
from components.params import SamplingParams, load
from components.policies import VLM, Encoder, TransformersPolicy
from components.records import Image
from components.training.pages import random_label, render_pages
from components.training.questions import ask

SAMPLING = SamplingParams(temperature=0.8)
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
            lengths = await asyncio.to_thread(self.generate, [prompt for prompt, _ in batch])
            for (_, future), length in zip(batch, lengths, strict=True):
                future.set_result(length)

    @torch.inference_mode()
    def generate(self, prompts: list[Prompt]) -> list[int]:
        encoded = [self.encoder.encode(prompt) for prompt in prompts]
        inputs = self.encoder.collate([e.ids for e in encoded], [e.images for e in encoded], pad="left")
        out = self.vlm.model.generate(
            **inputs,
            max_new_tokens=MAX_TOKENS,
            do_sample=True,
            temperature=SAMPLING.temperature,
            eos_token_id=self.encoder.end_id,
            pad_token_id=self.encoder.pad_id,
        )
        rows = out[:, inputs["input_ids"].shape[1] :].tolist()
        return [row.index(self.encoder.end_id) + 1 if self.encoder.end_id in row else len(row) for row in rows]


async def questions(count: int) -> list[Prompt]:
    """Prompts on generated pages."""
    rng = random.Random(1)
    prompts = []
    for page in await render_pages(count, seed=1):
        for question in ask(page.lines, rng, random_label(rng), 1):
            shown = Image.of(page.png)
            head = f"{IM_START}system\nx{IM_END}\n{IM_START}user\nTask: {question.instruction}\n"
            tail = "\n" + "\n".join(page.lines) + f"{IM_END}\n{IM_START}assistant\n"
            prompts.append(Prompt((Text(head), shown, Text(tail))))
    return prompts


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
                return len((await policy.complete(Request(prompt, (), SAMPLING, MAX_TOKENS, seed))).token_ids)

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
