"""What the benchmarks of the browser have in common: MiniWoB++ tasks, settings, scripts, and episodes written down.

A `Plan` is an episode that somebody has played: its calls can be played again, by us and by a peer, on the same page.
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
from components.sites import MiniWoB

FAMILIES = (
    "click-checkboxes", "enter-text", "login-user", "click-tab-2", "choose-list", "search-engine", "email-inbox",
    "form-sequence",
)  # fmt: skip
WORDS = ("amber", "birch", "cedar", "delta", "ember")


class Script:
    """A policy that says what it was given, one text per turn."""

    version = "script"

    def __init__(self, texts: list[str]) -> None:
        self._texts = iter(texts)

    def prompt_tokens(self, prompt: Prompt) -> int:
        return 0

    async def complete(self, request: Request) -> Completion:
        return Completion([], [], next(self._texts), "stop")


def miniwob_task(family: str, seed: int) -> Task:
    return Task(
        task_id=f"{family}/{seed}",
        intent="Focus into the textbox.",
        start_url=f"{MiniWoB.origin}/{family}.html",
        website=f"miniwob/{family}",
        source="miniwob",
        seed=seed,
    )


def episode_settings(params: Params, max_steps: int) -> EpisodeSettings:
    return EpisodeSettings(Renderer(params.agent, params.observation), params.agent, SamplingParams(), max_steps, 64)


@dataclass(frozen=True)
class Plan:
    """An episode's calls, one per turn; the last is `done`."""

    family: str
    seed: int
    calls: list[dict[str, Any]]

    @property
    def spec(self) -> EpisodeSpec:
        return EpisodeSpec(miniwob_task(self.family, self.seed), 0, "plan", self.seed)

    @property
    def texts(self) -> list[str]:
        return [write("look", [ToolCall(**call)]) for call in self.calls]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


async def explored(params: Params, number: int, shortest: int = 3, longest: int = 15) -> list[Plan]:
    """Episodes of a random visitor: it clicks what is there, fills in fields, scrolls and presses Tab."""
    plans = []
    one = params.browser.model_copy(update={"concurrency": 1})
    async with BrowserPool(one, site=MiniWoB(), text="elements") as pool:
        for index in range(number):
            chosen = random.Random(index)
            family = FAMILIES[index % len(FAMILIES)]
            calls: list[dict[str, Any]] = []
            async with pool.session() as session:
                seen = await session.start(miniwob_task(family, index))
                focused = False
                for _ in range(chosen.randint(shortest, longest) - 1):
                    call, focused = _next(chosen, seen.text or "", focused)
                    calls.append(call)
                    seen = (await session.step([ToolCall(**call)])).observation
            plans.append(Plan(family, index, [*calls, {"name": "done", "arguments": {"answer": "x"}}]))
    return plans


def _next(chosen: random.Random, elements: str, focused: bool) -> tuple[dict[str, Any], bool]:
    if focused:
        return {"name": "write", "arguments": {"text": chosen.choice(WORDS)}}, False
    dice = chosen.random()
    if dice < 0.1:
        return {"name": "press_keys", "arguments": {"keys": ["Tab"]}}, False
    if dice < 0.2:
        return {"name": "scroll", "arguments": {"direction": chosen.choice(["up", "down"])}}, False
    listed = parse_elements(elements)
    if not listed:
        return {"name": "click", "arguments": {"x": chosen.randrange(1001), "y": chosen.randrange(1001)}}, False
    element = chosen.choice(listed)
    return {"name": "click", "arguments": {"x": element.x, "y": element.y}}, element.role == "textbox"
