"""Episodes for the simulation: their numbers of turns, the tokens of their prompts and responses, their browser steps.

A prompt has the instructions, what its protocol repeats of earlier turns (`agent.protocols.base.History`), and the last
K observations: screenshots, and the texts of their pages. Numbers of turns and tokens are drawn around their means,
because a wave ends with its longest episode.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from components.agent.protocols import protocol
from components.architecture import Architecture
from components.params import Params
from components.plan.rates import Rates
from components.plan.simulation import Episode, Turn

INSTRUCTIONS = {"full": 550, "extended": 600, "compact": 60}
"""Tokens of the instructions and the task, by `agent.prompt`: their characters divided by 4."""
FEEDBACK = {"full": 80, "extended": 80, "compact": 10}
"""Tokens of the feedback and the metadata of a turn. `full` is measured. `compact` is too little (a run of `demo` has
about 75), and the rates of a CPU (`default_rates`) were rounded with it: the two change together or not at all."""
METADATA = {"full": 55, "extended": 55, "compact": 5}
"""Those of the metadata alone: the address and the title of the page, and its tabs (`agent.feedback`)."""
CALLS = {"full": 40, "extended": 40, "compact": 30}
"""Tokens of a response without its reasoning (`agent.reasoning_history`): a call is a JSON object."""
PAGE_TEXT = {"none": 0, "elements": 700, "elements_with_owners": 750, "axtree": 3000, "html": 8000}
"""Tokens of the text of a page of 1280 × 720 pixels; others have theirs by their area."""
FULL_PAGE = 1280 * 720


@dataclass(frozen=True)
class PromptShape:
    """Tokens of a prompt's parts."""

    instructions: int
    response: float
    """Mean tokens of a response."""
    image: int
    """Tokens of a screenshot; 0 if the policy sees none."""
    observations: int
    """K: observations in the context."""
    text: int
    """Tokens of the text of a page, which each of these observations has."""
    feedback: int = FEEDBACK["full"]
    """Tokens of a turn in the history besides its response."""
    kept: float = math.inf
    """Most tokens of a response that stay in the history."""
    memory: float = 0.0
    """Tokens of the memory and the last feedback, which stand in every prompt but the first and do not grow."""

    @property
    def turn(self) -> float:
        """Tokens that a turn leaves in the history."""
        return min(self.response, self.kept) + self.feedback

    def length(self, index: int) -> float:
        """Tokens of the prompt of a turn, counted from 0."""
        memory = self.memory if index else 0.0
        return self.instructions + index * self.turn + self._shown(index) + memory

    def fitting(self, longest: float, most: int) -> int:
        """Turns, at most `most`, before the first one whose prompt is longer than `longest` tokens; at least 1, because
        an episode without a turn is not simulated."""
        return max(1, next((index for index in range(most) if self.length(index) > longest), most))

    def unread(self, index: int) -> float:
        """Tokens of that prompt behind the prefix that it shares with the prompt before it, which a server's cache
        holds: the place from which an observation left the context, or the memory, and all after it."""
        if index == 0:
            return self.length(0)
        return min(index, self.observations) * self.turn + self._shown(index) + self.memory

    def mean_length(self, turns: float) -> float:
        """Mean tokens of a turn's prompt and response in an episode of some turns."""
        count = max(1, round(turns))
        return sum(self.length(index) for index in range(count)) / count + self.response

    def packed(self, turns: float) -> float:
        """Tokens of an episode in training if its turns share their history: the history once, and what each turn has
        besides."""
        own = min(turns, self.observations) * (self.image + self.text + self.turn) + self.response
        return self.instructions + turns * self.turn + turns * own + (turns - 1) * self.memory

    def _shown(self, index: int) -> int:
        """Tokens of the observations in the prompt of a turn."""
        return min(index + 1, self.observations) * (self.image + self.text)


def prompt_shape(params: Params, architecture: Architecture, response: float) -> PromptShape:
    """The prompts of a recipe, with responses of a mean length in tokens."""
    agent, history = params.agent, protocol(params.agent.protocol).history
    width, height = params.browser.viewport
    page = round(PAGE_TEXT[params.observation.text] * width * height / FULL_PAGE)
    line = (FEEDBACK if agent.feedback else METADATA)[agent.prompt] if history.line is None else history.line
    repeated = math.inf if agent.reasoning_history else CALLS[agent.prompt]
    last_feedback = FEEDBACK[agent.prompt] - METADATA[agent.prompt]
    return PromptShape(
        INSTRUCTIONS[agent.prompt],
        response,
        architecture.image_tokens(params.browser.viewport) if agent.shows_screenshots else 0,
        params.observation.screenshots if history.observations else 1,
        min(page, agent.max_context_tokens // 2),
        line,
        repeated if history.responses else 0,
        history.memory * response + last_feedback if history.memory else 0.0,
    )


@dataclass(frozen=True)
class TurnNumbers:
    """The numbers of turns of episodes."""

    mean: float
    weights: tuple[float, ...]
    """Probabilities of 1, 2, … turns."""


def turn_numbers(share: float, limits: Sequence[int], fitting: int, is_measured: bool = False) -> TurnNumbers:
    """Numbers of turns from the share of their step limit that episodes have on average.

    Args:
        limits: step limits, each of the same number of episodes.
        fitting: turns after which the context is full, which ends an episode.
        is_measured: the share is that of a run, whose context has ended episodes already. Else it is that of episodes
            with an endless context.
    """
    weights, mean = [0.0] * min(max(limits), fitting), 0.0
    for limit in limits:
        most = min(limit, fitting) if is_measured else limit
        expected = min(max(1.0, share * limit), most)
        mean += expected / len(limits)
        for number, weight in enumerate(geometric_weights(expected, most), start=1):
            weights[min(number, fitting) - 1] += weight / len(limits)
            mean -= weight / len(limits) * max(0, number - fitting)
    return TurnNumbers(mean, tuple(weights))


def draw_episodes(
    count: int, shape: PromptShape, rates: Rates, turns: TurnNumbers, cached: bool, seed: str
) -> list[Episode]:
    """Random episodes, the same for the same arguments.

    Args:
        cached: the policy's server remembers the prompt before.
        seed: of the draws.
    """
    rng = random.Random(seed)
    episodes = []
    for number in rng.choices(range(1, len(turns.weights) + 1), turns.weights, k=count):
        steps = tuple(
            Turn(
                round(shape.unread(index) if cached else shape.length(index)),
                max(1, round(rng.gammavariate(4, shape.response / 4))),
                rates.step_core_s,
                rates.step_wait_s * rng.gammavariate(2, 0.5),
            )
            for index in range(number)
        )
        episodes.append(Episode(rates.open_core_s, rates.open_wait_s * rng.gammavariate(2, 0.5), steps))
    return episodes


def geometric_weights(mean: float, most: int) -> list[float]:
    """Probabilities of 1 to `most` with a mean, of the form c·r^n: the least that a mean says about a number."""
    if most == 1 or mean <= 1:
        return [1.0, *[0.0] * (most - 1)]
    if mean >= most:
        return [*[0.0] * (most - 1), 1.0]
    low, high = -50.0, 50.0
    for _ in range(80):
        middle = (low + high) / 2
        weights = _powers(middle, most)
        average = sum(number * weight for number, weight in enumerate(weights, start=1))
        low, high = (middle, high) if average < mean else (low, middle)
    return _powers((low + high) / 2, most)


def _powers(rate: float, most: int) -> list[float]:
    logs = [rate * number for number in range(1, most + 1)]
    top = max(logs)
    weights = [math.exp(value - top) for value in logs]
    total = sum(weights)
    return [weight / total for weight in weights]
