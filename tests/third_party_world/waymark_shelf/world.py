"""The world: its section of the recipe, its tasks, how it is served, its rule and its teacher."""

from __future__ import annotations

import random
import uuid
from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from playwright.async_api import Page
from pydantic import Field

from components.browser import Listed
from components.params import Params as Recipe
from components.params import Section
from components.records import Split, Task, ToolCall
from components.worlds import LoopbackSite, TeacherTurn, World, unknown_names
from waymark_shelf.library import COOKIE, STARS, Library, books

FAMILIES = ("borrow", "search", "rate")
ORIGIN = "http://shelf"


class ShelfParams(Section):
    """`worlds.shelf` of a recipe."""

    families: list[str] = Field(default_factory=lambda: [*FAMILIES])
    train_per_family: int = Field(default=0, ge=0)
    eval_per_family: int = Field(default=0, ge=0)


class Shelf(World):
    """A library. A task's family is what to do; its seed decides which books there are and which one is meant."""

    name: ClassVar[str] = "shelf"
    Params = ShelfParams
    origins = (ORIGIN,)
    independent_episodes = True

    params: ShelfParams

    def problems(self, recipe: Recipe) -> list[str]:
        """Families that do not exist."""
        return unknown_names("families", self.params.families, FAMILIES, "there is no family")

    async def tasks(self, seed: int, viewport: tuple[int, int]) -> list[dict[str, Any]]:
        """Rows of both splits; evaluation seeds begin where no training seed comes."""
        splits = (("train", 0, self.params.train_per_family), ("eval", 1_000_000, self.params.eval_per_family))
        return [
            row(family, number, split)
            for split, first, count in splits
            for family in self.params.families
            for number in range(first, first + count)
        ]

    def planned_tasks(self, validation: int, heldout: int) -> Counter[Split]:
        """As many as `tasks` makes of each family."""
        families = len(self.params.families)
        return Counter(
            {"train": families * self.params.train_per_family, "eval": families * self.params.eval_per_family}
        )

    def site(self) -> ShelfSite:
        """The library on loopback."""
        return ShelfSite()

    def can_teach(self, task: Task) -> bool:
        """Every task has a plan."""
        return task.website.startswith(f"{self.name}/")

    def teacher(self, task: Task, attempt: int = 0, seed: int = 0, noise: float = 0.0) -> ShelfTeacher:
        """Clicks what the task names; with noise, sometimes another thing."""
        return ShelfTeacher(task, random.Random(f"{task.task_id} {attempt} {seed}").random() < noise)


def deed(family: str, seed: int) -> str:
    """What a task asks for, in the words in which the library writes deeds down."""
    first, second, third, _ = books(seed)
    if family == "rate":
        return f"rate {third} {STARS[seed % len(STARS)]}"
    return f"borrow {first}" if family == "borrow" else f"search {second}"


def row(family: str, seed: int, split: str) -> dict[str, Any]:
    """One task row."""
    kind, title, *stars = deed(family, seed).split()
    intents = {
        "borrow": f'Click on the "Borrow {title}" button.',
        "search": f'Enter "{title}" into the text field and press Search.',
        "rate": f'Open "{title}" and click "{"".join(stars)} stars".',
    }
    return {
        "task_id": f"shelf/{family}/{seed}",
        "intent": intents[kind],
        "start_url": f"{ORIGIN}/",
        "website": f"shelf/{family}",
        "seed": seed,
        "split": split,
        "evaluator": {"type": "site_reward", "deed": deed(family, seed)},
    }


class ShelfSite(LoopbackSite[Library]):
    """The library while it is served. Each episode is a reader with a token of its own, in a cookie."""

    origins = (ORIGIN,)

    def __init__(self) -> None:
        super().__init__()
        self._expected: dict[str, str] = {}

    def serve(self) -> Library:
        """Start the server."""
        return Library()

    def cookies(self, task: Task) -> dict[str, str]:
        """The seed, which decides what the pages show, and the reader's token."""
        token = uuid.uuid4().hex
        self._expected[token] = str(task.evaluator["deed"])
        return {COOKIE: f"{task.seed or 0}.{token}"}

    async def ready(self, page: Page) -> str | None:
        """None if the library is shown."""
        return None if await page.title() == "Library" else "this is not the library"

    async def reward(self, page: Page) -> float | None:
        """1 if the reader did what the task asks for and nothing else, by the server's own list."""
        cookies = {cookie.get("name"): cookie.get("value", "") for cookie in await page.context.cookies(ORIGIN)}
        token = cookies.get(COOKIE, "").partition(".")[2]
        return float(self.server.deeds.get(token, []) == [self._expected.get(token)])


class ShelfTeacher:
    """Does the task step by step; `errs` makes it click another element of the same role once."""

    acts_on: ClassVar[Literal["points"]] = "points"

    def __init__(self, task: Task, errs: bool) -> None:
        kind, title, *stars = str(task.evaluator["deed"]).split()
        self._errs = errs
        self._steps = {
            "borrow": [("button", f"Borrow {title}")],
            "search": [("write", title), ("button", "Search")],
            "rate": [("link", title), ("button", f"{''.join(stars)} stars")],
        }[kind]

    def next(self, elements: Sequence[Listed]) -> TeacherTurn:
        """The next step; the last one also says `done`."""
        role, name = self._steps.pop(0)
        finished = [] if self._steps else [ToolCall(name="done", arguments={"answer": "done"})]
        if role == "write":
            field = next(item for item in elements if item.role == "field")
            write = ToolCall(name="write", arguments={"text": name})
            return TeacherTurn(f'click field {field.x} {field.y}, write "{name}"', [_click(field), write])
        wrong = [item for item in elements if item.role == role and item.name != name]
        right = [item for item in elements if item.role == role and item.name == name]
        item = (wrong if self._errs and wrong else right)[0]
        self._errs = self._errs and item in right
        return TeacherTurn(f'click {role} "{item.name}" {item.x} {item.y}', [_click(item), *finished])


def _click(item: Listed) -> ToolCall:
    return ToolCall(name="click", arguments={"x": item.x, "y": item.y})
