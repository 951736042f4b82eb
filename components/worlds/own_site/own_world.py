"""The world of a user's own site. `own_site(__file__)` makes its class from the `site.yaml` beside that file."""

from __future__ import annotations

import asyncio
import hashlib
import random
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field, model_validator

from components.params import BrowserParams, Section
from components.params import Params as Recipe
from components.records import Split, Task
from components.worlds.answers import Answer
from components.worlds.oracle import Oracle
from components.worlds.own_site.checking import check_tasks
from components.worlds.own_site.image import digest, ensure, find_programs, image_of
from components.worlds.own_site.instances import MAX_TASKS, Instance, Templates
from components.worlds.own_site.recording import record_oracle
from components.worlds.own_site.site import OwnPages
from components.worlds.own_site.site_file import OwnSiteError, SiteFile, read_site
from components.worlds.own_site.tables import copy_of
from components.worlds.own_site.task_file import Query
from components.worlds.recorded import AskPerson, Recorded
from components.worlds.registry import unknown_names
from components.worlds.sources import sources_in
from components.worlds.task_check import TaskCheck
from components.worlds.world import Requirement, World

EVAL_SHARE = 4
"""At most every fourth task of a template is kept for evaluation, so that a template with few tasks trains, too."""


class OwnSiteParams(Section):
    """The world's section of a recipe: which templates, and how many tasks of each."""

    train: list[str] = Field(default_factory=list)
    """Names of templates for training and evaluation; empty: all that are not held out."""
    heldout: list[str] = Field(default_factory=list)
    """Templates that are never trained on."""
    train_per_template: int = Field(default=20, ge=0)
    eval_per_template: int = Field(default=5, ge=0)
    heldout_per_template: int = Field(default=5, ge=0)

    @model_validator(mode="after")
    def _splits_disjoint(self) -> OwnSiteParams:
        both = sorted({*self.train} & {*self.heldout})
        if both:
            raise ValueError(f"{both} are both trained on and held out")
        return self


class OwnSite(World):
    """A user's application, run and reset by commands, with tasks from a file."""

    Params = OwnSiteParams
    independent_episodes = True
    definition: ClassVar[SiteFile]
    folder: ClassVar[Path]
    """Of `site.yaml`."""

    params: OwnSiteParams

    def problems(self, recipe: Recipe) -> list[str]:
        """Reports templates that do not exist or cannot be taught, a site without tasks, and too short limits."""
        known = [*self.definition.tasks]
        return [
            *unknown_names("train", self.params.train, known, "there is no task"),
            *unknown_names("heldout", self.params.heldout, known, "there is no task"),
            *([] if known else [f": {self.folder / 'site.yaml'} has no tasks"]),
            *self._unteachable(recipe),
            *self._too_long(recipe),
            *self._too_slow(recipe.browser),
        ]

    def _unteachable(self, recipe: Recipe) -> list[str]:
        """The scripted teacher plays oracles."""
        names = [name for name in self._trained if name in self.definition.tasks]
        without = [name for name in names if self.definition.tasks[name].oracle is None]
        if recipe.teacher.policy != "scripted" or not without:
            return []
        return [
            f"train: {', '.join(without)} without an oracle, which teacher.policy = scripted plays: write its steps "
            f"(`waymark world record {self.name} {without[0]}`), leave the tasks out, or name another teacher"
        ]

    def _too_long(self, recipe: Recipe) -> list[str]:
        """The scripted teacher takes a turn for each step of an oracle, and one for `done`."""
        tasks, limit = self.definition.tasks, recipe.teacher.max_steps
        turns = {name: len(tasks[name].oracle or []) + 1 for name in self._trained if name in tasks}
        long = {name: count for name, count in turns.items() if count > limit}
        if recipe.teacher.policy != "scripted" or not long:
            return []
        names = ", ".join(f"{name} ({count})" for name, count in long.items())
        return [
            f"train: the oracle needs more turns than teacher.max_steps = {limit} in {names}, with `done` and without "
            f"scrolls: raise teacher.max_steps, and rl.short.max_steps, rl.long.max_steps and evaluation.max_steps, "
            f"above {max(long.values())}, or leave the tasks out"
        ]

    def _too_slow(self, browser: BrowserParams) -> list[str]:
        """An episode begins, with a restart where that is the reset, within the browser's limit."""
        limit = self.definition.start_timeout_s
        if not self.definition.reset.restarts or limit <= browser.start_timeout_s:
            return []
        return [
            f": start_timeout_s = {limit:g} of site.yaml is longer than browser.start_timeout_s = "
            f"{browser.start_timeout_s:g}, within which an episode begins: raise the recipe's limit"
        ]

    def episode_settings(self) -> dict[str, Any]:
        """Digests of the data and of everything that `site.yaml` and `tasks.yaml` say."""
        rules = hashlib.sha256(self.definition.model_dump_json().encode()).hexdigest()[:16]
        return {self.name: {"data": digest(self.definition, self.folder), "rules": rules}}

    def sources(self) -> list[Path]:
        """Also the files beside `site.yaml`."""
        return [*super().sources(), *sources_in(self.folder)]

    def requirements(self) -> list[Requirement]:
        """The programs of `requires`."""
        if not self.definition.requires:
            return []
        return [Requirement(self.name, f"runs the site {self.name}", lambda: find_programs(self.definition))]

    async def tasks(self, seed: int, viewport: tuple[int, int]) -> list[dict[str, Any]]:
        """Rows by template and number. Evaluation has the first numbers, training the next ones."""
        return await asyncio.to_thread(self._tasks)

    def planned_tasks(self, validation: int, heldout: int) -> Counter[Split]:
        """Of a template whose number of tasks needs data that were not made yet, as many as the section asks for."""
        image = image_of(self.definition, self.folder)
        templates = self._templates(image) if image.exists() else Templates(self.definition, None)
        counts: Counter[Split] = Counter()
        for name in self._trained:
            known = _count(templates, name)
            evaluated = self._evaluated(known)
            counts["eval"] += evaluated
            counts["train"] += min(self.params.train_per_template, known - evaluated)
        for name in self.params.heldout:
            counts["heldout"] += min(self.params.heldout_per_template, _count(templates, name))
        return counts

    def templates(self) -> Templates:
        """The templates, with the first data of the site; these are made if they do not exist.

        Raises:
            OwnSiteError: they cannot be made.
        """
        return self._templates(ensure(self.definition, self.folder))

    def _templates(self, image: Path) -> Templates:
        databases = self.definition.state.sqlite
        if not databases:
            return Templates(self.definition, None)
        path = image / databases[0]
        if not path.exists():
            if any(isinstance(values, Query) for task in self.definition.tasks.values() for values in task.queried):
                raise OwnSiteError(
                    f"state.sqlite: `prepare` of {self.name} made no {databases[0]}, which SQL of its tasks reads: "
                    "correct the path, or let `prepare` make the database"
                )
            return Templates(self.definition, None)
        try:
            return Templates(self.definition, copy_of(path))
        except sqlite3.Error as error:
            raise OwnSiteError(f"state.sqlite: {path} cannot be read as a SQLite database: {error}") from error

    def _tasks(self) -> list[dict[str, Any]]:
        params, templates = self.params, self.templates()
        rows = []
        for name in self._trained:
            evaluated = self._evaluated(templates.count(name))
            rows += [task.row("eval") for task in templates.instances(name, 1, evaluated)]
            rows += [task.row("train") for task in templates.instances(name, evaluated + 1, params.train_per_template)]
        for name in params.heldout:
            rows += [task.row("heldout") for task in templates.instances(name, 1, params.heldout_per_template)]
        _require_unseen(rows)
        return rows

    @property
    def _trained(self) -> list[str]:
        return self.params.train or [name for name in self.definition.tasks if name not in self.params.heldout]

    def _evaluated(self, count: int) -> int:
        """Evaluation tasks of a template that has `count` tasks."""
        return min(self.params.eval_per_template, count // EVAL_SHARE)

    def site(self) -> OwnPages:
        """The pages, served by processes of the application."""
        return OwnPages(self.definition, self.folder)

    def can_teach(self, task: Task) -> bool:
        """Whether the task's template has an oracle."""
        template = self.definition.tasks.get(task.website.removeprefix(f"{self.name}/"))
        return template is not None and template.oracle is not None

    def teacher(self, task: Task, attempt: int = 0, seed: int = 0, noise: float = 0.0) -> Oracle:
        """The oracle of the task's template.

        Raises:
            ValueError: it has none.
        """
        if not self.can_teach(task):
            name = task.website.removeprefix(f"{self.name}/")
            raise ValueError(f"{name} has no oracle: write the steps of one in the site's file")
        rng = random.Random(f"{task.task_id}|{attempt}|{seed}")
        return Instance.of(self.definition, task).oracle(rng, noise, task.intent)

    def expected_answer(self, task: Task) -> Answer | None:
        """The answer of the task's template for its parameters."""
        return Instance.of(self.definition, task).expected

    def check(
        self, names: Sequence[str], browser: BrowserParams, first_seed: int, seeds: int
    ) -> AsyncIterator[TaskCheck]:
        """Checks templates in Chromium (`checking`)."""
        problems = unknown_names(f"the site {self.name}", names, self.definition.tasks, "there is no task")
        if problems:
            raise OwnSiteError("\n".join(problems))
        return check_tasks(self, [*names] or [*self.definition.tasks], self._patient(browser), first_seed, seeds)

    async def record(
        self, family: str, number: int, browser: BrowserParams, ask: AskPerson, headed: bool = True
    ) -> Recorded:
        """Writes down what a person does as the task's oracle, in `oracles/<task>.yaml`, and replays it."""
        return await record_oracle(self, family, number, self._patient(browser), ask, headed)

    def _patient(self, browser: BrowserParams) -> BrowserParams:
        """A browser that waits for the application to start before each episode."""
        longest = self.definition.start_timeout_s + browser.start_timeout_s
        return browser.model_copy(update={"start_timeout_s": longest}) if self.definition.reset.restarts else browser


def _count(templates: Templates, name: str) -> int:
    """The tasks of a template; `MAX_TASKS` if its parameters come from data that are not there."""
    try:
        return templates.count(name)
    except OwnSiteError:
        return MAX_TASKS


def _require_unseen(rows: Sequence[dict[str, Any]]) -> None:
    """Refuses an instruction of evaluation that training has on the same start page: of two templates, because the
    tasks of one differ.

    Raises:
        OwnSiteError: there is one.
    """
    trained = {(row["intent"], row["start_url"]): row["task_id"] for row in rows if row["split"] == "train"}
    for row in rows:
        if row["split"] != "train" and (same := trained.get((row["intent"], row["start_url"]))):
            raise OwnSiteError(
                f"{same} is for training, {row['task_id']} for evaluation, and both have the "
                f"instruction {row['intent']!r} and one start page: word one of the two templates in another way, or "
                "leave it out"
            )


def own_site(file: str) -> type[OwnSite]:
    """The class of a user's world, for the attribute `KIND` of its package.

    Args:
        file: `__file__` of the package, beside which `site.yaml` is.

    Raises:
        OwnSiteError: `site.yaml` is missing or wrong.
    """
    folder = Path(file).resolve().parent
    site = read_site(folder)
    members: dict[str, Any] = {
        "__doc__": f"The site {site.name} of {folder}.",
        "name": site.name,
        "origins": (site.address,),
        "definition": site,
        "folder": folder,
        "replayable": site.replayable,
    }
    if site.forgeable:
        members |= {"forgeable": site.forgeable, "clean_success": f"the rule is satisfied, but {site.forgeable}"}
    return type(f"OwnSite_{site.name}", (OwnSite,), members)
