"""What vLLM would refuse is known before a server starts."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from components.architecture import architecture_of
from components.judge.served import judge_settings
from components.params import Params, RecipeError
from components.plan import PlanOptions, plan
from components.plan.fit import recipe_with
from components.policies.serving import server_settings
from components.serving_limits import all_refusals, served_distilled_judge, served_policy

ONE_GPU = Path("one-gpu")
BASE = json.loads(Path("data/base_model/config.json").read_text())


def one_gpu(**settings: Any) -> Params:
    """The recipe `one-gpu` with other values of keys."""
    return recipe_with(ONE_GPU, {key.replace("__", "."): value for key, value in settings.items()})


def a_model(folder: Path, text: dict[str, Any], vision: dict[str, Any] | None = None) -> str:
    """The folder of a model: the shipped one, of 4 attention heads and 2 key-value heads, with other values."""
    changed = {"text_config": BASE["text_config"] | text, "vision_config": BASE["vision_config"] | (vision or {})}
    (folder / "config.json").write_text(json.dumps(BASE | changed))
    return str(folder)


@pytest.mark.parametrize("gpus", [1, 2, 4])  # on four, each of the two key-value heads is on two
def test_a_division_that_vllm_takes_is_not_refused(tmp_path, gpus):
    model = a_model(tmp_path, {"vocab_size": 2501})  # padded to 2,560 = 40 × 64
    assert all_refusals(one_gpu(model__base=model, inference__vllm__gpus_per_server=gpus)) == []


@pytest.mark.parametrize(
    ("text", "gpus", "part", "sizes"),
    [
        ({}, 3, "the 4 attention heads", "1, 2 or 4"),
        ({}, 8, "the 4 attention heads", "1, 2 or 4"),
        ({"num_attention_heads": 12, "num_key_value_heads": 4}, 6, "the 4 key-value heads", "1, 2 or 4"),
        ({"intermediate_size": 386}, 4, "the 386 inner channels", "1 or 2"),
        (
            {"num_attention_heads": 6, "num_key_value_heads": 6},
            3,  # divides the heads
            "the 2,560 words of the padded vocabulary",
            "1 or 2",
        ),
    ],
)
def test_a_division_that_vllm_refuses_is_named_with_the_fix(tmp_path, text, gpus, part, sizes):
    model = a_model(tmp_path, text)
    [line] = all_refusals(one_gpu(model__base=model, inference__vllm__gpus_per_server=gpus))
    assert line == (
        f"inference.vllm.gpus_per_server = {gpus}: vLLM cannot divide {part} of {model} among {gpus} GPUs: set it to "
        f"{sizes}"
    )


@pytest.mark.parametrize(
    ("vision", "engine", "is_refused"),
    [({}, {}, True), ({"num_heads": 8}, {}, False), ({}, {"mm_encoder_tp_mode": "data"}, False)],
)
def test_the_vision_tower_is_divided_unless_each_gpu_has_it_whole(tmp_path, vision, engine, is_refused):
    model = a_model(tmp_path, {"num_attention_heads": 8}, vision)
    lines = all_refusals(one_gpu(model__base=model, inference__vllm__gpus_per_server=8, inference__vllm__engine=engine))
    assert ["the 4 attention heads of the vision tower" in line for line in lines] == [True] * is_refused


def test_servers_on_a_cpu_are_not_divided():
    changes = {"inference.engine": "vllm", "inference.vllm.gpus_per_server": 3}
    assert all_refusals(recipe_with(Path("demo"), changes)) == []


@pytest.mark.parametrize(
    ("rope", "positions"),
    [
        ({}, 8192),
        ({"rope_parameters": {"rope_type": "yarn", "factor": 4.0}}, 8192),  # the configuration has the scaled number
        ({"rope_parameters": {"rope_type": "linear", "factor": 4.0}}, 32_768),
        ({"rope_parameters": ..., "rope_scaling": {"type": "dynamic", "factor": 2.0}}, 16_384),
        ({"rope_parameters": ..., "rope_scaling": None}, 8192),
        ({"max_position_embeddings": ...}, None),
    ],
)
def test_positions_are_counted_as_vllm_counts_them(tmp_path, rope, positions):
    config = BASE["text_config"] | rope
    left = {key: value for key, value in config.items() if value is not ...}
    (tmp_path / "config.json").write_text(json.dumps(BASE | {"text_config": left}))
    assert architecture_of(str(tmp_path)).text_config.positions == positions


def test_a_context_beyond_the_models_positions_is_refused(monkeypatch):
    assert all_refusals(one_gpu(agent__max_context_tokens=262_144)) == []
    params = one_gpu(agent__max_context_tokens=262_145)
    [line] = all_refusals(params)
    assert line == (
        "agent.max_context_tokens = 262145: Qwen/Qwen3-VL-2B-Instruct has 262,144 positions, and vLLM does not start "
        "with more: set agent.max_context_tokens to 262144 or less"
    )
    monkeypatch.setenv("VLLM_ALLOW_LONG_MAX_MODEL_LEN", "1")
    assert all_refusals(params) == []


def test_the_judges_servers_need_room_for_the_answer_too():
    # 261,633 + 512 = 262,145
    vllm = {"first_gpu": 1}
    params = one_gpu(judge__distill__vllm=vllm, judge__reward="distilled", agent__max_context_tokens=261_633)
    [line] = all_refusals(params)
    assert line.startswith("agent.max_context_tokens + judge.distill.max_response_tokens = 262145: ")
    assert line.endswith("set agent.max_context_tokens to 261632 or less")


def test_the_checked_lengths_are_those_that_servers_get():
    params = one_gpu(judge__distill__vllm={"first_gpu": 1}, judge__reward="distilled")
    judge = params.judge.distill.vllm
    assert judge is not None
    assert served_policy(params).tokens == server_settings(params).max_tokens
    assert served_distilled_judge(params, judge).tokens == judge_settings(params, judge).max_tokens


@pytest.mark.parametrize("settings", [{"inference.engine": "transformers"}, {"inference.vllm.urls": ["http://a:1"]}])
def test_only_servers_that_a_stage_starts_are_checked(settings):
    assert all_refusals(recipe_with(ONE_GPU, {**settings, "agent.max_context_tokens": 300_000})) == []


def test_a_model_whose_shape_is_not_here_is_not_judged():
    assert all_refusals(one_gpu(model__base="Someone/Else-7B", inference__vllm__gpus_per_server=3)) == []


def test_a_plan_of_what_vllm_refuses_is_an_error():
    with pytest.raises(RecipeError, match=r"vLLM cannot divide the 16 attention heads .* set it to 1, 2, 4, 8 or 16"):
        plan(ONE_GPU, PlanOptions({"inference.vllm.gpus_per_server": 3}))


def test_a_model_in_the_cache_of_the_hub_has_a_shape(tmp_path, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    folder = tmp_path / "models--someone--fine-tuned"
    (folder / "snapshots/abc").mkdir(parents=True)
    (folder / "refs").mkdir()
    (folder / "refs/main").write_text("abc")
    a_model(folder / "snapshots/abc", {"max_position_embeddings": 4096})
    shape = architecture_of("someone/fine-tuned")
    assert (shape.name, shape.text_config.max_position_embeddings) == ("someone/fine-tuned", 4096)
    with pytest.raises(RecipeError, match=re.escape("`hf download someone/other config.json")):
        architecture_of("someone/other")
