"""Shared-prefix packing against every turn encoded by itself."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers.models.qwen3_vl.modeling_qwen3_vl import Qwen3VLTextRMSNorm

from components.policies import Encoded, Encoder, Sample
from components.training.forward import naive_logprobs, response_logprobs
from components.training.packing import micro_batches, pack
from tests.samples import a_turn
from tests.vlm import TASK, observation, picture, random_vlm, renderer


@pytest.fixture(scope="module")
def model():
    return random_vlm()


def sample(encoder: Encoder, *parts: str | int, response: str = "Click it.<|im_end|>") -> Sample:
    """A prompt of texts, and of images told by their seed."""
    ids, images = [], []
    for part in parts:
        if isinstance(part, str):
            ids += encoder.tokens(part)
        else:
            images.append(picture(part))
            ids += [*encoder.tokens("<|vision_start|>"), *[encoder.image_token_id] * encoder.vision.tokens(images[-1])]
            ids += encoder.tokens("<|vision_end|>")
    return Sample(Encoded(ids, images), encoder.tokens(response))


def group(encoder: Encoder) -> list[Sample]:
    """Attempts at one task as they come: one prompt, responses that begin alike, later turns, an attempt said twice."""
    say = {"response": "Click on the button.<|im_end|>"}
    return [
        sample(encoder, "Do it.", 1, "- button"),
        sample(encoder, "Do it.", 1, "- button", **say),
        sample(encoder, "Do it.", 1, "- button", **say),
        sample(encoder, "Do it.", 1, "- button", response="Click"),  # the begin of others
        sample(encoder, "Do it. Click it. Then", 2, "- field"),
        sample(encoder, "Do it. Click it. Then", 3, "- field", response="no call at all"),
        sample(encoder, "Something else, with no picture."),
    ]


def several_images(encoder: Encoder) -> list[Sample]:
    """Images first, in the middle and last; one of them shared, two of one size, one of another."""
    first = sample(encoder, 1, "a", 2, "b")
    image = picture(5, width=160, height=96)
    pads = [encoder.image_token_id] * encoder.vision.tokens(image)
    start, end = encoder.tokens("<|vision_start|>"), encoder.tokens("<|vision_end|>")
    wide = Sample(
        Encoded([*first.prompt.ids, *start, *pads, *end], [*first.prompt.images, image]), encoder.tokens("ok<|im_end|>")
    )
    return [first, sample(encoder, 1, "a", 3, "b"), sample(encoder, 1, "a", 2), wide, sample(encoder, 2, "a", 1, "b")]


def turns_of_a_trajectory(encoder: Encoder, screenshots: int) -> list[Sample]:
    """Turns as the renderer shows them, with so many screenshots in the context."""
    samples, turns = [], []
    for index in range(4):
        seen = observation(index)
        prompt = encoder.encode(renderer(screenshots).prompt(TASK, turns, seen))
        ids = encoder.tokens(f"Turn {index}, click it.<|im_end|>")
        samples.append(Sample(prompt, ids))
        turns.append(a_turn(index).model_copy(update={"token_ids": ids, "observation": seen}))
    return samples


CASES = {
    "group": group,
    "several images": several_images,
    "one turn": lambda encoder: group(encoder)[:1],
    "trajectory": lambda encoder: turns_of_a_trajectory(encoder, 1),
    "trajectory, two screenshots": lambda encoder: turns_of_a_trajectory(encoder, 2),
}


def gradients(vlm, encoder, logprobs, samples) -> tuple[list[torch.Tensor], dict[str, torch.Tensor]]:
    """Log-probabilities, and the gradient of a loss that weights every token differently."""
    vlm.model.zero_grad()
    found = logprobs(vlm, encoder, samples, 0.8)
    weights = torch.Generator().manual_seed(1)
    loss = sum((torch.rand(len(one), generator=weights, dtype=one.dtype) * one).sum() for one in found)
    loss.backward()
    named = vlm.model.named_parameters()
    return [one.detach() for one in found], {k: p.grad.clone() for k, p in named if p.grad is not None}


def norm(self: Qwen3VLTextRMSNorm, hidden: torch.Tensor) -> torch.Tensor:
    return self.weight * hidden * torch.rsqrt(hidden.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype, tolerance", [(torch.float64, 1e-8), (torch.float32, 1e-5)])
def test_log_probabilities_and_every_gradient_are_those_of_single_turns(model, monkeypatch, case, dtype, tolerance):
    if dtype == torch.float64:  # transformers' norm rounds to float32 whatever the weights are
        monkeypatch.setattr(Qwen3VLTextRMSNorm, "forward", norm)
    vlm = copy.deepcopy(model)
    vlm.model.to(dtype)
    encoder = Encoder(vlm)
    samples = CASES[case](encoder)
    naive, expected = gradients(vlm, encoder, naive_logprobs, samples)
    packed, found = gradients(vlm, encoder, response_logprobs, samples)
    assert [one.dtype for one in packed] == [dtype] * len(samples)
    for ours, theirs in zip(packed, naive, strict=True):
        assert (ours - theirs).abs().max() <= tolerance * theirs.abs().max()
    assert found.keys() == expected.keys()
    assert any("visual" in name for name in found) or not samples[0].prompt.images
    scale = max(gradient.norm() for gradient in expected.values())
    for name, gradient in expected.items():
        assert (found[name] - gradient).norm() <= tolerance * max(gradient.norm(), 1e-3 * scale), name


def test_gradient_checkpointing_changes_nothing(model):
    vlm = copy.deepcopy(model)
    encoder = Encoder(vlm)
    _, expected = gradients(vlm, encoder, response_logprobs, group(encoder))
    vlm.model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    vlm.model.train()
    _, found = gradients(vlm, encoder, response_logprobs, group(encoder))
    for name, gradient in expected.items():
        torch.testing.assert_close(found[name], gradient, atol=1e-6, rtol=1e-4)


def test_every_token_is_encoded_once(model):
    encoder = Encoder(model)
    one = sample(encoder, "Do it.", 1, "- button")
    shorter = Sample(one.prompt, one.response[:2])
    row = pack([one, one, shorter], encoder)
    assert len(row.ids) == len(one.prompt.ids) + len(one.response) - 1
    assert len(row.images) == 1
    assert [len(places) for places in row.predictors] == [len(one.response)] * 2 + [2]


def test_screenshots_of_one_size_are_not_merged(model):
    encoder = Encoder(model)
    samples = [sample(encoder, "Do it.", 1, "- button"), sample(encoder, "Do it.", 2, "- button")]
    assert samples[0].prompt.ids == samples[1].prompt.ids
    assert len(pack(samples, encoder).images) == 2
    first, second = response_logprobs(model, encoder, samples)
    assert not torch.equal(first, second)


@torch.no_grad()
def test_a_branch_sees_nothing_of_another(model):
    encoder = Encoder(model)
    samples = [sample(encoder, "Do it.", seed, "- button") for seed in (1, 2, 3)]
    changed = [samples[0], sample(encoder, "Do it.", 9, "- button"), samples[2]]
    before, after = response_logprobs(model, encoder, samples), response_logprobs(model, encoder, changed)
    assert [torch.equal(b, a) for b, a in zip(before, after, strict=True)] == [True, False, True]


@torch.no_grad()
def test_all_branches_see_the_trunk(model):
    encoder = Encoder(model)
    before = [sample(encoder, "Do it.", seed, "- button") for seed in (1, 2, 3)]
    after = [sample(encoder, "Do  it.", seed, "- button") for seed in (1, 2, 3)]
    for b, a in zip(response_logprobs(model, encoder, before), response_logprobs(model, encoder, after), strict=True):
        assert not torch.equal(b, a)


@given(
    st.lists(
        st.tuples(st.lists(st.integers(10, 12), min_size=1, max_size=6), st.lists(st.integers(10, 12), min_size=1)),
        min_size=1,
        max_size=12,
    ),
    st.integers(1, 40),
)
@settings(deadline=None)
def test_any_samples_are_cut_into_rows_that_hold_them_whole(model, drawn, budget):
    encoder = Encoder(model)
    samples = [Sample(Encoded(prompt, []), response) for prompt, response in drawn]
    batches = list(micro_batches(samples, encoder, budget))
    assert sorted(index for batch in batches for index in batch) == list(range(len(samples)))
    for batch in batches:
        row = pack([samples[index] for index in batch], encoder)
        assert len(batch) == 1 or len(row.ids) <= budget
        assert len({tuple(whole(row, s)) for s in row.segments}) == len(row.segments)
        assert [s.begin for s in row.segments[1:]] == [s.end for s in row.segments[:-1]]
        for index, places in zip(batch, row.predictors, strict=True):
            sequence = samples[index].prompt.ids + samples[index].response[:-1]
            assert seen_by(row, int(places[-1])) == sequence
            assert [row.ids[place] for place in places] == sequence[-len(places) :]


def whole(row, segment) -> list[int]:
    """Ids of a segment with all that it continues."""
    return [i for begin, end in [*segment.context, (segment.begin, segment.end)] for i in row.ids[begin:end]]


def seen_by(row, place: int) -> list[int]:
    """Ids that a place of the row attends to."""
    (segment,) = [s for s in row.segments if s.begin <= place < s.end]
    return whole(row, replace(segment, end=place + 1))
