"""Scoring in chunks: the same numbers, and no memory that grows with vocabulary times tokens."""

from __future__ import annotations

import pytest
import torch

from components.model import VLM, Encoder, scoring
from components.model.scoring import chunked_logprobs
from components.training.forward import naive_logprobs, response_logprobs
from tests.training.test_packing import (
    PRECISIONS,
    check_same_gradients,
    gradients,
    in_precision,
    turns_of_a_trajectory,
)
from tests.vlm import random_vlm

CHANNELS = 8


@pytest.fixture(scope="module")
def model() -> VLM:
    return random_vlm(layers=3)


def softmax(logits: torch.Tensor, tokens: torch.Tensor | None = None) -> torch.Tensor:
    return torch.log_softmax(logits / 0.8, dim=-1)


@pytest.mark.parametrize("rows", [1, 3, 7, 100])
def test_chunks_have_the_log_probabilities_and_gradients_of_one_product(monkeypatch, rows):
    rng = torch.Generator().manual_seed(1)
    hidden = torch.randn(7, CHANNELS, dtype=torch.float64, generator=rng, requires_grad=True)
    head = torch.nn.Linear(CHANNELS, 50, bias=False, dtype=torch.float64)
    wanted = torch.tensor([0, 49, 3, 3, 17, 25, 1])
    weights = torch.arange(1, 8, dtype=torch.float64)
    expected = softmax(hidden @ head.weight.T)[torch.arange(7), wanted]
    monkeypatch.setattr(scoring, "MAX_LOGITS", 50 * rows)
    found = chunked_logprobs(head, hidden, wanted, softmax)
    assert torch.allclose(found, expected, rtol=1e-12, atol=0)
    ours, theirs = (torch.autograd.grad(weights @ one, [hidden, head.weight]) for one in (found, expected))
    for mine, right in zip(ours, theirs, strict=True):
        assert (mine - right).norm() <= 1e-12 * right.norm()


@pytest.mark.parametrize("form", [response_logprobs, naive_logprobs])
@pytest.mark.parametrize("dtype, tolerance", PRECISIONS)
def test_a_models_numbers_and_gradients_are_the_same_in_chunks(model, monkeypatch, form, dtype, tolerance):
    vlm = in_precision(model, dtype, monkeypatch)
    encoder = Encoder(vlm)
    whole, _, expected = gradients(vlm, encoder, form, turns_of_a_trajectory(encoder, turns=2))
    monkeypatch.setattr(scoring, "MAX_LOGITS", 3 * vlm.model.lm_head.out_features)
    chunked, _, found = gradients(vlm, encoder, form, turns_of_a_trajectory(encoder, turns=2))
    for ours, theirs in zip(chunked, whole, strict=True):
        assert (ours - theirs).abs().max() <= tolerance * theirs.abs().max()
    check_same_gradients(found, expected, tolerance)


def held(tokens: int, vocabulary: int) -> int:
    """Bytes that wait for the backward pass, the head's weights left aside."""
    head = torch.nn.Linear(CHANNELS, vocabulary, bias=False)
    hidden = torch.randn(tokens, CHANNELS, requires_grad=True)
    storages: dict[int, int] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.untyped_storage().data_ptr() != head.weight.untyped_storage().data_ptr():
            storages[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        found = chunked_logprobs(head, hidden, torch.zeros(tokens, dtype=torch.long), softmax)
    assert found.requires_grad
    return sum(storages.values())


def test_memory_between_the_passes_grows_with_tokens_and_not_vocabulary(monkeypatch):
    monkeypatch.setattr(scoring, "MAX_LOGITS", 16_000)
    assert held(200, 1000) == held(200, 4000) < 200 * 4 * (CHANNELS + 4)
    assert held(800, 4000) < 800 * 4 * (CHANNELS + 4)
    monkeypatch.setattr(scoring, "MAX_LOGITS", 800 * 4000)
    assert held(800, 4000) >= 800 * 4000 * 4, "in one chunk all logits are held"


@pytest.mark.parametrize("form", [response_logprobs, naive_logprobs])
def test_a_training_pass_holds_no_logits_beyond_a_chunk(model, monkeypatch, form):
    encoder, words = Encoder(model), model.model.lm_head.out_features
    samples = turns_of_a_trajectory(encoder)
    monkeypatch.setattr(scoring, "MAX_LOGITS", 4 * words)
    sizes: list[int] = []

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.shape[-1:] == (words,):
            sizes.append(tensor.numel())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        form(model, encoder, samples)
    assert sum(len(one.response) for one in samples) > 4
    assert sum(sizes) <= 4 * words


@pytest.mark.parametrize("form", [response_logprobs, naive_logprobs])
def test_only_requested_positions_are_scored(model, form):
    """Single turns of a growing history begin at places far apart; what lies between costs a vocabulary each."""
    encoder, seen = Encoder(model), []
    samples = turns_of_a_trajectory(encoder, turns=6)
    hook = model.model.lm_head.register_forward_pre_hook(lambda head, given: seen.append(given[0][..., 0].numel()))
    try:
        form(model, encoder, samples)
    finally:
        hook.remove()
    assert sum(seen) == sum(len(one.response) for one in samples)


@pytest.fixture
def two_threads():
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(threads)


def test_gradients_of_shared_positions_are_the_same_each_time(model, two_threads):
    """Attempts with one prompt share the position before their first token. Added by two threads in any order, the
    gradients of such positions differed in the last digits in nearly each of these repetitions."""
    rng = torch.Generator().manual_seed(2)
    ids = torch.randint(0, 200, (1, 300), generator=rng)
    positions = torch.arange(299).repeat(12)
    tokens = torch.randint(0, 200, (len(positions),), generator=rng)
    weights = torch.randn(len(positions), generator=rng)
    embeddings = model.model.get_input_embeddings().weight
    masks = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}

    def gradient() -> torch.Tensor:
        logprobs = model.model.token_logprobs(positions, tokens, softmax, **masks)
        return torch.autograd.grad(weights @ logprobs, embeddings)[0]

    first = gradient()
    assert all(torch.equal(first, gradient()) for _ in range(15))
