"""Memory of the KL to the SFT policy: a row by hand where RL loads that policy, and none where it has it already."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import get_args

import pytest
import torch
from transformers import Qwen3VLConfig, Qwen3VLForConditionalGeneration

from components.architecture import Architecture
from components.model.attention import SEGMENTED, Segment, Segments
from components.model.lora import add_adapter
from components.model.norms import use_fused_norms
from components.params import LoRAParams
from components.plan import PlanOptions, plan
from components.plan.fit import recipe_with
from components.plan.memory import Precision, forward_bytes
from components.plan.planner import plan_host
from components.plan.sft_policy import CACHES, STAGE, TURNS
from components.training import divergence
from tests.plan.sharding_child import peak_of
from tests.plan.test_activations import shape

LARGE, ADAPTED = Path("recipes/openwebrl-4b.yaml"), Path("recipes/one-gpu.yaml")
TRAINED, TOWER = 4_022_468_096, 415_347_712
TO_START, TO_SFT = ({"name": "mm_grpo", "kl": 0.1, "reference": name} for name in ("phase", "sft"))
MOVING = {"name": "mm_grpo", "kl": 0.1, "anchor_decay": 0.9}


def row(recipe: Path, settings: dict[str, object], device: str | None = None) -> dict[str, float]:
    """The parts of the KL's row; empty without such a row."""
    memory = plan(recipe, PlanOptions(settings, device)).memory
    return {part.name: part.bytes for item in memory if item.stage == STAGE for part in item.parts}


def test_the_sft_policy_is_sharded_with_its_root_and_its_tower_whole():
    sizes, root = row(LARGE, {}), 151_936 * 2560 + 2560
    assert sizes["weights"] == 4 * TRAINED / 4
    assert sizes["optimiser"] == 8 * TRAINED / 4
    assert sizes["SFT policy"] == 2 * TRAINED / 4
    assert sizes["SFT policy's vision tower"] == 2 * TOWER, "the policy's own one is in float32"
    assert sizes["SFT policy's root"] == 2 * root
    assert sizes["root, gathered"] == 4 * root
    assert "gradients" not in sizes
    # 6 copies of 2^26 numbers of 4 bytes, and what autocast keeps of all matrices
    assert sizes["logits and rounded weights"] > 6 * 2**26 * 4 + 2 * TRAINED * 0.99


def test_adapters_need_no_second_policy_until_they_are_merged():
    assert row(ADAPTED, {}) == {}, "its long phase has no iterations"
    settings = {"rl.long.iterations": 5, "model.base": "Qwen/Qwen3-VL-4B-Instruct"}
    sizes = row(ADAPTED, settings)
    assert sizes["SFT policy"] == 2 * TRAINED
    assert "SFT policy's vision tower" not in sizes, "it uses that of the policy"


@pytest.mark.parametrize(
    ("settings", "is_loaded"),
    [
        ({}, True),
        ({"rl.validation": {"every": 0}}, False),
        ({"rl.objective": TO_START}, True),
        ({"rl.objective": TO_START, "rl.long.iterations": 0}, False),
        ({"rl.objective": TO_SFT}, False),
        ({"rl.objective": MOVING, "rl.long.iterations": 0}, True),
        ({"rl.short.iterations": 0, "rl.long.iterations": 0}, False),
    ],
)
def test_the_sft_policy_is_loaded_unless_the_trainer_has_it(settings, is_loaded):
    assert bool(row(LARGE, settings)) == is_loaded


def test_what_the_kl_needs_is_refused_and_left_free_beside_a_server():
    large = {"rl.long.iterations": 5, "model.base": "Qwen/Qwen3-VL-4B-Instruct"}
    assert any(STAGE in reason for reason in plan(ADAPTED, PlanOptions(large, "L4")).reasons)
    greedy = {"rl.long.iterations": 5, "inference.vllm.engine": {"gpu_memory_utilization": 0.9}}
    key = "inference.vllm.engine.gpu_memory_utilization"
    remedy = plan(ADAPTED, PlanOptions(greedy | {"rl.max_staleness": 1}, "L4")).remedy
    assert remedy is not None
    assert remedy.keys() == {key}, "a smaller share alone suffices"


def test_a_trained_tower_has_image_caches_for_both_models():
    seeing = {"model.train_vision": True, "observation.text": "none"}
    sizes = row(Path("recipes/demo.yaml"), seeing)
    assert 0 < sizes[CACHES] <= sizes["image caches"]
    assert CACHES not in row(Path("recipes/demo.yaml"), {})
    # 64 screenshots: 80 x 44 patches of 1536 values; a quarter as many tokens have 2560 values, four times
    params = recipe_with(LARGE, {"model.train_vision": True})
    [stage] = [stage for stage in plan_host(params, PlanOptions(is_here=False)).memory if stage.stage == "train_rl"]
    each = 2 * (80 * 44 * 1536 + 4 * 20 * 44 * 2560)
    assert {need.name: need.bytes for need in stage.needs}[CACHES] == 4 * 64 * each


def test_the_turns_of_the_kl_are_the_trainers():
    assert divergence.TURNS == TURNS


@pytest.mark.parametrize("precision", get_args(Precision))
@pytest.mark.parametrize("sizes", [(192, 4, 2, 48, 384), (256, 4, 1, 96, 1024), (320, 8, 4, 48, 576)])
def test_a_pass_without_gradients_holds_what_the_plan_counts(sizes, precision):
    tokens, layers = 1024, 3
    model = Qwen3VLForConditionalGeneration(Qwen3VLConfig(**shape(layers, sizes)))
    model.set_attn_implementation({"text_config": SEGMENTED})
    use_fused_norms(model)
    if precision == "bfloat16":
        model.to(torch.bfloat16).requires_grad_(False)
        add_adapter(model, LoRAParams(rank=2, alpha=2.0), seed=0)
    model.eval()

    def compute() -> object:
        context = torch.autocast("cpu", torch.bfloat16) if precision == "mixed" else contextlib.nullcontext()
        with context, torch.no_grad():
            return model.model(
                input_ids=torch.arange(tokens)[None] % 1000,
                position_ids=torch.arange(tokens)[None, None].expand(3, 1, -1),
                segments=Segments([Segment(0, tokens)]),
                use_cache=False,
            )

    compute()  # what is made once
    text = Architecture.model_validate({**shape(layers, sizes), "name": "measured"}).text_config
    rounded = 2 * layers * text.layer_matrices if precision == "mixed" else 0
    per_token = (peak_of(compute)[0] - rounded) / tokens
    assert 0.85 * forward_bytes(text, precision) < per_token < 1.02 * forward_bytes(text, precision)
