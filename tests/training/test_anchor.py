"""The policy to which the KL refers: a moving average (`rl.objective.anchor_decay`), or that of SFT (`reference`)."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from components.params import MMGRPOParams, RecipeError
from components.stages.train_rl import inputs_of, reference_of
from components.training.learner import Learner
from components.training.training_state import frozen_names
from components.training.workers import SINGLE_PROCESS
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
    before, frozen = anchors(one), frozen_names(one.vlm)
    kept = {name: p.clone() for name, p in one.vlm.model.named_parameters() if name in frozen}
    shift(one, 1.0)
    for moved in (0.25, 1 - 0.75**2):
        one._move_reference()
        for name, anchor in anchors(one).items():
            torch.testing.assert_close(anchor, before[name] + moved, atol=1e-5, rtol=0)
    assert before
    assert kept
    assert all(torch.equal(p, kept[name]) for name, p in one.vlm.model.named_parameters() if name in kept)


class TrailingParams(MMGRPOParams):
    """A third party's objective whose reference follows the policy by a key of its own."""

    half_life: int = 1

    @property
    def reference_decay(self) -> float:
        return 0.5**self.half_life


def test_the_anchor_follows_for_any_objective_that_says_so():
    one = learner({"name": "mm_grpo", "kl": 0.1})
    section = TrailingParams(kl=0.1, half_life=2)
    one.params = one.params.model_copy(update={"rl": one.params.rl.model_copy(update={"objective": section})})
    before = anchors(one)
    shift(one, 1.0)
    one._move_reference()
    assert before
    for name, anchor in anchors(one).items():
        torch.testing.assert_close(anchor, before[name] + 0.75, atol=1e-5, rtol=0)


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


@pytest.mark.parametrize("name", ["mm_grpo", "m_grpo"])
def test_the_reference_is_sft_in_the_long_phase_where_the_recipe_says_so(name):
    own, sft = (recipe(rl__objective={"name": name, "kl": 0.1, "reference": one}) for one in ("phase", "sft"))
    assert [reference_of(own, phase) for phase in ("short", "long")] == [None, None]
    assert [reference_of(sft, phase) for phase in ("short", "long")] == [None, Path("models/sft")]
    assert Path("models/sft") in inputs_of(sft, "long")


@pytest.mark.parametrize("lora", [None, {"rank": 4, "alpha": 8}])
def test_a_learner_refers_to_the_model_of_another_directory(lora, tmp_path):
    sft, start = random_vlm(), random_vlm()
    with torch.no_grad():
        start.model.lm_head.weight.add_(1.0)
    sft.save(tmp_path / "sft")
    start.save(tmp_path / "start")
    params = recipe(rl__objective={"name": "mm_grpo", "kl": 0.1, "reference": "sft"}, model__lora=lora)
    made = Learner.load_model(SINGLE_PROCESS, tmp_path / "start", params, "long", reference=tmp_path / "sft")
    assert made.reference is not None
    kept = made.reference.model.state_dict()
    assert all(torch.equal(tensor, kept[name]) for name, tensor in sft.model.state_dict().items())
    assert not any(parameter.requires_grad for parameter in made.reference.model.parameters())
    assert not torch.equal(made.vlm.model.lm_head.weight, made.reference.model.lm_head.weight)
    assert made.vlm.trainable()


def test_a_reference_with_an_equal_frozen_tower_encodes_nothing_again(tmp_path):
    random_vlm().save(tmp_path / "sft")
    params = recipe(rl__objective={"name": "mm_grpo", "kl": 0.1, "reference": "sft"})
    made = Learner.load_model(SINGLE_PROCESS, tmp_path / "sft", params, "long", reference=tmp_path / "sft")
    assert made.reference is not None
    assert made.encoder.vision.is_of(made.reference)


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"kl": 0.0}, "set kl above 0, or reference to phase"), ({"anchor_decay": 0.9}, "set anchor_decay to null")],
)
def test_a_reference_that_is_not_used_or_would_move_is_refused(changes, message):
    with pytest.raises(RecipeError, match=message):
        recipe(rl__objective={"name": "mm_grpo", "kl": 0.1, "reference": "sft", **changes})


@pytest.mark.parametrize("name", ["mm_grpo", "m_grpo"])
def test_a_kl_on_truncated_distributions_is_refused(name):
    with pytest.raises(RecipeError, match=r"rl\.top_p = 0\.9 .* or rl\.objective\.kl to 0"):
        recipe(rl__objective={"name": name, "kl": 0.1}, rl__top_p=0.9)
    recipe(rl__objective={"name": name, "kl": 0.0}, rl__top_p=0.9)
