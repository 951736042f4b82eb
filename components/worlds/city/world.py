"""The city as a world: sites with state, tasks by template and seed, verdicts from the difference of two states."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from typing import Any, ClassVar

from components.params import BrowserParams
from components.params import Params as Recipe
from components.records import Split, Task
from components.worlds import (
    Requirement,
    State,
    StateDiff,
    TaskCheck,
    World,
    WorldError,
    even_counts,
    unknown_names,
)
from components.worlds.city.checking import check_templates
from components.worlds.city.image import digest, ensure, find_python, modifiers_digest
from components.worlds.city.instances import WORLD, Instance, instances
from components.worlds.city.params import CityParams
from components.worlds.city.server_process import CityServer
from components.worlds.city.site import MODIFIERS, SITES, CitySite
from components.worlds.city.tasks.registry import templates
from components.worlds.city.tasks.template import Template
from components.worlds.oracle import Oracle


class City(World):
    """A shop, a help desk, a forum and more, on which each episode has a copy of all data of its own."""

    name: ClassVar[str] = WORLD
    Params = CityParams
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
        return [Requirement("city", "runs the city's sites", lambda: str(find_python()))]

    async def tasks(self, seed: int, viewport: tuple[int, int]) -> list[dict[str, Any]]:
        """One row per template and seed. The seeds come from the section, not from the recipe's seed."""
        return await asyncio.to_thread(self._tasks)

    async def validation_tasks(self, tasks: int, heldout: int, viewport: tuple[int, int]) -> list[dict[str, Any]]:
        """Tasks with seeds from `validation_seed_start` on; those of held-out templates have no modifiers."""
        return await asyncio.to_thread(self._validation_tasks, tasks, heldout)

    def _validation_tasks(self, tasks: int, heldout: int) -> list[dict[str, Any]]:
        trained, never_trained = self._templates()
        sometimes = [(), *((name,) for name in self.params.modifiers)]
        plan: list[tuple[list[Template], int, Split, Sequence[tuple[str, ...]]]] = [
            (trained, tasks, "validation", sometimes),
            (never_trained, heldout, "heldout_validation", [()]),
        ]
        server, rows, first = CityServer(ensure()), [], self.params.validation_seed_start
        try:
            for kinds, total, split, modifiers in plan:
                counts = even_counts([kind.name for kind in kinds], total)
                for kind in kinds:
                    if count := counts[kind.name]:
                        rows += [task.row(split) for task in instances(server, kind, first, count, modifiers)]
            return rows
        finally:
            server.stop()

    def _templates(self) -> tuple[list[Template], list[Template]]:
        """The templates that are trained on, and the held-out ones."""
        heldout = select(self.params.heldout)
        return [template for template in select(self.params.train) if template not in heldout], heldout

    def _tasks(self) -> list[dict[str, Any]]:
        params = self.params
        trained, heldout = self._templates()
        server = CityServer(ensure())
        try:
            rows = []
            sometimes = [(), *((name,) for name in params.modifiers)]
            plan: list[tuple[list[Template], int, int, Split, Sequence[tuple[str, ...]]]] = [
                (trained, params.train_seed_start, params.train_per_template, "train", sometimes),
                (trained, params.eval_seed_start, params.eval_per_template, "eval", sometimes),
                (heldout, params.eval_seed_start, params.heldout_per_template, "heldout", [()]),
                *(
                    (trained, params.eval_seed_start, params.heldout_per_template, "heldout", [(name,)])
                    for name in params.heldout_modifiers
                ),
            ]
            for kinds, first, count, split, modifiers in plan:
                for kind in kinds:
                    rows += [task.row(split) for task in instances(server, kind, first, count, modifiers)]
            return rows
        finally:
            server.stop()

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
        return Instance.of(task).oracle(random.Random(f"{task.task_id}|{attempt}|{seed}"), noise)

    def check(
        self, names: Sequence[str], browser: BrowserParams, first_seed: int, seeds: int
    ) -> AsyncIterator[TaskCheck]:
        """Checks templates in Chromium (`checking`); a site's name stands for all templates that begin there.

        With `modifiers`, each instance has one of them, in turn by its seed.
        """
        known = [*SITES, *templates()]
        problems = unknown_names("the city", names, known, "has no template or site")
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

    @property
    def _server(self) -> CityServer:
        if not self._site.is_served:
            raise WorldError("the city is not served yet; `await world.site().start()` first")
        return self._site.server

    def _state(self, key: str) -> State:
        return State(world=self.name, key=key)


def select(names: list[str]) -> list[Template]:
    """The templates of these names; a site's name stands for all templates that start there."""
    return [template for name, template in templates().items() if name in names or template.sites[0] in names]
