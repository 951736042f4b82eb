"""Full fine-tuning in bfloat16: weights in float32, products in bfloat16, published in bfloat16."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoConfig

from components.model import VLM, Encoder
from components.params import LoRAParams, ModelParams, SamplingParams
from components.training.forward import naive_logprobs, response_logprobs
from tests.samples import objective
from tests.training.test_packing import several_images
from tests.training.updates import RL, group_of, roll, update
from tests.vlm import random_vlm

BF16 = ModelParams(base="", judge_base="", dtype="bfloat16")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    random_vlm().save(tmp_path / "base")
    return tmp_path / "base"


def test_only_what_is_trained_whole_is_kept_in_float32(path):
    def dtypes(vlm: VLM) -> set[torch.dtype]:
        return {parameter.dtype for parameter in vlm.model.parameters()}

    assert dtypes(VLM.load(path, BF16, train=True)) == {torch.float32}
    assert dtypes(VLM.load(path, BF16)) == {torch.bfloat16}
    adapted = BF16.model_copy(update={"lora": LoRAParams(rank=4, alpha=8)})
    assert dtypes(VLM.load(path, adapted, train=True)) == {torch.bfloat16}
    whole = VLM.load(path, ModelParams(base="", judge_base=""), train=True)
    assert (dtypes(whole), whole.compute_dtype) == ({torch.float32}, None)


def test_products_are_rounded_in_rollout_and_training_alike(path):
    mixed, exact = VLM.load(path, BF16, train=True), random_vlm()
    samples = several_images(Encoder(mixed))
    for logprobs in (response_logprobs, naive_logprobs):
        rounded, right = (
            torch.cat(logprobs(vlm, Encoder(vlm), samples, SamplingParams(temperature=0.8))) for vlm in (mixed, exact)
        )
        assert 0 < (rounded - right).abs().max() < 0.1
        assert rounded.dtype == torch.float32


def test_a_step_too_small_for_bfloat16_moves_weights_published_in_bfloat16(path, tmp_path):
    vlm = VLM.load(path, BF16, train=True)
    vlm.freeze_vision()
    before = {name: parameter.clone() for name, parameter in vlm.model.named_parameters()}
    encoder = Encoder(vlm)
    group = group_of(roll(vlm, encoder, 4, [1, 2]), [1, 0, 0, 1])
    params = RL.model_copy(update={"objective": objective(max_logprob_gap=0.1)})
    optimizer = torch.optim.AdamW(vlm.trainable(), lr=1e-6, weight_decay=0.0)
    stats = update(vlm, [group], params, optimizer)
    assert 0 < stats.logprob_gap_max < 0.1
    moved = {n: p for n, p in vlm.model.named_parameters() if p.requires_grad and not torch.equal(p, before[n])}
    assert len(moved) == len(vlm.trainable())
    norm = "model.language_model.norm.weight"
    assert torch.equal(moved[norm].bfloat16(), before[norm].bfloat16()), "in bfloat16 nothing would have happened"
    vlm.publish(tmp_path / "model")
    published = load_file(tmp_path / "model/model.safetensors")
    assert {tensor.dtype for tensor in published.values()} == {torch.bfloat16}
    assert "lm_head.weight" not in published, "it is the embedding"
    config = AutoConfig.from_pretrained(tmp_path / "model")
    assert {config.dtype, config.text_config.dtype, config.vision_config.dtype} == {torch.bfloat16}
    assert {parameter.dtype for parameter in vlm.model.parameters()} == {torch.float32}
    again = VLM.load(tmp_path / "model", BF16, train=True)
    for name, parameter in again.model.named_parameters():
        assert torch.equal(parameter, dict(vlm.model.named_parameters())[name].bfloat16().float())


def test_a_frozen_copy_computes_the_same(path):
    vlm = VLM.load(path, BF16, train=True)
    samples = several_images(Encoder(vlm))
    copied = vlm.frozen_copy()
    one, other = (torch.cat(response_logprobs(each, Encoder(each), samples)) for each in (vlm, copied))
    assert torch.equal(one, other)
