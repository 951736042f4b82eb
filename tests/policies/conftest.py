"""The shipped model, and one group of vLLM servers for all tests that do not change its state."""

from __future__ import annotations

import asyncio

import pytest

from components.model import VLM, Encoder
from components.params import load
from tests.policies.vllm_servers import BASE, fleet_of


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
