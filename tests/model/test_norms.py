"""The fused norm against transformers' module."""

from __future__ import annotations

import copy

import pytest
import torch
from transformers.models.qwen3_vl.modeling_qwen3_vl import Qwen3VLTextRMSNorm

from components.model.norms import _normalized


def norm_and_states(dtype: torch.dtype) -> tuple[Qwen3VLTextRMSNorm, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    norm = Qwen3VLTextRMSNorm(96)
    norm.weight.data.uniform_(0.5, 2.0, generator=generator)
    states = torch.randn(64, 96, generator=generator) * 10
    return norm, states.to(dtype).requires_grad_()


def test_in_float32_it_is_transformers_own():
    norm, states = norm_and_states(torch.float32)
    assert torch.equal(_normalized(norm, states), norm(states))


@pytest.mark.parametrize("weights", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("states_dtype", [torch.bfloat16, torch.float32])
def test_in_bfloat16_values_and_gradients_differ_by_rounding(weights, states_dtype):
    norm, states = norm_and_states(states_dtype)
    norm.to(weights)
    exact_norm, exact_states = copy.deepcopy(norm).double(), states.detach().double().requires_grad_()
    is_mixed = torch.float32 in (weights, states_dtype)
    with torch.autocast("cpu", torch.bfloat16, enabled=is_mixed):
        fused = _normalized(norm, states)
    exact_norm.forward = lambda x: exact_norm.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
    exact = exact_norm(exact_states)
    assert fused.dtype == torch.bfloat16
    torch.testing.assert_close(fused.double(), exact, rtol=0.01, atol=0.01)
    fused.double().square().sum().backward()
    exact.square().sum().backward()
    torch.testing.assert_close(norm.weight.grad.double(), exact_norm.weight.grad, rtol=0.01, atol=0.5)
    torch.testing.assert_close(states.grad.double(), exact_states.grad, rtol=0.02, atol=0.05)


@pytest.mark.parametrize("weights", [torch.bfloat16, torch.float32])
def test_mixed_precision_rounds_once_for_all_products(weights):
    norm, states = norm_and_states(torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        assert _normalized(norm.to(weights), states).dtype == torch.bfloat16
