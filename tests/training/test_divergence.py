"""The KL of a policy to another model: exact over the vocabulary, whatever attempts are sampled from."""

from __future__ import annotations

import copy
import gc
import weakref
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from components.model import VLM, Encoder
from components.params import SamplingParams
from components.training.divergence import divergences, drawn_turns, kl_by_family
from components.training.forward import Forward
from components.training.learner import Learner
from tests.training.updates import RL, group_of, recipe_with, samples_of


@pytest.fixture
def moved(rolled) -> VLM:
    """The policy with other weights in its last layer."""
    other = copy.deepcopy(rolled[0])
    with torch.no_grad():
        weight = other.model.model.language_model.norm.weight
        weight.mul_(1 + 0.5 * torch.rand(weight.shape, generator=torch.Generator().manual_seed(0)))
    return other


def by_hand(vlm: VLM, sample, temperature: float) -> torch.Tensor:
    """Log-probabilities (T, V) of one sample's responses by the plain model, without images' placeholders."""
    encoder = Encoder(vlm)
    inputs = {
        **encoder.collate([sample.prompt.ids + sample.response], pad="right"),
        "image_grid_thw": encoder.vision.grids(sample.prompt.images),
        **encoder.vision.inputs(sample.prompt.images),
    }
    with torch.no_grad():
        logits_TV = vlm.model(**inputs).logits[0, len(sample.prompt.ids) - 1 : -1].double()
    return torch.log_softmax(encoder.mask_placeholders(logits_TV) / temperature, dim=-1)


@pytest.mark.parametrize("packed", [True, False])
def test_the_kl_is_the_sum_over_the_vocabulary(rolled, moved, packed):
    vlm, trajectories = rolled
    encoder = Encoder(vlm)
    samples = [turn.sample for turn in samples_of(group_of(trajectories, [1, 0, 0, 1]), encoder, RL)]
    found = divergences(
        (vlm, encoder), (moved, Encoder(moved)), samples, SamplingParams(temperature=0.9), Forward(packed)
    )
    expected = []
    for sample in samples:
        policy_TV, other_TV = by_hand(vlm, sample, 0.9), by_hand(moved, sample, 0.9)
        expected.append(torch.nan_to_num(policy_TV.exp() * (policy_TV - other_TV)).sum(-1))
    assert torch.cat(expected).min() > 1e-4
    torch.testing.assert_close(found, torch.cat(expected), atol=1e-5, rtol=1e-3)


@pytest.mark.slow
def test_the_kl_does_not_depend_on_top_p_and_is_0_to_itself(rolled, moved, tmp_path: Path):
    vlm, trajectories = rolled
    vlm.save(tmp_path / "itself")
    moved.save(tmp_path / "moved")

    def nats(top_p: float, model: str) -> float:
        learner = Learner.begin(copy.deepcopy(vlm), recipe_with(RL.model_copy(update={"top_p": top_p})))
        ((total, tokens),) = kl_by_family(
            learner, drawn_turns(trajectories, learner.params.seed), tmp_path / model
        ).values()
        assert tokens == sum(len(turn.token_ids) for one in trajectories for turn in one.turns)
        return total / tokens

    assert nats(0.5, "moved") == nats(1.0, "moved") > 1e-4
    assert nats(1.0, "itself") == pytest.approx(0.0, abs=1e-6)


def test_the_other_model_is_freed_at_the_end_of_the_call(rolled, moved, tmp_path: Path, monkeypatch):
    vlm, trajectories = rolled
    moved.save(tmp_path / "moved")
    learner = Learner.begin(copy.deepcopy(vlm), recipe_with(RL))
    load, loaded = VLM.load, []

    def noted(*arguments):
        made = load(*arguments)
        loaded.append(weakref.ref(made.model))
        return made

    monkeypatch.setattr(VLM, "load", noted)
    gc.disable()  # models are in cycles, and a collection may be far away
    try:
        kl_by_family(learner, drawn_turns(trajectories, learner.params.seed), tmp_path / "moved")
        assert [model() for model in loaded] == [None]
    finally:
        gc.enable()


def test_a_blank_sample_at_the_end_of_one_model_changes_nothing():
    """A sharded tower that is trained adds one where no sample of a batch has an image; the other model is whole."""
    generator = torch.Generator().manual_seed(0)
    first_nV, second_nV = (torch.randn(5, 7, generator=generator).log_softmax(-1) for _ in range(2))

    def kl(rows: int, other_rows: int) -> torch.Tensor:
        passes = iter([first_nV[:rows], second_nV[:other_rows]])
        samples = [SimpleNamespace(response=[1, 2, 3, 4])]
        return divergences((), (), samples, SamplingParams(), lambda *_, visit: visit(next(passes)))

    assert torch.equal(kl(5, 4), kl(4, 4))
    assert torch.equal(kl(4, 5), kl(4, 4))
