"""The model in this process as a policy, with exact ids and log-probabilities.

One thread decodes the requests of all running episodes together. A request joins the batch between two tokens:
immediately if the batch is empty, else together with other requests, because reading one prompt costs almost as much as
reading several.
"""

from __future__ import annotations

import asyncio
import queue

import torch

from components.agent.policy import Completion, Request
from components.agent.rendering import Prompt
from components.model.encoding import Encoder
from components.model.vlm import VLM
from components.policies.drafts import NgramDrafts
from components.policies.generation import Generation, Row

GATHER_S = 0.01
"""How long an empty batch waits for one more request before it starts."""

JOIN_ROWS = 5
"""Requests join a running batch when this many wait, …"""
JOIN_STEPS = 8
"""… or after this many steps."""

_PendingRow = tuple[Row, "asyncio.Future[Completion]"]


class TransformersPolicy:
    """A policy in this process; use it inside of `async with`, which runs its decoder.

    Args:
        max_batch: largest number of responses that are decoded together. The time of a request that waits for a place
            does not count (`RequestClock`).
    """

    def __init__(self, vlm: VLM, version: str, max_batch: int = 64, encoder: Encoder | None = None) -> None:
        self.vlm = vlm
        self.version = version
        self.encoder = encoder or Encoder(vlm)
        self.max_batch = max_batch
        self._slots = asyncio.Semaphore(max_batch)
        self._threads = torch.get_num_threads()
        self._requests: queue.SimpleQueue[_PendingRow | None] = queue.SimpleQueue()
        self._decoder: asyncio.Task[None] | None = None

    async def __aenter__(self) -> TransformersPolicy:
        self._requests, self._slots = queue.SimpleQueue(), asyncio.Semaphore(self.max_batch)
        self._decoder = asyncio.create_task(asyncio.to_thread(self._decode, asyncio.get_running_loop()))
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._requests.put(None)
        if self._decoder is not None:
            await self._decoder

    def prompt_tokens(self, prompt: Prompt) -> int:
        """Number of tokens of a prompt."""
        return self.encoder.length(prompt)

    async def complete(self, request: Request) -> Completion:
        """Sample a response. Errors of the model are raised unchanged."""
        future: asyncio.Future[Completion] = asyncio.get_running_loop().create_future()
        with request.clock.stopped():
            await self._slots.acquire()
        try:
            row = Row(self.encoder.encode(request.prompt), request.sampling, request.max_tokens, request.seed)
            self._requests.put((row, future))
            return await future
        finally:
            self._slots.release()

    def _decode(self, loop: asyncio.AbstractEventLoop) -> None:
        """Run `_serve` in this thread on half of the cores; the browsers need the others."""
        torch.set_num_threads(max(1, self._threads // 2))
        try:
            self._serve(loop)
        finally:
            torch.set_num_threads(self._threads)  # the thread returns to a pool, and others use it

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        """Decode requests until the end of `async with`."""
        drafts = NgramDrafts()
        generation = Generation(self.vlm, self.encoder, drafts)
        callers: dict[Row, asyncio.Future[Completion]] = {}
        waiting: list[_PendingRow] = []
        steps = 0
        while self._collect(waiting, idle=not generation):
            waiting = [(row, future) for row, future in waiting if not future.done()]
            cancelled = {row for row, future in callers.items() if future.done()}  # a time-out cancels, too
            joining: list[_PendingRow] = []
            if not generation or len(waiting) >= JOIN_ROWS or steps >= JOIN_STEPS:
                free = self.max_batch - len(generation)
                joining, waiting = waiting[:free], waiting[free:]
            affected = [*callers.values(), *(future for _, future in joining)]
            try:
                generation.drop(cancelled)
                if joining:
                    affected, steps = [future for _, future in joining], 0
                    new = Generation.prefill(self.vlm, self.encoder, [row for row, _ in joining], drafts)
                    affected += callers.values()
                    callers.update(joining)
                    generation.merge(new)
                elif generation:
                    generation.step()
                    steps += 1
            except Exception as error:  # the affected requests fail, and the decoder goes on
                for future in affected:
                    loop.call_soon_threadsafe(_fail, future, error)
                callers = {row: future for row, future in callers.items() if future not in affected}
                if not callers:
                    generation = Generation(self.vlm, self.encoder, drafts)
            for row, completion in generation.ended:
                loop.call_soon_threadsafe(_answer, callers.pop(row), completion)
            generation.ended.clear()
            callers = {row: future for row, future in callers.items() if row not in cancelled}

    def _collect(self, waiting: list[_PendingRow], idle: bool) -> bool:
        """Append new requests to `waiting`; if there is nothing to decode, wait for one. False at the end."""
        timeout_s = None if idle and not waiting else 0.0
        while True:
            try:
                item = self._requests.get(block=timeout_s != 0.0, timeout=timeout_s or None)
            except queue.Empty:
                return True
            if item is None:
                return False
            waiting.append(item)
            timeout_s = GATHER_S if idle and len(waiting) < self.max_batch else 0.0


def _answer(future: asyncio.Future[Completion], completion: Completion) -> None:
    if not future.done():
        future.set_result(completion)


def _fail(future: asyncio.Future[Completion], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
