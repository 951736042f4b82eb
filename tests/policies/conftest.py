"""The shipped model, and one group of vLLM servers for all tests that do not change its state."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from components.model import VLM, Encoder
from components.params import load
from tests.policies.vllm_servers import BASE, fleet_of


@pytest.fixture(scope="session", autouse=True)
def engines_are_forked() -> Iterator[None]:
    """Engines start as on a GPU. vLLM's default on a CPU imports all of vLLM once more, 15 s of CPU per start."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VLLM_WORKER_MULTIPROC_METHOD", "fork")
        yield


@pytest.fixture(scope="session")
def vlm() -> VLM:
    return VLM.load(BASE, load("recipes/smoke.yaml").model)


@pytest.fixture(scope="session")
def encoder(vlm) -> Encoder:
    return Encoder(vlm)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Running servers, and `run`, which runs coroutines in their event loop."""
    with asyncio.Runner() as runner:
        fleet = fleet_of(BASE, tmp_path_factory.mktemp("served"))
        runner.run(fleet.__aenter__())
        yield fleet, runner.run
        runner.run(fleet.__aexit__())
