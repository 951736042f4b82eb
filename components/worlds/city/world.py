"""The city as a world: sites with state, tasks by template and seed, verdicts from the difference of two states."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any, ClassVar

from components.params import BrowserParams
from components.params import Params as Recipe
from components.records import Split, Task
from components.worlds import (
    PinnedTasks,
    Requirement,
    State,
    StateDiff,
    TaskCheck,
    World,
    WorldError,
    unknown_names,
)
from components.worlds.answers import Answer
from components.worlds.city.checking import check_templates
from components.worlds.city.image import INSTALLATION, digest, ensure, find_python, modifiers_digest
from components.worlds.city.instances import WORLD, Instance
from components.worlds.city.params import CityParams, PinnedInstances
from components.worlds.city.server_process import CityServer
from components.worlds.city.site import MODIFIERS, SITES, CitySite
from components.worlds.city.splits import PLAIN, Part, draw, parts, validation_parts
from components.worlds.city.tasks.registry import templates
from components.worlds.city.tasks.template import Template
from components.worlds.oracle import Oracle


class City(World):
    """A shop, a help desk, a forum and more, on which each episode has a copy of all data of its own."""

    name: ClassVar[str] = WORLD
    Params = CityParams
    Pinned = PinnedInstances
    origins = CitySite.origins
    independent_episodes = True
    replayable = True
    clean_success: ClassVar[str] = (
        "the copy's data changed as the task asks and in nothing else, and the answer is right"
    )

    params: CityParams

    def __init__(self, params: CityParams) -> None:
        super().__init__(params)
        self._sites = [CitySite() for _ in range(params.processes)]
        self._site = self._sites[0]
        self._taken: frozenset[tuple[str, str]] | None = None  # instances of `tasks`, which validation leaves out

    def problems(self, recipe: Recipe) -> list[str]:
        """Reports templates, sites and modifiers that do not exist, and processes that would have no episode."""
        known = [*SITES, *templates()]
        processes, concurrency = self.params.processes, recipe.browser.concurrency
        too_many = f"processes = {processes} is more than browser.concurrency = {concurrency}: lower it"
        return [
            *([too_many] if processes > concurrency else []),
            *unknown_names("train", self.params.train, known, "there is no template or site"),
            *unknown_names("heldout", self.params.heldout, known, "there is no template or site"),
            *unknown_names("modifiers", self.params.modifiers, MODIFIERS, "there is no modifier"),
            *unknown_names("heldout_modifiers", self.params.heldout_modifiers, MODIFIERS, "there is no modifier"),
        ]

    def episode_settings(self) -> dict[str, Any]:
        """Digests of the sites' code and packages, and of the modifiers."""
        return {"city": digest(), "modifiers": modifiers_digest()}

    def requirements(self) -> list[Requirement]:
        """The environment in which the sites run."""
        return [Requirement("city", "runs the city's sites", lambda: str(find_python()), commands=INSTALLATION)]

    async def tasks(self, seed: int, viewport: tuple[int, int]) -> list[dict[str, Any]]:
        """One row per template and seed. The seeds come from the section, not from the recipe's seed.

        Evaluation and held-out tasks leave out the instances of earlier splits (`splits.draw`).
        """
        return await asyncio.to_thread(self._tasks)

    async def validation_tasks(self, tasks: int, heldout: int, viewport: tuple[int, int]) -> list[dict[str, Any]]:
        """Tasks with seeds from `validation_seed_start` on; those of held-out templates have no modifiers.

        They leave out the instances of `tasks`, which are made first unless they were already.
        """
        return await asyncio.to_thread(self._validation_tasks, tasks, heldout)

    async def pinned_tasks(self, pages: PinnedTasks, viewport: tuple[int, int]) -> list[dict[str, Any]]:
        """One row per template and instance of a benchmark.

        Raises:
            WorldError: a template or a modifier does not exist, a template has too few instances, or this version of
                the city makes other tasks than the benchmark pins.
        """
        assert isinstance(pages, PinnedInstances)
        rows = await asyncio.to_thread(pinned_rows, pages)
        if (checksum := rows_sha256(rows)) != pages.sha256:
            raise WorldError(
                f"the tasks of this version of the city have sha256 {checksum}, the benchmark's have {pages.sha256}, "
                "so results could not be compared: check out the version of Waymark that has this benchmark, or give "
                "a copy of the benchmark another version and this checksum"
            )
        return rows

    def planned_tasks(self, validation: int, heldout: int) -> Counter[Split]:
        """The counts of all parts; those that a template cannot give are counted, too."""
        chosen = self._templates()
        counts: Counter[Split] = Counter()
        for part in (*parts(self.params, *chosen), *validation_parts(self.params, *chosen, validation, heldout)):
            counts[part.split] += part.count
        return counts

    def _validation_tasks(self, tasks: int, heldout: int) -> list[dict[str, Any]]:
        planned = list(validation_parts(self.params, *self._templates(), tasks, heldout))
        if not any(part.count for part in planned):
            return []
        if self._taken is None:
            self._tasks()
        return _drawn(planned, {*(self._taken or ())})

    def _templates(self) -> tuple[list[Template], list[Template]]:
        """The templates that are trained on, and the held-out ones."""
        heldout = _all_with(self.params.heldout)
        return [template for template in select(self.params.train) if template not in heldout], heldout

    def _tasks(self) -> list[dict[str, Any]]:
        taken: set[tuple[str, str]] = set()
        rows = _drawn(parts(self.params, *self._templates()), taken)
        self._taken = frozenset(taken)
        return rows

    def site(self) -> CitySite:
        """The sites, served by a process of their own. States (`reset`) are in this process."""
        return self._site

    def sites(self) -> list[CitySite]:
        """The sites once for each of `processes`. An episode's copy is in one process, and its browser reaches no
        other."""
        return self._sites

    def can_teach(self, task: Task) -> bool:
        """Every task has an oracle."""
        return task.website.removeprefix(f"{self.name}/") in templates()

    def teacher(self, task: Task, attempt: int = 0, seed: int = 0, noise: float = 0.0) -> Oracle:
        """The oracle of the task's template."""
        rng = random.Random(f"{task.task_id}|{attempt}|{seed}")
        return Instance.of(task).oracle(rng, noise, task.intent)

    def expected_answer(self, task: Task) -> Answer | None:
        """The answer of the task's template for its facts."""
        made = Instance.of(task)
        return made.template.answer(made.facts)

    def check(
        self, names: Sequence[str], browser: BrowserParams, first_seed: int, seeds: int
    ) -> AsyncIterator[TaskCheck]:
        """Checks templates in Chromium (`checking`); a site's name stands for all templates that begin there.

        With `modifiers`, each instance has one of them, in turn by its seed.
        """
        known = [*SITES, *templates()]
        problems = unknown_names("the city", names, known, "there is no template or site")
        problems += unknown_names("modifiers", self.params.modifiers, MODIFIERS, "there is no modifier")
        if problems:
            raise WorldError("\n".join(problems))
        variants: list[tuple[str, ...]] = [(name,) for name in self.params.modifiers] or [()]
        return check_templates(select([*names] or [*SITES]), browser, first_seed, seeds, variants)

    async def reset(self, seed: int) -> State:
        """A fresh copy. The site must be served."""
        return self._state((await asyncio.to_thread(self._server.reset, seed))["key"])

    async def snapshot(self, state: State) -> State:
        """Keeps the current data of a copy."""
        return self._state(await asyncio.to_thread(self._server.snapshot, state.key))

    async def fork(self, state: State) -> State:
        """A second copy that begins with the data of `state`."""
        return self._state(await asyncio.to_thread(self._server.fork, state.key))

    async def diff(self, before: State, after: State) -> StateDiff:
        """The rows that differ."""
        return StateDiff(changes=await asyncio.to_thread(self._server.diff, before.key, after.key))

    async def query(self, state: State, sql: str, *parameters: Any) -> list[dict[str, Any]]:
        """The rows of a SQLite statement that reads the database of all sites."""
        return await asyncio.to_thread(self._server.query, state.key, sql, *parameters)

    async def drop(self, state: State) -> None:
        """Forgets the copy or snapshot, whose key then opens nothing."""
        await asyncio.to_thread(self._server.drop, state.key)

    @property
    def _server(self) -> CityServer:
        if not self._site.is_served:
            raise WorldError("the city is not served yet; `await world.site().start()` first")
        return self._site.server

    def _state(self, key: str) -> State:
        return State(world=self.name, key=key)


def pinned_rows(pages: PinnedInstances) -> list[dict[str, Any]]:
    """The task rows of a benchmark, whatever its checksum is.

    Raises:
        WorldError: a template or a modifier does not exist, or a template has too few instances.
    """
    names = pages.templates or [*SITES]
    problems = unknown_names("templates", names, [*SITES, *templates()], "there is no template or site")
    problems += unknown_names("modifiers", pages.modifiers, MODIFIERS, "there is no modifier")
    if problems:
        raise WorldError("\n".join(problems))
    variants = [(name,) for name in pages.modifiers] or PLAIN
    parts_ = [Part("eval", kind, pages.first_seed, pages.per_template, variants) for kind in select(names)]
    rows = _drawn(parts_, set())
    if errors := [row["error"] for row in rows if "error" in row]:
        raise WorldError(errors[0])
    return rows


def rows_sha256(rows: Sequence[dict[str, Any]]) -> str:
    """The checksum of task rows, as JSON with sorted keys."""
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()


def _drawn(planned: Iterable[Part], taken: set[tuple[str, str]]) -> list[dict[str, Any]]:
    server = CityServer(ensure())
    try:
        return [row for part in planned for row in draw(server, part, taken)]
    finally:
        server.stop()


def select(names: list[str]) -> list[Template]:
    """The templates of these names; a site's name stands for all templates that start there."""
    return [template for name, template in templates().items() if name in names or template.sites[0] in names]


def _all_with(names: list[str]) -> list[Template]:
    """The templates of these names; a site's name stands for all templates that use the site, wherever they start, so
    that training sees no page of it."""
    return [template for name, template in templates().items() if name in names or {*template.sites} & {*names}]
