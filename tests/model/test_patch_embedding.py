"""The vision tower's first layer as one product."""

from __future__ import annotations

import copy

import torch
from transformers.models.qwen3_vl.configuration_qwen3_vl import Qwen3VLVisionConfig
from transformers.models.qwen3_vl.modeling_qwen3_vl import Qwen3VLVisionPatchEmbed

from components.model.patch_embedding import use_matrix_product


def test_a_product_is_the_convolution_in_value_and_gradient() -> None:
    torch.manual_seed(0)
    config = Qwen3VLVisionConfig(hidden_size=24, patch_size=4)
    layer = Qwen3VLVisionPatchEmbed(config).double()
    product = copy.deepcopy(layer)
    use_matrix_product(product)
    one, other = (torch.randn(7, 3 * 2 * 4 * 4, dtype=torch.float64, requires_grad=True) for _ in range(2))
    other.data.copy_(one.data)
    seen, expected = product(one), layer(other)
    torch.testing.assert_close(seen, expected, atol=1e-12, rtol=0)
    seen.sin().sum().backward()
    expected.sin().sum().backward()
    torch.testing.assert_close(one.grad, other.grad, atol=1e-12, rtol=0)
    torch.testing.assert_close(product.proj.weight.grad, layer.proj.weight.grad, atol=1e-12, rtol=0)
    torch.testing.assert_close(product.proj.bias.grad, layer.proj.bias.grad, atol=1e-12, rtol=0)


def test_a_copy_computes_with_its_own_weights() -> None:
    layer = Qwen3VLVisionPatchEmbed(Qwen3VLVisionConfig(hidden_size=24, patch_size=4))
    use_matrix_product(layer)
    twin, patches = copy.deepcopy(layer), torch.ones(1, 96)
    before = layer(patches)
    with torch.no_grad():
        twin.proj.weight.zero_()
        twin.proj.bias.zero_()
    assert twin(patches).abs().max() == 0
    assert torch.equal(layer(patches), before)
