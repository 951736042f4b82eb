"""Pre-training that is killed goes on from its checkpoint and ends with the weights that it would have had."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from components.model import VLM
from components.params import PretrainParams, PretrainPhase
from components.training import pretrain as pretraining
from components.training.page_rendering import render_pages
from components.training.pages import Page
from components.training.pretrain_progress import Figures
from tests import vlm

PHASE = PretrainPhase(steps=26, decay_steps=26, warmup_steps=2, points=False)
PARAMS = PretrainParams(
    pages=10,
    held_out=4,
    phases=(PHASE, PHASE.model_copy(update={"points": True})),
    hidden=48,
    layers=2,
    vision_hidden=32,
    vision_depth=2,
    vocabulary=1600,
    batch=2,
    questions=2,
)


class Killed(RuntimeError):
    """Ends training at a known step; `stages/test_pretrain_base.py` sends SIGKILL to the stage."""


@pytest.fixture(scope="module")
def pages() -> list[Page]:
    """Ten rendered pages."""
    return asyncio.run(render_pages(10, seed=3))


def killed_at(step: int) -> Callable[[Figures], None]:
    """A report that ends training when it gets the figures of a step."""

    def report(figures: Figures) -> None:
        if figures["step"] == step:
            raise Killed

    return report


def without_seconds(curve: list[Figures]) -> list[Figures]:
    """The figures that do not depend on the machine."""
    return [{name: value for name, value in figures.items() if name != "seconds"} for figures in curve]


@pytest.fixture(scope="module", autouse=True)
def _frequent_checkpoints() -> Iterator[None]:
    """Checkpoints every 10 steps. The tokenizer is trained once for all tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pretraining, "STEPS_BETWEEN_CHECKPOINTS", 10)
        patch.setattr(pretraining, "train_tokenizer", lambda pages, params: vlm.tokenizer())
        yield


@pytest.fixture(scope="module")
def whole(pages: list[Page]) -> tuple[VLM, list[Figures]]:
    """Training that nothing interrupts, and its figures."""
    return pretraining.pretrain({"widgets": pages}, PARAMS, lambda figures: None)


@pytest.mark.slow
@pytest.mark.parametrize("step", [25, 26, 51])
def test_killed_training_ends_with_the_same_weights_and_figures(
    pages: list[Page], whole: tuple[VLM, list[Figures]], step: int, tmp_path: Path
) -> None:
    expected, curve = whole
    checkpoint = tmp_path / "checkpoint.pt"
    with pytest.raises(Killed):
        pretraining.pretrain({"widgets": pages}, PARAMS, killed_at(step), checkpoint)
    later: list[Figures] = []
    resumed, resumed_curve = pretraining.pretrain({"widgets": pages}, PARAMS, later.append, checkpoint)

    weights = resumed.model.state_dict()
    assert all(torch.equal(weights[name], tensor) for name, tensor in expected.model.state_dict().items())
    assert [figures["step"] for figures in curve] == [25, 26, 51, 52]
    assert without_seconds(resumed_curve) == without_seconds(curve)
    assert [figures["step"] for figures in later] == [s for s in (25, 26, 51, 52) if s >= step]
