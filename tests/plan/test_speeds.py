"""Seconds of a model's work, with numbers worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.architecture import architecture_of
from components.plan.fit import recipe_with
from components.plan.hardware import Device
from components.plan.rates import default_rates
from components.plan.speeds import Speeds

FOUR_B = architecture_of("Qwen/Qwen3-VL-4B-Thinking")
N = 36 * (2560 * (2 * 4096 + 2 * 1024) + 3 * 2560 * 9728) + 151_936 * 2560
"""Parameters of the matrices of its language model: attention, inner layers, output layer."""
DEVICE = Device("test", 80e9, 1e15, 1e12)


def speeds(devices: float = 1.0, **settings) -> Speeds:
    params = recipe_with(Path("openwebrl-4b"), {key.replace("__", "."): value for key, value in settings.items()})
    rates = default_rates(params, DEVICE).model_copy(update={"token_s": 0.0, "row_s": 0.0})
    return Speeds(FOUR_B, params.model, DEVICE, rates, devices)


def test_reading_a_prompt_takes_two_operations_per_parameter_and_token():
    # attention: each of 1,000 tokens attends to 500 on average, 4 operations per channel, layer and pair
    work = 1000 * (2 * N + 36 * 4 * 4096 * 500)
    assert speeds().prefill_s(1000) == pytest.approx(work / (1e15 * 0.4))


def test_a_decoding_step_reads_the_weights_and_the_cache():
    # bfloat16; 144 KiB of keys and values per token
    reading = 2 * N + 8 * 5000 * 144 * 1024
    assert speeds().token_s(8, 5000) == pytest.approx(reading / (1e12 * 0.5))


def test_two_devices_halve_the_time():
    assert speeds(2.0).prefill_s(1000) == pytest.approx(speeds().prefill_s(1000) / 2)
    assert speeds(2.0).token_s(8, 5000) == pytest.approx(speeds().token_s(8, 5000) / 2)


def test_training_is_three_forward_passes_and_checkpointing_one_more():
    forward = 1000 * (2 * N + 2 * 36 * 4096 * 4000)
    assert speeds(model__gradient_checkpointing=False).training_flops(1000, 4000) == pytest.approx(3 * forward)
    assert speeds(model__gradient_checkpointing=True).training_flops(1000, 4000) == pytest.approx(4 * forward)


def test_adapters_spare_the_gradients_of_the_weights():
    rank = {"rank": 16, "alpha": 32}
    adapters = FOUR_B.adapter_parameters(16)
    forward = 1000 * (2 * N + 2 * 36 * 4096 * 4000)
    small = speeds(model__gradient_checkpointing=False, model__lora=rank)
    assert small.training_flops(1000, 4000) == pytest.approx(2 * forward + 6 * adapters * 1000)
    assert small.trained_parameters == adapters


def test_passes_and_the_share_of_the_peak_scale_the_time():
    flops = speeds().training_flops(1e6, 4000)
    assert speeds(4.0).training_s("train_sft", 1e6, 4000, passes=3) == pytest.approx(3 * flops / (4e15 * 0.3))
