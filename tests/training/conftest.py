"""What tests of several objectives share: a model with trajectories that it sampled, and a fault of packing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch

from components.model import VLM, Encoder, Sample
from components.records import Trajectory
from components.training import forward
from tests.training.updates import roll
from tests.vlm import random_vlm

RESPONSE_LOGPROBS = forward.response_logprobs


@pytest.fixture(scope="module")
def rolled() -> tuple[VLM, list[Trajectory]]:
    """A model, and four trajectories of one to three turns with its responses."""
    vlm = random_vlm()
    return vlm, roll(vlm, Encoder(vlm), 4, [1, 3, 2])


@pytest.fixture
def break_packing(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Makes packing wrong from now on: it scores each place for the token after the one that belongs there."""

    def shifted(vlm: VLM, encoder: Encoder, samples: Sequence[Sample], *args, **settings) -> list[torch.Tensor]:
        moved = [Sample(sample.prompt, [*sample.response[1:], sample.response[0]]) for sample in samples]
        return RESPONSE_LOGPROBS(vlm, encoder, moved, *args, **settings)

    return lambda: monkeypatch.setattr(forward, "response_logprobs", shifted)
