"""Episodes for the simulation: their numbers of turns, the tokens of their prompts and responses, their browser steps.

A prompt has the instructions, all earlier responses with their feedback, the last K screenshots, and the text of the
current page. Numbers of turns and tokens are drawn around their means, because a wave ends with its longest episode.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

from components.params import Params
from components.plan.architecture import Architecture
from components.plan.rates import Habits, Rates
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
    screenshots: int
    """K: screenshots in the context."""
    text: int
    """Tokens of the current page's text."""
    feedback: int = FEEDBACK["full"]
    """Tokens of a turn in the history besides its response."""
    kept: float = math.inf
    """Most tokens of a response that stay in the history."""

    @property
    def turn(self) -> float:
        """Tokens that a turn leaves in the history."""
        return min(self.response, self.kept) + self.feedback

    def length(self, index: int) -> float:
        """Tokens of the prompt of a turn, counted from 0."""
        images = min(index + 1, self.screenshots) * self.image
        return self.instructions + index * self.turn + images + self.text

    def unread(self, index: int) -> float:
        """Tokens of that prompt behind the prefix that it shares with the prompt before it, which a server's cache
        holds: the place from which a screenshot left the context, and all after it."""
        if index == 0:
            return self.length(0)
        kept = min(index, self.screenshots)
        return kept * self.turn + min(index + 1, self.screenshots) * self.image + self.text

    def mean_length(self, turns: float) -> float:
        """Mean tokens of a turn's prompt and response in an episode of some turns."""
        count = max(1, round(turns))
        return sum(self.length(index) for index in range(count)) / count + self.response

    def packed(self, turns: float) -> float:
        """Tokens of an episode in training if its turns share their history: the history once, and what each turn has
        besides."""
        own = min(turns, self.screenshots) * (self.image + self.turn) + self.text + self.response
        return self.instructions + turns * self.turn + turns * own


def prompt_shape(params: Params, architecture: Architecture, response: float) -> PromptShape:
    """The prompts of a recipe, with responses of a mean length in tokens."""
    text = params.observation.text
    has_images = params.agent.shows_screenshots
    width, height = params.browser.viewport
    page = round(PAGE_TEXT[text] * width * height / FULL_PAGE)
    return PromptShape(
        INSTRUCTIONS[params.agent.prompt],
        response,
        architecture.image_tokens(params.browser.viewport) if has_images else 0,
        params.observation.screenshots if has_images else 0,
        min(page, params.agent.max_context_tokens // 2),
        (FEEDBACK if params.agent.feedback else METADATA)[params.agent.prompt],
        math.inf if params.agent.reasoning_history else CALLS[params.agent.prompt],
    )


def mean_turns(habits: Habits, max_steps: int) -> float:
    """Turns of an episode on average."""
    return max(1.0, habits.turns * max_steps)


def draw_episodes(
    count: int, shape: PromptShape, rates: Rates, turns: tuple[float, int], cached: bool, seed: str
) -> list[Episode]:
    """Random episodes, the same for the same arguments.

    Args:
        turns: their mean number and the maximum.
        cached: the policy's server remembers the prompt before.
        seed: of the draws.
    """
    rng = random.Random(seed)
    mean, most = turns
    weights = geometric_weights(mean, most)
    episodes = []
    for number in rng.choices(range(1, most + 1), weights, k=count):
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
