"""The episodes that the plan simulates: numbers of turns, and tokens of prompts, by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.agent.protocols import TurnContext, protocol
from components.architecture import architecture_of
from components.params import Params
from components.plan.episodes import (
    CALLS,
    FEEDBACK,
    METADATA,
    PromptShape,
    draw_episodes,
    geometric_weights,
    prompt_shape,
    turn_numbers,
)
from components.plan.fit import recipe_with
from components.plan.hardware import Device
from components.plan.placement import Machine
from components.plan.rates import assumptions, default_rates
from components.plan.setting import Setting
from components.records import ToolCall, Turn
from tests.samples import a_task, a_turn

CORES = Device("cpu", 1e9, 1e11, 1e10, True)
SHAPE = PromptShape(instructions=500, response=60, image=900, observations=1, text=0, feedback=40)
"""A turn leaves 60 + 40 tokens in the history."""
GROWING, MEMORY = ("openwebrl-4b", "webagent-r1-4b", "browseragent-8b"), "webgym-8b"


def shape_of(name: str, response: float = 300, **changes: object) -> PromptShape:
    params = recipe_with(Path(name), {key.replace("__", "."): value for key, value in changes.items()})
    return prompt_shape(params, architecture_of(params.model.base), response)


def setting_of(name: str, **changes: object) -> Setting:
    params = recipe_with(Path(name), {key.replace("__", "."): value for key, value in changes.items()})
    return Setting(params, Machine(CORES, 1), default_rates(params, CORES))


def written_turn(params: Params, index: int) -> Turn:
    """A turn whose response is written in the recipe's protocol, with a thought of 600 characters."""
    by_element = not params.agent.shows_screenshots
    call = ToolCall(name="click_element", arguments={"element": "12"})
    call = call if by_element else ToolCall(name="click", arguments={"coordinate": [512, 86]})
    response = protocol(params.agent.protocol).write("Seen. " * 100, [call], "The cheapest lamp costs 12 Euro.")
    return a_turn(index, response=response, feedback=["Succeed: click."])


def rendered_tokens(params: Params, turns: int) -> float:
    """Tokens of the text that a prompt has after some turns: characters divided by 4."""
    made = [written_turn(params, index) for index in range(turns)]
    state = TurnContext(params.agent, params.observation, a_task(), made, a_turn().observation)
    messages = protocol(params.agent.protocol).context(state)
    texts = [part.response if isinstance(part, Turn) else part for message in messages for part in message.parts]
    return sum(len(text) for text in texts if isinstance(text, str)) / 4


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


def test_each_observation_in_the_context_has_its_text():
    two = PromptShape(500, 60, 900, observations=2, text=300, feedback=40)
    assert two.length(0) == 500 + (900 + 300)
    assert two.length(3) == 500 + 3 * 100 + 2 * (900 + 300)
    assert two.unread(5) == 2 * (100 + 900 + 300)
    assert two.packed(4) == 500 + 400 + 4 * (2 * (900 + 300 + 100) + 60)


def test_a_protocol_without_earlier_observations_shows_one():
    shown = {"observation__screenshots": 3, "observation__text": "elements"}
    assert shape_of("openwebrl-4b", **shown).length(5) - shape_of("openwebrl-4b").length(5) == 3 * 700 + 2 * 880
    assert shape_of(MEMORY, **shown).length(5) - shape_of(MEMORY).length(5) == 700


def test_a_memory_stands_in_every_prompt_but_the_first():
    shape = PromptShape(500, 60, 900, observations=1, text=0, feedback=0, kept=0, memory=70)
    assert (shape.length(0), shape.length(1), shape.length(9)) == (1400, 1470, 1470)
    assert shape.unread(9) == 900 + 70
    assert shape.packed(4) == 500 + 4 * (900 + 60) + 3 * 70


def test_prompts_of_webgym_do_not_grow():
    # measured at the turns 0, 11, 22 and 29: 1430, 1735, 1735, 1735
    shape = shape_of(MEMORY, 0.3 * 2048)
    assert shape.length(0) == 1430
    assert shape.length(11) == shape.length(29) == pytest.approx(1735, rel=0.02)


def test_prompts_of_browseragent_grow_by_a_line_per_turn():
    # measured at the turns 0, 11, 22 and 29: 3300, 3430, 3562, 3646
    shape = shape_of("browseragent-8b", 0.3 * 1024)
    growth = [shape.length(index) - shape.length(0) for index in (11, 22, 29)]
    assert growth == pytest.approx([130, 262, 346], rel=0.05)
    assert shape.unread(20) == 12 + 3000, "the last line, and the page"


@pytest.mark.parametrize("name", GROWING)
def test_a_turn_leaves_what_its_protocol_renders(name):
    params = recipe_with(Path(name), {})
    shape = shape_of(name, len(written_turn(params, 0).response) / 4)
    assert shape.turn == pytest.approx((rendered_tokens(params, 20) - rendered_tokens(params, 10)) / 10, rel=0.3)


def test_a_memory_is_all_that_webgym_renders_of_turns():
    params = recipe_with(Path(MEMORY), {})
    assert rendered_tokens(params, 20) == rendered_tokens(params, 10) > rendered_tokens(params, 0)
    assert shape_of(MEMORY).turn == 0


def test_a_history_without_feedback_or_reasoning_is_shorter():
    whole, unanswered, calls = (
        shape_of("openwebrl-4b", **changes)
        for changes in ({}, {"agent__feedback": False}, {"agent__reasoning_history": False})
    )
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
    assert (prompt_shape(params, architecture_of(params.model.base), 300).image > 0) == has_images


def test_more_screenshots_make_longer_prompts_everywhere():
    two = PromptShape(500, 60, 900, 2, 0, 40)
    assert two.mean_length(10) > SHAPE.mean_length(10)
    assert two.packed(10) > SHAPE.packed(10)
    assert all(two.unread(index) > SHAPE.unread(index) for index in range(1, 10))


def test_equal_seeds_draw_equal_episodes():
    params = recipe_with(Path("demo"), {})
    rates, turns = default_rates(params, CORES), turn_numbers(0.4, [8], 8)
    first, again, other = (draw_episodes(50, SHAPE, rates, turns, True, seed) for seed in ("a", "a", "b"))
    assert first == again != other
    assert all(1 <= len(episode.turns) <= 8 for episode in first)


def test_a_context_fits_the_turns_before_the_first_long_prompt():
    # prompts of 1400, 1500, 1600, 1700, 1800 tokens
    assert SHAPE.fitting(1700, 8) == 4
    assert SHAPE.fitting(1699, 8) == 3
    assert SHAPE.fitting(9999, 8) == 8
    assert SHAPE.fitting(10, 8) == 1


def test_a_full_context_ends_longer_episodes():
    # 1 to 5 turns alike; those of 4 and 5 end after 3
    turns = turn_numbers(0.6, [5], 3)
    assert turns.weights == pytest.approx([0.2, 0.2, 0.6])
    assert turns.mean == pytest.approx(0.2 + 0.4 + 1.8)
    rates = default_rates(recipe_with(Path("demo"), {}), CORES)
    numbers = [len(episode.turns) for episode in draw_episodes(2000, SHAPE, rates, turns, True, "a")]
    assert max(numbers) == 3
    assert sum(numbers) / 2000 == pytest.approx(turns.mean, rel=0.03)


def test_a_measured_mean_is_that_of_episodes_in_their_context():
    turns = turn_numbers(0.4, [5], 3, is_measured=True)
    assert turns.mean == 2
    assert turns.weights == pytest.approx([1 / 3] * 3)


def test_without_a_limit_of_the_context_the_mean_is_the_share():
    turns = turn_numbers(0.75, [15], 15)
    assert turns.mean == 0.75 * 15
    assert turns.weights == tuple(geometric_weights(0.75 * 15, 15))


def test_training_tasks_have_the_step_limits_of_their_levels():
    # 10, 20 and 30 steps at most, of which an episode has 0.75; a phase of 15 steps allows 10, 15 and 15
    chosen = setting_of("webgym-8b")
    assert chosen.turns("train_rl@short", 30).mean == pytest.approx(0.75 * 20)
    assert len(chosen.turns("train_rl@short", 30).weights) == 30
    assert chosen.turns("train_rl@short", 15).mean == pytest.approx(0.75 * 40 / 3)
    assert chosen.turns("evaluate@rl", 30, is_evaluation=True).mean == pytest.approx(0.75 * 30)
    assert setting_of("openwebrl-4b").turns("train_rl@long", 30).mean == 0.75 * 30


def test_the_levels_of_training_tasks_are_an_assumption_that_is_named():
    lines = [assumptions(chosen.rates, chosen.params) for chosen in map(setting_of, ("webgym-8b", "openwebrl-4b"))]
    assert [any("10, 20 and 30 steps" in line for line in own) for own in lines] == [True, False]


def test_stages_end_episodes_by_the_limits_of_their_agent():
    # prompts of 121, 179, 237, 295 and 353 tokens; a response has 96 at most, and 200 in an evaluation
    chosen = setting_of("demo", agent__max_context_tokens=400, evaluation__max_response_tokens=200)
    assert len(chosen.turns("train_rl@short", 8).weights) == 4
    assert len(chosen.turns("evaluate@rl", 8, is_evaluation=True).weights) == 2
    assert len(chosen.turns("teacher_rollouts", 8).weights) == 8, "a script reads no prompt"
