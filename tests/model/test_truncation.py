"""Top-p and top-k keep the likeliest tokens, which share the whole probability."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import TopKLogitsWarper, TopPLogitsWarper

from components.model.truncation import truncate

LOGITS = st.lists(st.floats(-8, 8), min_size=1, max_size=12)


def by_hand(logprobs: list[float], top_p: float, top_k: int, keep: int | None = None) -> list[float]:
    """The same, a token at a time."""
    kept: list[int] = [] if keep is None else [keep]
    ordered = sorted(range(len(logprobs)), key=lambda token: -logprobs[token])[: top_k or None]
    whole, likelier = sum(math.exp(logprobs[token]) for token in ordered), 0.0
    for token in ordered:
        if likelier < top_p * whole:
            kept.append(token)
        likelier += math.exp(logprobs[token])
    share = math.log(sum(math.exp(logprobs[token]) for token in set(kept)))
    return [value - share if token in kept else -math.inf for token, value in enumerate(logprobs)]


@given(logits=LOGITS, top_p=st.sampled_from([0.1, 0.5, 0.77, 0.95]), top_k=st.integers(0, 5), data=st.data())
def test_the_likeliest_tokens_and_one_that_must_stay_share_it_all(logits, top_p, top_k, data):
    logprobs = torch.log_softmax(torch.tensor(logits, dtype=torch.float64).unique(), dim=-1)
    keep = data.draw(st.none() | st.integers(0, len(logprobs) - 1))
    kept = None if keep is None else torch.tensor([keep])
    found = truncate(logprobs[None], top_p, top_k, kept)[0]
    assert found.tolist() == pytest.approx(by_hand(logprobs.tolist(), top_p, top_k, keep), abs=1e-9)


def test_both_limits_keep_what_the_warpers_of_transformers_keep():
    logits = 2 * torch.randn(50, 12, dtype=torch.float64)
    for top_p, top_k in [(0.5, 3), (0.9, 4), (0.95, 8)]:
        warped = TopPLogitsWarper(top_p)(None, TopKLogitsWarper(top_k)(None, logits))
        found = truncate(torch.log_softmax(logits, dim=-1), top_p, top_k)
        assert found.isfinite().tolist() == warped.isfinite().tolist()


def test_without_a_limit_nothing_is_computed():
    logprobs = torch.log_softmax(torch.randn(3, 7), dim=-1)
    assert truncate(logprobs) is logprobs


def test_a_token_that_is_sure_has_no_gradient_and_an_undecided_one_has():
    sure, undecided = [6.0, 0.0, 0.0], [1.0, 0.9, -6.0]
    logits = torch.tensor([sure, undecided], requires_grad=True)
    truncate(torch.log_softmax(logits, dim=-1), top_p=0.9)[:, 0].sum().backward()
    assert logits.grad is not None
    assert logits.grad[0].tolist() == [0.0, 0.0, 0.0]
    assert logits.grad[1, 0] > 0 > logits.grad[1, 1]
    assert logits.grad[1, 2] == pytest.approx(0, abs=1e-6), "a token that was left out is not pushed"


def test_the_gradient_is_that_of_the_kept_tokens_alone():
    logits = torch.randn(4, 9, dtype=torch.float64, requires_grad=True)
    tokens = torch.tensor([8, 0, 3, 3])

    def truncated(values: torch.Tensor) -> torch.Tensor:
        return truncate(torch.log_softmax(values, dim=-1), 0.7, keep_N=tokens).gather(1, tokens[:, None])

    assert torch.autograd.gradcheck(truncated, (logits,), eps=1e-7)
