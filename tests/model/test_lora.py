"""Low-rank adapters on a real small model: what they train, what is published, what a checkpoint and a copy hold."""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import pytest
import torch
from peft import PeftModel
from safetensors.torch import load_file

from components.model import VLM, Encoder, Sample
from components.params import LoRAParams, ModelParams, OptimParams, parse
from components.training.forward import PackingWarning, naive_logprobs, response_logprobs
from components.training.learner import Learner
from components.training.objectives import UpdateStats, WeightedSample, objective_of
from components.training.supervised import train
from tests.samples import objective, raw_recipe
from tests.training.test_packing import gradients, several_images
from tests.training.updates import RL, group_of, roll, update
from tests.vlm import CONFIG, TASK, observation, random_vlm, renderer

LORA = LoRAParams(rank=4, alpha=8)
STATE = {"iteration": 1}


def adapted(dropout: float = 0.0) -> VLM:
    """A model with adapters that have learned something: B is no longer 0."""
    vlm = random_vlm()
    vlm.add_lora(LORA.model_copy(update={"dropout": dropout}), seed=1)
    with torch.no_grad():
        for parameter in vlm.trainable():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(2)))
    return vlm


def state(vlm: VLM) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in vlm.model.state_dict().items()}


def changed(before: dict[str, torch.Tensor], vlm: VLM) -> set[str]:
    return {name for name, tensor in vlm.model.state_dict().items() if not torch.equal(tensor, before[name])}


def adapters(vlm: VLM) -> set[str]:
    return {name for name in vlm.model.state_dict() if ".lora_" in name}


@torch.no_grad()
def logprobs(vlm: VLM) -> torch.Tensor:
    encoder = Encoder(vlm)
    return torch.cat(response_logprobs(vlm, encoder, several_images(encoder)))


def imitate(vlm: VLM, max_gap: float = 1e-4) -> list[float]:
    """Two steps of SFT; their losses."""
    encoder, losses = Encoder(vlm), []
    prompts = [encoder.encode(renderer().prompt(TASK, [], observation(i))) for i in range(2)]
    data = [[WeightedSample(Sample(prompt, [300 + i, 400 + i, encoder.end_id]))] for i, prompt in enumerate(prompts)]
    params = OptimParams(epochs=2, lr=1e-2, batch_size=2, max_packing_gap=max_gap)
    train(vlm, encoder, data, params, seed=1, report=lambda step, steps, loss: losses.append(loss))
    return losses


def reinforce(vlm: VLM, max_gap: float = 1e-4) -> UpdateStats:
    """A rollout with the model as it is, and an update of RL on it."""
    encoder = Encoder(vlm)
    group = group_of(roll(vlm, encoder, 4, [1, 2]), [1, 0, 0, 1])
    gaps = objective(max_logprob_gap=max_gap, max_mean_logprob_gap=max_gap)
    params = RL.model_copy(update={"objective": gaps, "max_packing_gap": max_gap})
    optimizer = torch.optim.AdamW(vlm.trainable(), lr=1e-3)
    return update(vlm, [group], params, optimizer)


def test_adapters_are_on_the_linear_layers_of_the_language_model_alone():
    vlm = random_vlm()
    vlm.add_lora(LORA, seed=1)
    trained = {name for name, parameter in vlm.model.named_parameters() if parameter.requires_grad}
    attention = [f"self_attn.{name}_proj" for name in "qkvo"]
    mlp = [f"mlp.{name}_proj" for name in ("gate", "up", "down")]
    assert trained == {
        f"model.language_model.layers.{layer}.{linear}.lora_{matrix}.default.weight"
        for layer in range(CONFIG.layers)
        for linear in attention + mlp
        for matrix in "AB"
    }


def test_a_model_with_new_adapters_computes_what_it_did():
    vlm = random_vlm()
    before = logprobs(vlm)
    vlm.add_lora(LORA, seed=1)
    assert torch.equal(logprobs(vlm), before)


def test_initial_adapter_weights_depend_on_the_seed_alone():
    first, same, other = random_vlm(), random_vlm(), random_vlm()
    first.add_lora(LORA, seed=1)
    torch.rand(3)
    drawn = torch.random.get_rng_state()
    same.add_lora(LORA, seed=1)
    other.add_lora(LORA, seed=2)
    assert torch.equal(torch.random.get_rng_state(), drawn)
    assert not changed(state(first), same)
    assert changed(state(first), other) == {name for name in adapters(first) if ".lora_A." in name}


@pytest.mark.parametrize("learn", [imitate, reinforce])
def test_training_changes_every_adapter_and_no_other_bit(learn):
    vlm = random_vlm()
    vlm.add_lora(LORA, seed=1)
    before = state(vlm)
    learn(vlm)
    assert changed(before, vlm) == adapters(vlm)


def test_packed_turns_give_adapters_the_log_probabilities_of_single_turns():
    vlm = adapted()
    encoder = Encoder(vlm)
    samples = several_images(encoder)
    naive, _, expected = gradients(vlm, encoder, naive_logprobs, samples)
    packed, _, found = gradients(vlm, encoder, response_logprobs, samples)
    for ours, theirs in zip(packed, naive, strict=True):
        assert (ours - theirs).abs().max() <= 1e-5 * theirs.abs().max()
    assert found.keys() == expected.keys() == adapters(vlm)
    scale = max(gradient.norm() for gradient in expected.values())
    for name, gradient in expected.items():
        assert (found[name] - gradient).norm() <= 1e-5 * max(gradient.norm(), 1e-3 * scale), name


def test_gradient_checkpointing_does_not_change_gradients_of_adapters():
    vlm = adapted()
    encoder = Encoder(vlm)
    *_, expected = gradients(vlm, encoder, response_logprobs, several_images(encoder))
    vlm.model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    vlm.model.train()
    *_, found = gradients(vlm, encoder, response_logprobs, several_images(encoder))
    assert found.keys() == expected.keys()
    for name, gradient in expected.items():
        torch.testing.assert_close(found[name], gradient, atol=1e-6, rtol=1e-4)


def test_rollouts_use_the_adapters_and_no_dropout():
    vlm = adapted(dropout=0.5)
    vlm.model.train()
    assert reinforce(vlm).logprob_gap_max < 1e-4


def test_dropout_does_not_make_packing_look_wrong():
    with warnings.catch_warnings():
        warnings.simplefilter("error", PackingWarning)
        imitate(adapted(dropout=0.5))


def test_the_published_model_is_a_plain_one_that_computes_the_same(tmp_path: Path):
    vlm = adapted()
    before, expected = state(vlm), logprobs(vlm)
    vlm.publish(tmp_path / "model")
    assert not changed(before, vlm)
    loaded = VLM.load(tmp_path / "model", ModelParams(base="", judge_base=""))
    assert loaded.model.state_dict().keys() == random_vlm().model.state_dict().keys()
    assert (logprobs(loaded) - expected).abs().max() < 1e-5
    assert (logprobs(random_vlm()) - expected).abs().max() > 1e-2


def test_the_adapter_is_what_peft_reads_and_writes(tmp_path: Path):
    vlm = adapted()
    vlm.publish(tmp_path / "model")
    plain = random_vlm()
    theirs = PeftModel.from_pretrained(plain.model, tmp_path / "model/adapter")
    assert (logprobs(VLM(theirs.get_base_model(), vlm.tokenizer, vlm.images)) - logprobs(vlm)).abs().max() < 1e-5
    theirs.save_pretrained(tmp_path / "theirs")
    ours, expected = [load_file(tmp_path / at / "adapter_model.safetensors") for at in ("model/adapter", "theirs")]
    assert ours.keys() == expected.keys()
    assert all(torch.equal(ours[name], expected[name]) for name in ours)


def test_a_bfloat16_model_trains_float32_adapters(tmp_path: Path):
    random_vlm().save(tmp_path / "base")
    vlm = VLM.load(tmp_path / "base", ModelParams(base="", judge_base="", dtype="bfloat16"))
    vlm.add_lora(LORA, seed=1)
    assert {parameter.dtype for parameter in vlm.trainable()} == {torch.float32}
    before = state(vlm)
    assert all(math.isfinite(loss) for loss in imitate(vlm, max_gap=0.5))
    assert changed(before, vlm) == adapters(vlm)
    before = state(vlm)
    stats = reinforce(vlm, max_gap=0.5)
    assert math.isfinite(stats.loss)
    assert math.isfinite(stats.grad_norm)
    assert changed(before, vlm) == adapters(vlm)
    vlm.publish(tmp_path / "model")
    loaded = VLM.load(tmp_path / "model", ModelParams(base="", judge_base="", dtype="bfloat16"))
    assert {tensor.dtype for tensor in load_file(tmp_path / "model/model.safetensors").values()} == {torch.bfloat16}
    assert (logprobs(loaded) - logprobs(vlm)).abs().max() < 0.3


def learner(vlm: VLM) -> Learner:
    """A learner of what is trainable already."""
    params = parse(raw_recipe())
    optimizer = torch.optim.AdamW(vlm.trainable(), lr=1e-3)
    return Learner(vlm, Encoder(vlm), params, optimizer, objective_of(params))


def test_a_checkpoint_holds_adapters_only_and_gives_them_back(tmp_path: Path):
    vlm = adapted()
    learner(vlm).save(tmp_path / "checkpoint.pt", STATE)
    held = torch.load(tmp_path / "checkpoint.pt", weights_only=True)["model"]
    assert held.keys() == adapters(vlm)
    whole = sum(parameter.nbytes for parameter in vlm.model.parameters())
    assert (tmp_path / "checkpoint.pt").stat().st_size < whole / 4
    again = random_vlm()
    again.add_lora(LORA, seed=1)
    assert learner(again).load(tmp_path / "checkpoint.pt") == STATE
    assert not changed(state(vlm), again)


def test_a_checkpoint_of_full_fine_tuning_leaves_out_the_frozen_tower(tmp_path: Path):
    vlm, again = random_vlm(), random_vlm()
    for each in (vlm, again):
        each.freeze_vision()
    imitate(vlm)
    learner(vlm).save(tmp_path / "checkpoint.pt", STATE)
    held = torch.load(tmp_path / "checkpoint.pt", weights_only=True)["model"]
    assert held.keys() == {name for name in vlm.model.state_dict() if ".visual." not in name}
    learner(again).load(tmp_path / "checkpoint.pt")
    assert not changed(state(vlm), again)


def test_a_checkpoint_without_what_is_trained_is_refused(tmp_path: Path):
    vlm, plain = adapted(), random_vlm()
    learner(vlm).save(tmp_path / "checkpoint.pt", STATE)
    with pytest.raises(RuntimeError, match=r"does not contain .* delete the file"):
        learner(plain).load(tmp_path / "checkpoint.pt")


@pytest.mark.parametrize("with_lora", [True, False])
def test_a_frozen_copy_shares_frozen_weights_and_never_changes(with_lora):
    vlm = random_vlm()
    if with_lora:
        vlm.add_lora(LORA, seed=1)
    vlm.freeze_vision()
    reference = vlm.frozen_copy()
    copies = dict(reference.model.named_parameters())
    for name, parameter in vlm.model.named_parameters():
        assert (copies[name].data_ptr() == parameter.data_ptr()) != parameter.requires_grad, name
    assert not reference.trainable()
    before = logprobs(reference)
    imitate(vlm)
    assert not torch.equal(logprobs(vlm), before)
    assert torch.equal(logprobs(reference), before)
