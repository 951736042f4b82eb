"""Which policy a recipe's episodes ask: the model in this process, or vLLM servers."""

from __future__ import annotations

import asyncio
import itertools
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import torch

from components.agent.policy import Policy
from components.params import Params
from components.policies.encoding import Encoder
from components.policies.transformers_policy import TransformersPolicy
from components.policies.vllm import Fleet, VLLMPolicy
from components.policies.vlm import VLM

OpenPolicy = Callable[[str], Awaitable[AbstractAsyncContextManager[Policy]]]
"""Takes a model's weights as they are now, under a name. The policy that it gives has them; of several that were taken,
one is entered after the other has ended."""

Whole = Callable[[], dict[str, torch.Tensor] | None]


def open_model(path: str | Path, params: Params, version: str, work: Path) -> AbstractAsyncContextManager[Policy]:
    """The policy of a model that stays as it is; `work` is a directory for what servers leave.

    Raises:
        ServerError: when entered; vLLM does not start.
    """
    if params.inference.engine == "vllm":
        return _served(path, params, version, work)
    return TransformersPolicy(VLM.load(path, params.model), version, params.browser.concurrency)


@asynccontextmanager
async def follow(
    vlm: VLM, encoder: Encoder, path: str | Path, params: Params, work: Path, whole: Whole = lambda: None
) -> AsyncIterator[OpenPolicy]:
    """Policies of a model that is trained here, and that began as `path`: each has the weights as they were taken.

    Where the model is trained meanwhile (`rl.async`), the embedded policy has a copy. vLLM gets the weights from a
    directory when the policy is entered, adapters alone where the model has some; the one before is deleted then.

    Args:
        whole: gives the model's state, or its adapters' where it has some, if it is spread over processes.

    Raises:
        ServerError: vLLM does not start or cannot take the weights.
    """
    if params.inference.engine == "transformers":

        async def embedded(version: str) -> TransformersPolicy:
            if not params.rl.asynchronous:
                return TransformersPolicy(vlm, version, params.browser.concurrency, encoder)
            return TransformersPolicy(vlm.frozen_copy(), version, params.browser.concurrency)

        yield embedded
        return
    served = work / "served"
    shutil.rmtree(served, ignore_errors=True)
    numbers = itertools.count()
    async with _fleet(path, params, work) as fleet:

        @asynccontextmanager
        async def handed_over(version: str, number: int) -> AsyncIterator[Policy]:
            if vlm.has_lora:
                fleet.load_adapter(served / str(number))
            else:
                await fleet.load(served / str(number))
            shutil.rmtree(served / str(number - 1), ignore_errors=True)
            yield VLLMPolicy(fleet, version, encoder)

        async def written(version: str) -> AbstractAsyncContextManager[Policy]:
            number, write = next(numbers), vlm.save_adapter if vlm.has_lora else vlm.save
            where = served / str(number)
            where.mkdir(parents=True)
            await asyncio.to_thread(lambda: write(where, whole()))
            return handed_over(version, number)

        yield written
    shutil.rmtree(served, ignore_errors=True)


@asynccontextmanager
async def _served(path: str | Path, params: Params, version: str, work: Path) -> AsyncIterator[Policy]:
    async with _fleet(path, params, work) as fleet:
        yield VLLMPolicy(fleet, version, Encoder(VLM.skeleton(path)))


def _fleet(path: str | Path, params: Params, work: Path) -> Fleet:
    most = params.agent.max_context_tokens, params.observation.screenshots
    return Fleet(path, params.model, params.inference.vllm, *most, logs=work)
