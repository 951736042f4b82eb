"""Shared-prefix packing against every turn encoded by itself."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers.models.qwen3_vl.modeling_qwen3_vl import Qwen3VLTextRMSNorm

from components.model import VLM, Encoded, Encoder, Sample
from components.params import SamplingParams
from components.records import Image
from components.training.forward import naive_logprobs, response_logprobs
from components.training.packing import Pack, micro_batches, pack
from tests.samples import a_turn
from tests.vlm import TASK, observation, picture, random_vlm, renderer

PRECISIONS = [(torch.float64, 1e-8), (torch.float32, 1e-5)]


@pytest.fixture(scope="module")
def model() -> VLM:
    """With a layer after the last that DeepStack adds to: what it adds behind all layers reaches no response."""
    return random_vlm(layers=3)


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


def turns_of_a_trajectory(
    encoder: Encoder, screenshots: int = 1, turns: int = 4, attempt: int = 0, broken: int | None = None
) -> list[Sample]:
    """Turns as the renderer shows them, with so many screenshots in the context. Attempts begin on the same page.

    The `broken` one says no call, and was cut before its end token.
    """
    samples, seen = [], []
    for index in range(turns):
        shown = observation(index and 10 * attempt + index)
        prompt = encoder.encode(renderer(screenshots).prompt(TASK, seen, shown))
        said = f"Turn {index} of {attempt}, " + ("well" if index == broken else "click it.<|im_end|>")
        samples.append(Sample(prompt, encoder.tokens(said)))
        turn = a_turn(index).model_copy(update={"token_ids": samples[-1].response, "observation": shown})
        failed = {
            "tool_calls": [],
            "feedback": ["Failed: no call."],
            "parse_error": "no call",
            "finish_reason": "length",
        }
        seen.append(turn.model_copy(update=failed) if index == broken else turn)
    return samples


def attempts(encoder: Encoder) -> list[Sample]:
    """A group: attempts at one task, of 1, 3 and 2 turns."""
    return [
        one
        for attempt, turns in enumerate((1, 3, 2))
        for one in turns_of_a_trajectory(encoder, turns=turns, attempt=attempt)
    ]


def responses_of_one_token(encoder: Encoder) -> list[Sample]:
    """With the last token left out, nothing but prompts: one that is there twice, and one that goes on from it."""
    one, longer = sample(encoder, "Do it.", 1, "- button"), sample(encoder, "Do it.", 1, "- button", "- field")
    return [Sample(one.prompt, [300]), Sample(one.prompt, [301]), Sample(longer.prompt, [300])]


CASES = {
    "group": group,
    "several images": several_images,
    "one turn": lambda encoder: turns_of_a_trajectory(encoder, turns=1),
    "responses of one token": responses_of_one_token,
    "trajectory": turns_of_a_trajectory,
    "trajectory, two screenshots": lambda encoder: turns_of_a_trajectory(encoder, 2),
    "trajectory, three screenshots": lambda encoder: turns_of_a_trajectory(encoder, 3),
    "trajectory, a turn without a call": lambda encoder: turns_of_a_trajectory(encoder, broken=1),
    "trajectories of a group": attempts,
}


def gradients(vlm, encoder, logprobs, samples) -> tuple[list[torch.Tensor], torch.Tensor, dict[str, torch.Tensor]]:
    """Log-probabilities, a loss that weights every token differently, and its gradient by parameter."""
    vlm.model.zero_grad()
    found = logprobs(vlm, encoder, samples, SamplingParams(temperature=0.8))
    weights = torch.Generator().manual_seed(1)
    loss = sum((torch.rand(len(one), generator=weights, dtype=one.dtype) * one).sum() for one in found)
    loss.backward()
    return [one.detach() for one in found], loss.detach(), gradient_of(vlm)


def gradient_of(vlm: VLM) -> dict[str, torch.Tensor]:
    return {name: p.grad.clone() for name, p in vlm.model.named_parameters() if p.grad is not None}


def in_precision(model: VLM, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> VLM:
    """A copy of the model in a precision."""
    if dtype == torch.float64:  # transformers' norm rounds to float32 whatever the weights are
        monkeypatch.setattr(Qwen3VLTextRMSNorm, "forward", norm)
    vlm = copy.deepcopy(model)
    vlm.model.to(dtype)
    return vlm


def norm(self: Qwen3VLTextRMSNorm, hidden: torch.Tensor) -> torch.Tensor:
    return self.weight * hidden * torch.rsqrt(hidden.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)


def check_same_gradients(found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor], tolerance: float) -> None:
    """Relative to each parameter's own gradient."""
    assert found.keys() == expected.keys()
    for name, gradient in expected.items():
        assert (found[name] - gradient).norm() <= tolerance * gradient.norm(), name


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype, tolerance", PRECISIONS)
def test_log_probabilities_and_every_gradient_are_those_of_single_turns(model, monkeypatch, case, dtype, tolerance):
    vlm = in_precision(model, dtype, monkeypatch)
    encoder = Encoder(vlm)
    samples = CASES[case](encoder)
    naive, naive_loss, expected = gradients(vlm, encoder, naive_logprobs, samples)
    packed, loss, found = gradients(vlm, encoder, response_logprobs, samples)
    assert [one.dtype for one in packed] == [dtype] * len(samples)
    for ours, theirs in zip(packed, naive, strict=True):
        assert (ours - theirs).abs().max() <= tolerance * theirs.abs().max()
    assert abs(loss - naive_loss) <= tolerance * abs(naive_loss)
    assert expected.keys() == dict(vlm.model.named_parameters()).keys()
    assert all(gradient.any() for gradient in expected.values()), "the vision tower's, DeepStack's and all others"
    check_same_gradients(found, expected, tolerance)


def test_gradient_checkpointing_changes_nothing(model):
    vlm = copy.deepcopy(model)
    encoder = Encoder(vlm)
    _, _, expected = gradients(vlm, encoder, response_logprobs, group(encoder))
    vlm.model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    vlm.model.train()
    _, _, found = gradients(vlm, encoder, response_logprobs, group(encoder))
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


@pytest.mark.parametrize("case", CASES)
def test_a_trajectory_or_a_group_is_one_row_that_holds_each_token_once(model, case):
    encoder = Encoder(model)
    samples = CASES[case](encoder)
    assert len(list(micro_batches(samples, encoder, 4096))) == 1
    check_row(samples, encoder)


@pytest.mark.parametrize("changed", ["pixels", "a token of the response"])
@pytest.mark.parametrize("branch", [0, 1, 2])
@torch.no_grad()
def test_a_branch_is_not_affected_by_another(model, branch, changed):
    encoder = Encoder(model)
    before = [sample(encoder, "Do it.", seed, "- button") for seed in (1, 2, 3)]
    after = list(before)
    if changed == "pixels":
        after[branch] = sample(encoder, "Do it.", 9, "- button")
    else:
        first, *others = before[branch].response
        after[branch] = Sample(before[branch].prompt, [first + 1, *others])
    assert same_bits(model, before, after) == [index != branch for index in range(3)]


@pytest.mark.parametrize("changed", ["a token of all", "pixels of all", "a token of the last two"])
@torch.no_grad()
def test_a_shared_part_affects_exactly_the_branches_after_it(model, changed):
    """Four turns on one trunk; two of them share some more."""
    encoder = Encoder(model)
    shared, other = (sample(encoder, "Do it.", seed, "- button").prompt for seed in (1, 9))
    ids, images, inner = list(shared.ids), shared.images, 40
    if changed == "a token of all":
        ids[0] += 1
    elif changed == "pixels of all":
        images = other.images
    else:
        inner += 1

    def turns(ids: list[int], images: list[Image], inner: int) -> list[Sample]:
        outer = [Sample(Encoded(ids, images), [300 + n, 310, 311]) for n in range(2)]
        return [*outer, *(Sample(Encoded([*ids, inner, 50 + n], images), [310, 311]) for n in range(2))]

    found = same_bits(model, turns(shared.ids, shared.images, 40), turns(ids, images, inner))
    assert found == ([True, True, False, False] if changed == "a token of the last two" else [False] * 4)


def same_bits(model: VLM, before: list[Sample], after: list[Sample]) -> list[bool]:
    """Per sample, whether its log-probabilities are the same to the last bit. All images are encoded for each."""
    found = [response_logprobs(model, Encoder(model), samples) for samples in (before, after)]
    return [torch.equal(b, a) for b, a in zip(*found, strict=True)]


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from(["a", "b", "c", 1, 2]), min_size=1, max_size=5),
            st.lists(st.integers(10, 12), min_size=1, max_size=4),
        ),
        min_size=1,
        max_size=10,
    ),
    st.integers(1, 60),
)
def test_any_samples_are_cut_into_rows_that_hold_each_token_once(model, drawn, budget):
    encoder = Encoder(model)
    samples = [Sample(sample(encoder, *parts).prompt, response) for parts, response in drawn]
    batches = list(micro_batches(samples, encoder, budget))
    assert sorted(index for batch in batches for index in batch) == list(range(len(samples)))
    for batch in batches:
        length = check_row([samples[index] for index in batch], encoder)
        assert len(batch) == 1 or length <= budget
    padded = list(micro_batches(samples, encoder, budget, share=False))
    assert sorted(index for batch in padded for index in batch) == list(range(len(samples)))
    for batch in padded:
        longest = max(len(samples[index].prompt.ids) + len(samples[index].response) for index in batch)
        assert len(batch) == 1 or len(batch) * longest <= budget + len(batch)  # the last token predicts none


def check_row(samples: list[Sample], encoder: Encoder) -> int:
    """Every sample stands in the row with its own positions and predictors, and the row holds nothing else."""
    row = pack(samples, encoder)
    tokens, beginnings = told(row.ids, row.images, encoder), set()
    assert [s.begin for s in row.segments] == [0, *(s.end for s in row.segments[:-1])]
    for one, predictors in zip(samples, row.predictors, strict=True):
        ids = one.prompt.ids + one.response[:-1]
        expected, places = told(ids, one.prompt.images, encoder), seen_from(row, int(predictors[-1]))
        assert [tokens[place] for place in places] == expected
        assert places[-len(one.response) :] == predictors.tolist()
        assert torch.equal(row.positions_3P[:, places], encoder.positions(ids, one.prompt.images))
        beginnings |= {tuple(expected[:end]) for end in range(1, len(expected) + 1)}
    assert len(row.ids) == len(beginnings)
    return len(row.ids)


def told(ids: list[int], images: list[Image], encoder: Encoder) -> list[tuple[int, str]]:
    """Ids, and for an image's placeholders its content."""
    pads = np.array(ids) == encoder.image_token_id
    number = np.cumsum(pads & ~np.concatenate([[False], pads[:-1]]))
    assert number[-1] == len(images)
    return [(i, images[n - 1].sha256 if pad else "") for i, n, pad in zip(ids, number, pads, strict=True)]


def seen_from(row: Pack, place: int) -> list[int]:
    """Places of the row that a place attends to."""
    (segment,) = [s for s in row.segments if s.begin <= place < s.end]
    return [seen for begin, end in [*segment.context, (segment.begin, place + 1)] for seen in range(begin, end)]
