"""Which policy a recipe's episodes ask: the model in this process, or vLLM servers."""

from __future__ import annotations

import asyncio
import itertools
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import torch

from components.agent.policy import Policy
from components.params import Params
from components.policies.encoding import Encoder
from components.policies.transformers_policy import TransformersPolicy
from components.policies.vllm import Fleet, VLLMPolicy
from components.policies.vlm import VLM

OpenPolicy = Callable[[str], AbstractAsyncContextManager[Policy]]
"""Given the name of a model's weights as they are now, the policy that has them."""

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
    """Policies of a model that is trained here, and that began as `path`: each has the weights as it is opened.

    Where the model is trained meanwhile (`rl.async`), the embedded policy has a copy. vLLM gets the weights from a
    directory, adapters alone where the model has some; the directory before is deleted then.

    Args:
        whole: gives the model's state, or its adapters' where it has some, if it is spread over processes.

    Raises:
        ServerError: vLLM does not start or cannot take the weights.
    """
    if params.inference.engine == "transformers":

        def embedded(version: str) -> TransformersPolicy:
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
        async def current(version: str) -> AsyncIterator[Policy]:
            number = next(numbers)
            await _hand_over(vlm, fleet, served / str(number), whole)
            shutil.rmtree(served / str(number - 1), ignore_errors=True)
            yield VLLMPolicy(fleet, version, encoder)

        yield current
    shutil.rmtree(served, ignore_errors=True)


async def _hand_over(vlm: VLM, fleet: Fleet, where: Path, whole: Whole) -> None:
    where.mkdir(parents=True)
    if vlm.has_lora:
        await asyncio.to_thread(lambda: vlm.save_adapter(where, whole()))
        fleet.load_adapter(where)
    else:
        await asyncio.to_thread(lambda: vlm.save(where, whole()))
        await fleet.load(where)


@asynccontextmanager
async def _served(path: str | Path, params: Params, version: str, work: Path) -> AsyncIterator[Policy]:
    async with _fleet(path, params, work) as fleet:
        yield VLLMPolicy(fleet, version, Encoder(VLM.skeleton(path)))


def _fleet(path: str | Path, params: Params, work: Path) -> Fleet:
    most = params.agent.max_context_tokens, params.observation.screenshots
    return Fleet(path, params.model, params.inference.vllm, *most, logs=work)
