"""The policy to which the KL refers, where it is a moving average (`rl.objective.anchor_decay`)."""

from __future__ import annotations

import pytest
import torch

from components.params import RecipeError
from components.training.learner import Learner
from tests.samples import recipe
from tests.vlm import random_vlm

MOVING = {"name": "mm_grpo", "kl": 0.1, "anchor_decay": 0.75}


def learner(objective=MOVING, **changes) -> Learner:
    return Learner.begin(random_vlm(), recipe(rl__objective=objective, **changes))


def shift(one: Learner, by: float) -> None:
    """Train, so to speak."""
    with torch.no_grad():
        for parameter in one.vlm.trainable():
            parameter.add_(by)


def anchors(one: Learner) -> dict[str, torch.Tensor]:
    assert one.reference is not None
    trained = {name for name, parameter in one.vlm.model.named_parameters() if parameter.requires_grad}
    return {name: p.clone() for name, p in one.reference.model.named_parameters() if name in trained}


@pytest.mark.parametrize("lora", [None, {"rank": 4, "alpha": 8}])
def test_the_anchor_follows_the_policy(lora):
    """One minus d of the way in each iteration; frozen weights stay."""
    one = learner(model__lora=lora)
    before, frozen = anchors(one), one._frozen()
    kept = {name: p.clone() for name, p in one.vlm.model.named_parameters() if name in frozen}
    shift(one, 1.0)
    for moved in (0.25, 1 - 0.75**2):
        one._move_reference()
        for name, anchor in anchors(one).items():
            torch.testing.assert_close(anchor, before[name] + moved, atol=1e-5, rtol=0)
    assert before
    assert kept
    assert all(torch.equal(p, kept[name]) for name, p in one.vlm.model.named_parameters() if name in kept)


def test_without_a_decay_the_anchor_stays():
    one = learner({"name": "mm_grpo", "kl": 0.1})
    before = anchors(one)
    shift(one, 1.0)
    one._move_reference()
    assert all(torch.equal(anchor, before[name]) for name, anchor in anchors(one).items())


def test_a_checkpoint_holds_a_moving_anchor_and_no_other(tmp_path):
    one, path = learner(), tmp_path / "moving.pt"
    shift(one, 1.0)
    one._move_reference()
    one.save(path, {"iteration": 1})
    other = learner()
    assert other.load(path) == {"iteration": 1}
    assert all(torch.equal(anchor, anchors(one)[name]) for name, anchor in anchors(other).items())
    fixed = learner({"name": "mm_grpo", "kl": 0.1})
    fixed.save(tmp_path / "fixed.pt", {})
    assert torch.load(tmp_path / "fixed.pt", weights_only=True)["reference"] == {}


def test_an_anchor_without_a_kl_is_refused():
    with pytest.raises(RecipeError, match="set kl above 0, or anchor_decay to null"):
        recipe(rl__objective={"name": "mm_grpo", "anchor_decay": 0.9})
