"""What a recipe may say of the vLLM servers: engine arguments, and adapters that they can serve."""

from __future__ import annotations

import re

import pytest
from pydantic import ValidationError

from components.params import Params, RecipeError, VLLMParams
from tests.samples import recipe, shipped


@pytest.mark.parametrize(
    ("argument", "fix"),
    [
        ({"tensor_parallel_size": 2}, "set inference.vllm.gpus_per_server instead"),
        ({"max_model_len": 100}, "set agent.max_context_tokens instead"),
        ({"logprobs_mode": "raw_logprobs"}, "leave it out"),
    ],
)
def test_an_engine_argument_that_waymark_sets_is_refused(argument, fix):
    with pytest.raises(RecipeError, match=f"is set by Waymark: {fix}"):
        recipe(inference={"vllm": {"engine": argument}})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"engine": {"gpu_memory_utilization": 5}}, "gpu_memory_utilization = 5 is a share of each GPU's memory"),
        ({"engine": {"gpu_memory_utilization": True}}, "between 0 and 1"),
    ],
)
def test_a_share_of_memory_that_is_none_is_refused(changes, message):
    with pytest.raises(ValidationError, match=re.escape(message)):
        VLLMParams.model_validate(changes)


def test_adapters_of_a_rank_that_vllm_does_not_serve_are_refused():
    raw = shipped("one-gpu")
    raw["model"]["lora"]["rank"] = 700
    with pytest.raises(ValidationError, match=r"model.lora.rank = 700: vLLM serves adapters up to rank 512"):
        Params.model_validate(raw)
