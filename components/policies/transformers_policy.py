"""The embedded policy: the model in this process, decoded across episodes, with exact ids and log-probabilities.

One thread decodes the requests of all running episodes together. A request joins between two tokens: at once while
nothing is decoded, else with others that wait, since reading one prompt costs almost as much as reading several.
"""

from __future__ import annotations

import asyncio
import queue

import torch

from components.agent.policy import Completion, Request
from components.agent.rendering import Prompt
from components.policies.encoding import Encoder
from components.policies.generation import Drafts, Generation, Row
from components.policies.vlm import VLM

GATHER_S = 0.01
"""How long the first of a batch waits for one more request, while nothing is decoded."""

JOIN_ROWS, JOIN_STEPS = 5, 8
"""Requests join a running batch when so many wait, or after so many tokens."""

_Waiting = tuple[Row, "asyncio.Future[Completion]"]


class TransformersPolicy:
    """A policy in this process. Use it inside `async with`, which runs its decoder."""

    def __init__(self, vlm: VLM, version: str, max_batch: int = 64, encoder: Encoder | None = None) -> None:
        self.vlm = vlm
        self.version = version
        self.encoder = encoder or Encoder(vlm)
        self.max_batch = max_batch
        self._asked: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._decoder: asyncio.Task[None] | None = None

    async def __aenter__(self) -> TransformersPolicy:
        self._asked = queue.SimpleQueue()
        self._decoder = asyncio.create_task(asyncio.to_thread(self._decode, asyncio.get_running_loop()))
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._asked.put(None)
        if self._decoder is not None:
            await self._decoder

    def prompt_tokens(self, prompt: Prompt) -> int:
        return self.encoder.length(prompt)

    async def complete(self, request: Request) -> Completion:
        future: asyncio.Future[Completion] = asyncio.get_running_loop().create_future()
        row = Row(self.encoder.encode(request.prompt), request.sampling, request.max_tokens, request.seed)
        self._asked.put((row, future))
        return await future

    def _decode(self, loop: asyncio.AbstractEventLoop) -> None:
        """`_serve` in a thread of its own, on half of the cores: the browsers need the others."""
        threads = torch.get_num_threads()
        torch.set_num_threads(max(1, threads // 2))
        try:
            self._serve(loop)
        finally:
            torch.set_num_threads(threads)  # the thread goes back to a pool

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        """Serve requests until the end of `async with`."""
        drafts = Drafts()
        generation = Generation(self.vlm, self.encoder, drafts)
        callers: dict[Row, asyncio.Future[Completion]] = {}
        waiting: list[_Waiting] = []
        steps = 0
        while self._listen(waiting, idle=not generation):
            waiting = [(row, future) for row, future in waiting if not future.done()]
            gone = {row for row, future in callers.items() if future.done()}  # timed out, or cancelled
            joining: list[_Waiting] = []
            if not generation or len(waiting) >= JOIN_ROWS or steps >= JOIN_STEPS:
                room = self.max_batch - len(generation)
                joining, waiting = waiting[:room], waiting[room:]
            concerned = [*callers.values(), *(future for _, future in joining)]
            try:
                generation.drop(gone)
                if joining:
                    concerned, steps = [future for _, future in joining], 0
                    new = Generation.prefill(self.vlm, self.encoder, [row for row, _ in joining], drafts)
                    concerned += callers.values()
                    callers.update(joining)
                    generation.merge(new)
                elif generation:
                    generation.step()
                    steps += 1
            except Exception as error:  # whatever broke belongs to whom it concerns, the decoder lives on
                for future in concerned:
                    loop.call_soon_threadsafe(_fail, future, error)
                callers = {row: future for row, future in callers.items() if future not in concerned}
                if not callers:
                    generation = Generation(self.vlm, self.encoder, drafts)
            for row, completion in generation.ended:
                loop.call_soon_threadsafe(_answer, callers.pop(row), completion)
            generation.ended.clear()
            callers = {row: future for row, future in callers.items() if row not in gone}

    def _listen(self, waiting: list[_Waiting], idle: bool) -> bool:
        """Collect what was asked; wait for something where there is nothing to do. False at the end."""
        patience = None if idle and not waiting else 0.0
        while True:
            try:
                item = self._asked.get(block=patience != 0.0, timeout=patience or None)
            except queue.Empty:
                return True
            if item is None:
                return False
            waiting.append(item)
            patience = GATHER_S if idle and len(waiting) < self.max_batch else 0.0


def _answer(future: asyncio.Future[Completion], completion: Completion) -> None:
    if not future.done():
        future.set_result(completion)


def _fail(future: asyncio.Future[Completion], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
