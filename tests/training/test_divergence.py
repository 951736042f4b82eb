"""The KL of a policy to another model: exact over the vocabulary, whatever attempts are sampled from."""

from __future__ import annotations

import copy
import gc
import weakref
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from components.model import VLM, Encoder
from components.params import SamplingParams
from components.plan import sft_policy
from components.training.divergence import OtherModel, divergences, drawn_turns, kl_by_family, other_model
from components.training.forward import Forward, response_logprobs
from components.training.learner import Learner
from components.training.workers import SINGLE_PROCESS
from tests.samples import recipe
from tests.training.test_workers import launched
from tests.training.updates import RL, group_of, recipe_with, samples_of
from tests.vlm import AGENT


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
    other, sampling = OtherModel(moved, Encoder(moved)), SamplingParams(temperature=0.9)
    found = divergences((vlm, encoder), other, samples, sampling, Forward(packed))
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
        return divergences((), OtherModel((), ()), samples, SamplingParams(), lambda *_, visit: visit(next(passes)))

    assert torch.equal(kl(5, 4), kl(4, 4))
    assert torch.equal(kl(4, 5), kl(4, 4))


ADAPTED = {"model__lora": {"rank": 4, "alpha": 8}}
ANCHORED = {"kl": 0.1, "anchor_decay": 0.5}
REFERRING = {"rl__objective": {"name": "m_grpo", "kl": 0.1}}


def shifted_learner(sft: Path, **changes: object) -> Learner:
    """A learner of the short phase that has left the SFT policy."""
    params = recipe(**changes).model_copy(update={"agent": AGENT})
    learner = Learner.load_model(SINGLE_PROCESS, sft, params, "short")
    with torch.no_grad():
        for parameter in learner.vlm.trainable():
            parameter.add_(0.02 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(7)))
    return learner


@pytest.mark.parametrize("changes", [ADAPTED, REFERRING, ADAPTED | REFERRING], ids=["adapters", "reference", "both"])
def test_an_sft_policy_that_the_learner_holds_is_not_loaded(rolled, tmp_path: Path, changes):
    sft, copied = tmp_path / "sft", tmp_path / "copied"
    rolled[0].save(sft)
    learner = shifted_learner(sft, **changes)
    drawn = drawn_turns(rolled[1], 0)
    sft.rename(copied)
    ((nats, tokens),) = kl_by_family(learner, drawn, sft).values()  # its files are gone
    assert nats / tokens > 1e-4
    assert kl_by_family(learner, drawn, copied) == {"a": (nats, tokens)}, "as of a copy that is loaded"


def test_the_adapters_count_again_after_the_kl(rolled, tmp_path: Path):
    rolled[0].save(tmp_path)
    learner = shifted_learner(tmp_path, **ADAPTED)
    samples = [turn.sample for turn in samples_of(group_of(rolled[1], [1, 0, 0, 1]), learner.encoder, RL)]
    before = response_logprobs(learner.vlm, learner.encoder, samples)
    kl_by_family(learner, drawn_turns(rolled[1], 0), tmp_path)
    assert all(map(torch.equal, response_logprobs(learner.vlm, learner.encoder, samples), before))
    assert all(parameter.requires_grad for name, parameter in learner.vlm.model.named_parameters() if ".lora_" in name)


def test_a_reference_that_moves_is_not_the_sft_policy(rolled, tmp_path: Path):
    rolled[0].save(tmp_path)
    learner = shifted_learner(tmp_path, rl__objective={"name": "m_grpo", "kl": 0.1, "anchor_decay": 0.5})
    drawn = drawn_turns(rolled[1], 0)
    before = kl_by_family(learner, drawn, tmp_path)
    learner._move_reference()
    assert kl_by_family(learner, drawn, tmp_path) == before


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_loaded_policy_with_the_frozen_tower_uses_the_cached_images(rolled, tmp_path: Path, dtype):
    replace(rolled[0], compute_dtype=getattr(torch, dtype)).save(tmp_path)  # SFT saves what RL computes with
    learner = shifted_learner(tmp_path, model__dtype=dtype)
    drawn = drawn_turns(rolled[1], 0)
    other = other_model(learner, tmp_path)
    assert other.vlm is not learner.vlm
    assert other.encoder is learner.encoder
    assert learner.encoder.vision.is_of(other.vlm) == (dtype == "float32"), "one tower in memory, if it is of one dtype"
    kl_by_family(learner, drawn, tmp_path)
    images = {image.sha256 for trajectory, turn in drawn for image in [turn.observation.screenshot]}
    counts = learner.encoder.vision.take_counts()
    assert (counts.prepared, counts.encoded) == (len(images), len(images))
    kl_by_family(learner, drawn, tmp_path)
    counts = learner.encoder.vision.take_counts()
    assert (counts.prepared, counts.encoded) == (0, 0)


def test_a_trained_tower_has_images_of_its_own(rolled, tmp_path: Path):
    rolled[0].save(tmp_path)
    learner = shifted_learner(tmp_path, model__train_vision=True)
    assert other_model(learner, tmp_path).encoder is not learner.encoder


@pytest.mark.slow
def test_two_processes_hold_shards_of_the_sft_policy_and_find_the_same_kl(tmp_path: Path):
    """`workers_child.compare` itself asserts how much a process holds, and that adapters learn afterwards."""
    assert launched(tmp_path, "kl") == {"full": "same", "lora": "same"}


@pytest.mark.parametrize("phase", ["short", "long"])
@pytest.mark.parametrize("lora", [None, {"rank": 4, "alpha": 8}], ids=["weights", "adapters"])
@pytest.mark.parametrize("objective", [{}, {"kl": 0.1}, {"kl": 0.1, "reference": "sft"}, ANCHORED])
def test_the_plan_counts_an_sft_policy_where_one_is_loaded(rolled, tmp_path: Path, phase, lora, objective):
    for name in ("sft", "rl-short"):
        rolled[0].save(tmp_path / name)
    steps = {name: {"iterations": int(name == phase), "max_steps": 2} for name in ("short", "long")}
    params = recipe(
        **{f"rl__{name}": value for name, value in steps.items()},
        rl__validation={"every": 1, "tasks": 1},
        rl__objective={"name": "mm_grpo", **objective},
        model__lora=lora,
    )
    begun = tmp_path / {"short": "sft", "long": "rl-short"}[phase]
    reference = tmp_path / "sft" if params.rl.objective.refers_to_sft and phase == "long" else None
    learner = Learner.load_model(SINGLE_PROCESS, begun, params, phase, reference=reference)
    held = learner.vlm, learner.reference
    assert sft_policy.is_loaded(params) == (other_model(learner, tmp_path / "sft").vlm not in held)
