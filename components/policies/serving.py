"""Opens the policy of a recipe (`inference.engine`): the model in this process, or vLLM servers."""

from __future__ import annotations

import asyncio
import itertools
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import torch

from components.agent.policy import Policy
from components.memory import free_models
from components.model.encoding import Encoder
from components.model.lending import WeightLender
from components.model.vlm import VLM
from components.params import Params
from components.policies.transformers_policy import TransformersPolicy
from components.policies.vllm import Fleet, ServerSettings, VLLMPolicy
from components.store import SERVED

OpenPolicy = Callable[[str], Awaitable[AbstractAsyncContextManager[Policy]]]
"""Copies a model's present weights under a version name and returns a policy with them. Of several such policies, one
is entered only after the one before has ended. With `inference.vllm.transfer: ipc` the weights are copied when the
policy is entered, before the model changes again."""

GatherState = Callable[[], dict[str, torch.Tensor] | None]
"""Gathers the state of a sharded model; None if the model is not sharded."""


def open_model(path: str | Path, params: Params, version: str, work: Path) -> AbstractAsyncContextManager[Policy]:
    """The policy of a model that does not change.

    Args:
        work: a directory for the servers' logs.

    Raises:
        ServerError: vLLM does not start or cannot be used; raised when the policy is entered.
    """
    if params.inference.engine == "vllm":
        return _fixed_policy(path, params, version, work)
    return _embedded_policy(VLM.load(path, params.model), params, version)


def _embedded_policy(vlm: VLM, params: Params, version: str) -> TransformersPolicy:
    return TransformersPolicy(vlm, version, params.browser.concurrency, Encoder(vlm, params.model.image_cache))


def server_settings(params: Params) -> ServerSettings:
    """What the vLLM servers of a recipe have in common."""
    return ServerSettings(
        params.model, params.inference.vllm, params.agent.max_context_tokens, params.observation.screenshots
    )


@asynccontextmanager
async def training_policies(
    vlm: VLM,
    encoder: Encoder,
    path: str | Path,
    params: Params,
    work: Path,
    gather_state: GatherState = lambda: None,
    release_memory: Callable[[], object] = lambda: None,
) -> AsyncIterator[OpenPolicy]:
    """Yields a function that opens policies of a model in training; each has the weights of the time of the call.

    If the model is trained during the rollouts (`rl.max_staleness` above 0), the policy in this process gets a copy of
    it. vLLM reads the weights (with adapters, only those) from a directory when the policy is entered; the directory of
    the policy before is then deleted. With `inference.vllm.transfer: ipc` it copies them from this process's GPU.

    Args:
        vlm: the model in training.
        path: the model's directory or name before the training.
        work: a directory for the servers' logs and weights.
        gather_state: returns the model's state, or that of its adapters, if the model is sharded over processes.
        release_memory: gives back the memory that the processes of the training keep on GPUs between updates. It is
            called before servers start, and before they wake (`inference.vllm.sleeps`).

    Raises:
        ServerError: vLLM does not start, cannot be used or cannot load the weights.
    """
    if params.inference.engine == "transformers":

        async def open_embedded(version: str) -> TransformersPolicy:
            if not params.rl.max_staleness:
                return TransformersPolicy(vlm, version, params.browser.concurrency, encoder)
            free_models()  # copies of policies that have ended
            return _embedded_policy(vlm.frozen_copy(), params, version)

        yield open_embedded
        return
    served = work / SERVED
    shutil.rmtree(served, ignore_errors=True)
    numbers = itertools.count()
    await asyncio.to_thread(release_memory)  # loading the model took more than the model takes
    async with _fleet(path, params, work, changes=True) as fleet:
        lends = params.inference.vllm.transfer == "ipc" and not vlm.has_lora
        lender = WeightLender(vlm)

        @asynccontextmanager
        async def served_policy(version: str, number: int) -> AsyncIterator[Policy]:
            if params.inference.vllm.sleeps:
                await asyncio.to_thread(release_memory)
            if lends:
                await fleet.copy(lender.lend)
            elif vlm.has_lora:
                await fleet.load_adapter(served / str(number))
            else:
                await fleet.load(served / str(number))
            shutil.rmtree(served / str(number - 1), ignore_errors=True)
            yield VLLMPolicy(fleet, version, encoder)
            if params.inference.vllm.sleeps:
                await fleet.sleep()

        async def open_served(version: str) -> AbstractAsyncContextManager[Policy]:
            number, write = next(numbers), vlm.save_adapter if vlm.has_lora else vlm.save
            if not lends:
                directory = served / str(number)
                directory.mkdir(parents=True)
                await asyncio.to_thread(lambda: write(directory, gather_state()))
            return served_policy(version, number)

        yield open_served
    shutil.rmtree(served, ignore_errors=True)


@asynccontextmanager
async def _fixed_policy(path: str | Path, params: Params, version: str, work: Path) -> AsyncIterator[Policy]:
    async with _fleet(path, params, work) as fleet:
        yield VLLMPolicy(fleet, version, Encoder(VLM.without_weights(path)))


def _fleet(path: str | Path, params: Params, work: Path, changes: bool = False) -> Fleet:
    return Fleet(path, server_settings(params), work, changes)
