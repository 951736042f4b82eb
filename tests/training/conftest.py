"""Faults that tests of several objectives cause."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch

from components.model import VLM, Encoder, Sample
from components.training import forward

RESPONSE_LOGPROBS = forward.response_logprobs


@pytest.fixture
def break_packing(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Makes packing wrong from now on: it scores each place for the token after the one that belongs there."""

    def shifted(vlm: VLM, encoder: Encoder, samples: Sequence[Sample], *args) -> list[torch.Tensor]:
        moved = [Sample(sample.prompt, [*sample.response[1:], sample.response[0]]) for sample in samples]
        return RESPONSE_LOGPROBS(vlm, encoder, moved, *args)

    return lambda: monkeypatch.setattr(forward, "response_logprobs", shifted)
