"""The episodes that the plan simulates: numbers of turns, and tokens of prompts, by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.plan.architecture import architecture_of
from components.plan.episodes import (
    CALLS,
    FEEDBACK,
    METADATA,
    PromptShape,
    draw_episodes,
    geometric_weights,
    prompt_shape,
)
from components.plan.fit import recipe_with
from components.plan.hardware import Device
from components.plan.rates import default_rates

SHAPE = PromptShape(instructions=500, response=60, image=900, screenshots=1, text=0, feedback=40)
"""A turn leaves 60 + 40 tokens in the history."""


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 40), st.floats(0, 1))
def test_numbers_of_turns_have_the_mean_that_is_given(most, share):
    mean = 1 + share * (most - 1)
    weights = geometric_weights(mean, most)
    assert len(weights) == most
    assert sum(weights) == pytest.approx(1)
    assert sum(number * weight for number, weight in enumerate(weights, start=1)) == pytest.approx(mean, abs=1e-3)


def test_a_mean_in_the_middle_gives_every_number_the_same_weight():
    assert geometric_weights(3.0, 5) == pytest.approx([0.2] * 5)


def test_a_prompt_has_the_history_and_the_last_screenshots():
    assert SHAPE.length(0) == 500 + 900
    assert SHAPE.length(3) == 500 + 3 * 100 + 900
    two = PromptShape(500, 60, 900, 2, 0, 40)
    assert two.length(0) == 500 + 900
    assert two.length(3) == 500 + 3 * 100 + 2 * 900


def test_a_cache_holds_the_prompt_up_to_the_screenshot_that_left():
    # the screenshot before the last response is gone: the response, the feedback and the new screenshot are read
    assert SHAPE.unread(0) == 1400
    assert SHAPE.unread(5) == 100 + 900
    assert PromptShape(500, 60, 900, 2, 0, 40).unread(5) == 2 * (100 + 900)


def test_packed_turns_have_their_history_once():
    # 500 + 4 × 100 once, and for each of 4 turns its screenshot, response and the turn after it
    assert SHAPE.packed(4) == 500 + 400 + 4 * (900 + 100 + 60)


def test_a_history_without_feedback_or_reasoning_is_shorter():
    def shape(**changes: object) -> PromptShape:
        params = recipe_with(Path("openwebrl-4b"), {f"agent.{key}": value for key, value in changes.items()})
        return prompt_shape(params, architecture_of(params.model.base), 300)

    whole, unanswered, calls = shape(), shape(feedback=False), shape(reasoning_history=False)
    assert whole.length(0) == unanswered.length(0) == calls.length(0)
    assert whole.length(5) - unanswered.length(5) == 5 * (FEEDBACK["full"] - METADATA["full"])
    assert whole.length(5) - calls.length(5) == 5 * (300 - CALLS["full"])
    assert (whole.response, calls.response) == (300, 300)


@pytest.mark.parametrize(
    ("name", "changes", "has_images"),
    [
        ("openwebrl-4b", {}, True),
        ("openwebrl-4b", {"observation.text": "axtree"}, True),
        ("webgym-8b", {}, True),
        ("webagent-r1-4b", {}, False),
        ("browseragent-8b", {}, False),
    ],
)
def test_prompts_of_protocols_that_name_elements_have_no_images(name, changes, has_images):
    params = recipe_with(Path(name), changes)
    shape = prompt_shape(params, architecture_of(params.model.base), 300)
    assert (shape.image > 0, shape.screenshots > 0) == (has_images, has_images)


def test_more_screenshots_make_longer_prompts_everywhere():
    two = PromptShape(500, 60, 900, 2, 0, 40)
    assert two.mean_length(10) > SHAPE.mean_length(10)
    assert two.packed(10) > SHAPE.packed(10)
    assert all(two.unread(index) > SHAPE.unread(index) for index in range(1, 10))


def test_equal_seeds_draw_equal_episodes():
    params = recipe_with(Path("demo"), {})
    rates = default_rates(params, Device("cpu", 1e9, 1e11, 1e10, True))
    first, again, other = (draw_episodes(50, SHAPE, rates, (3.0, 8), True, seed) for seed in ("a", "a", "b"))
    assert first == again != other
    assert all(1 <= len(episode.turns) <= 8 for episode in first)
