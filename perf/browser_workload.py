"""The episodes of the browser's measurements: MiniWoB++ tasks, settings, scripted policies, and recorded plans.

A `Plan` is a recorded episode. Its calls can be played again on the same page, by us and by a peer.
"""

from __future__ import annotations

import random
from dataclasses import asdict, dataclass
from typing import Any

from components.agent import Completion, EpisodeSettings, EpisodeSpec, Prompt, Renderer, Request
from components.agent.protocols.openwebrl import write
from components.browser import BrowserPool, parse_elements
from components.params import Params, SamplingParams
from components.records import Task, ToolCall
from components.worlds.miniwob.site import MiniWoBSite

FAMILIES = (
    "click-checkboxes", "enter-text", "login-user", "click-tab-2", "choose-list", "search-engine", "email-inbox",
    "form-sequence",
)  # fmt: skip
WORDS = ("amber", "birch", "cedar", "delta", "ember")


class Script:
    """A policy that gives fixed responses, one text per turn."""

    version = "script"

    def __init__(self, texts: list[str]) -> None:
        self._texts = iter(texts)

    def prompt_tokens(self, prompt: Prompt) -> int:
        """0: prompts are not encoded."""
        return 0

    async def complete(self, request: Request) -> Completion:
        """The next text."""
        return Completion([], [], next(self._texts), "stop")


def miniwob_task(family: str, seed: int) -> Task:
    """A task of a MiniWoB++ family."""
    return Task(
        task_id=f"{family}/{seed}",
        intent="Focus into the textbox.",
        start_url=f"{MiniWoBSite.origin}/{family}.html",
        website=f"miniwob/{family}",
        source="miniwob",
        seed=seed,
    )


def episode_settings(params: Params, max_steps: int) -> EpisodeSettings:
    """A recipe's settings with another number of steps."""
    return EpisodeSettings(Renderer(params.agent, params.observation), params.agent, SamplingParams(), max_steps, 64)


@dataclass(frozen=True)
class Plan:
    """An episode's calls, one per turn; the last is `done`."""

    family: str
    seed: int
    calls: list[dict[str, Any]]

    @property
    def spec(self) -> EpisodeSpec:
        """The episode that plays the plan."""
        return EpisodeSpec(miniwob_task(self.family, self.seed), 0, "plan", self.seed)

    @property
    def texts(self) -> list[str]:
        """The responses that make the calls."""
        return [write("look", [ToolCall(**call)]) for call in self.calls]

    def as_dict(self) -> dict[str, Any]:
        """The plan as JSON."""
        return asdict(self)


async def random_plans(params: Params, number: int, shortest: int = 3, longest: int = 15) -> list[Plan]:
    """Plans of a random visitor, which clicks elements, fills in fields, scrolls and presses Tab."""
    plans = []
    browser = params.browser.model_copy(update={"concurrency": 1})
    async with BrowserPool(browser, site=MiniWoBSite(), text="elements") as pool:
        for index in range(number):
            rng = random.Random(index)
            family = FAMILIES[index % len(FAMILIES)]
            calls: list[dict[str, Any]] = []
            async with pool.session() as session:
                observation = await session.start(miniwob_task(family, index))
                focused = False
                for _ in range(rng.randint(shortest, longest) - 1):
                    call, focused = _next_call(rng, observation.text or "", focused)
                    calls.append(call)
                    observation = (await session.step([ToolCall(**call)])).observation
            plans.append(Plan(family, index, [*calls, {"name": "done", "arguments": {"answer": "x"}}]))
    return plans


def _next_call(rng: random.Random, elements: str, focused: bool) -> tuple[dict[str, Any], bool]:
    if focused:
        return {"name": "write", "arguments": {"text": rng.choice(WORDS)}}, False
    draw = rng.random()
    if draw < 0.1:
        return {"name": "press_keys", "arguments": {"keys": ["Tab"]}}, False
    if draw < 0.2:
        return {"name": "scroll", "arguments": {"direction": rng.choice(["up", "down"])}}, False
    listed = parse_elements(elements)
    if not listed:
        return {"name": "click", "arguments": {"x": rng.randrange(1001), "y": rng.randrange(1001)}}, False
    element = rng.choice(listed)
    return {"name": "click", "arguments": {"x": element.x, "y": element.y}}, element.role == "textbox"
