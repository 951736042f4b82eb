"""Finds the worlds of a recipe by name, and the world that a task belongs to."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from components import plugins
from components.params import Params, RecipeError
from components.records import Task
from components.worlds.world import World, WorldError

if TYPE_CHECKING:
    from components.browser import Site

FAMILY = "worlds"
LIVE = "live"


def world_class(name: str) -> type[World]:
    """The class of a world: built in, installed in the entry-point group `waymark.worlds`, or given by dotted path.

    Raises:
        plugins.UnknownKindError: no world has this name, or the object is no `World`, or one with another name.
    """
    kind = plugins.find(FAMILY, name)
    if not (isinstance(kind, type) and issubclass(kind, World)):
        raise plugins.UnknownKindError(f"{name!r} is {kind!r}, which is no subclass of components.worlds.World")
    if name in plugins.names(FAMILY) and kind.name != name:
        raise plugins.UnknownKindError(
            f"the world {name!r} is {kind.__name__}, whose name is {kind.name!r}: give the entry point this name, too"
        )
    return kind


@cache
def installed_worlds() -> tuple[World, ...]:
    """An instance of each world that needs no dotted path, with the defaults of its section, sorted by name.

    Worlds of other distributions that cannot be made are left out; `waymark doctor` lists them (`broken_worlds`).
    """
    return tuple(made for made in map(_made, plugins.usable(FAMILY)) if isinstance(made, World))


@cache
def broken_worlds() -> dict[str, str]:
    """Installed worlds that cannot be imported or made: name to reason. A recipe that names one fails."""
    made = {name: _made(name) for name in plugins.usable(FAMILY)}
    return {**plugins.broken(FAMILY), **{name: reason for name, reason in made.items() if isinstance(reason, str)}}


def _made(name: str) -> World | str:
    """A world with the defaults of its section, or why there is none. An error of a built-in world is raised."""
    if name in plugins.builtin(FAMILY):
        kind = world_class(name)
        return kind(kind.Params())
    try:
        kind = world_class(name)
        return kind(kind.Params())
    except Exception as error:  # of a package that is not ours
        return f"worlds: {name!r} cannot be made with the defaults of its section: {type(error).__name__}: {error}"


def worlds_of(params: Params) -> Worlds:
    """The worlds that a recipe names."""
    return Worlds(_keyed(key, world_class(key)(section)) for key, section in params.worlds.items())


def _keyed(key: str, world: World) -> World:
    world.key = key
    return world


class Worlds:
    """The worlds of one run. Iteration is in the order of the recipe."""

    def __init__(self, worlds: Iterable[World]) -> None:
        self._worlds = list(worlds)

    def __iter__(self) -> Iterator[World]:
        return iter(self._worlds)

    @property
    def names(self) -> list[str]:
        """The names of the worlds, in the recipe's order."""
        return [world.name for world in self._worlds]

    def find(self, task: Task) -> World | None:
        """The world that a task belongs to; None if this run does not have it."""
        name = self.name_of(task)
        return next((world for world in self._worlds if world.name == name), None)

    def of(self, task: Task) -> World:
        """The world that a task belongs to.

        Raises:
            ValueError: this run does not have the world.
        """
        world = self.find(task)
        if world is None:
            self.require([task])
        assert world is not None
        return world

    def name_of(self, task: Task) -> str:
        """The name of the world that serves the task's start page, even if this run does not have it; else `live`."""
        return next((world.name for world in [*self._worlds, *installed_worlds()] if world.serves(task)), LIVE)

    def is_live(self, task: Task) -> bool:
        """Whether the task is on the web or on the user's servers, because no world serves its start page."""
        return self.name_of(task) == LIVE

    def require(self, tasks: Iterable[Task]) -> None:
        """Refuses tasks of worlds that this run does not have. The environment would end each of their episodes.

        Raises:
            ValueError: there are such tasks; the message names them and their worlds.
        """
        names = {task.task_id: self.name_of(task) for task in tasks}
        foreign = {task_id: name for task_id, name in names.items() if name not in self.names}
        if foreign:
            raise ValueError(
                f"{len(foreign)} tasks are on {' and '.join(sorted({*foreign.values()}))}, which this run does not "
                f"have ({', '.join([*foreign][:3])}…): add `{next(iter(foreign.values()))}: {{}}` to worlds, which now "
                f"has {', '.join(self.names)}, or take their file out of tasks.files"
            )

    def require_independent(self, tasks: Iterable[Task], repetition: str) -> None:
        """Refuses to try tasks more than once if an episode finds what another one changed. There, an agent that only
        says `done` succeeds as soon as an earlier attempt did the task.

        Args:
            repetition: what tries tasks more than once, such as `teacher.attempts = 4`.

        Raises:
            WorldError: a task is on a world without `independent_episodes`; the message has the remedy.
        """
        dependent = next((world for world in map(self.of, tasks) if not world.independent_episodes), None)
        if dependent is not None:
            raise WorldError(f"worlds.{dependent.key}{_dependence(dependent, [repetition])}")

    def require_replayable(self, tasks: Iterable[Task]) -> None:
        """Refuses branches (`rl.branches`) of tasks whose state the same calls may not reach again.

        Raises:
            WorldError: a task is on a world without `replayable`; the message has the remedy.
        """
        other = next((world for world in map(self.of, tasks) if not world.replayable), None)
        if other is not None:
            raise WorldError(f"worlds.{other.key}{_not_replayable(other)}")

    def sites(self) -> list[Site | None]:
        """The sites of all worlds, several where a world serves its pages by several processes; None for pages on the
        web."""
        return [site for world in self._worlds for site in world.sites()]

    def require_possible(self, recipe: Params) -> None:
        """Checks each world's part of the recipe.

        Raises:
            RecipeError: there are problems; the message has one line for each.
        """
        problems = [
            f"worlds.{world.key}{'' if problem.startswith(':') else '.'}{problem}"
            for world in self._worlds
            for problem in [
                *world.problems(recipe),
                *_repetition_problems(world, recipe),
                *_branch_problems(world, recipe),
                *_teacher_problems(world, recipe),
            ]
        ]
        if problems:
            raise RecipeError("\n".join([f"recipe {recipe.name}:", *(f"  {problem}" for problem in problems)]))

    def require_installed(self) -> None:
        """Checks that the programs that the worlds need are on this machine.

        Raises:
            WorldError: a program is missing; the message names the command that installs it.
        """
        for world in self._worlds:
            for requirement in world.requirements():
                requirement.find()


def _repetition_problems(world: World, recipe: Params) -> list[str]:
    """The problem of a world whose episodes are not independent: a pipeline tries each task several times."""
    if world.independent_episodes:
        return []
    repetitions = {
        f"teacher.attempts = {recipe.teacher.attempts}": recipe.teacher.attempts > 1,
        f"rl.group_size = {recipe.rl.group_size}": recipe.rl.short.iterations + recipe.rl.long.iterations > 0,
        "the evaluations of base, SFT and RL": True,
    }
    return [_dependence(world, [repetition for repetition, is_there in repetitions.items() if is_there])]


def _dependence(world: World, repetitions: Sequence[str]) -> str:
    """Why a world's tasks cannot be tried more than once, and the remedy. It goes on after `worlds.<name>`."""
    remedy = (
        f"set worlds.{world.key}.independent_episodes to true"
        if "independent_episodes" in type(world.params).model_fields
        else f"set {type(world).__name__}.independent_episodes = True"
    )
    return (
        f": tasks are tried more than once ({', '.join(repetitions)}), and an attempt would find what earlier ones "
        "changed, so that an agent that only says `done` could succeed. Give each episode a copy of the data "
        f"(docs/how-to/add-a-world.md); if pages never change or each episode has a copy, {remedy}"
    )


def _branch_problems(world: World, recipe: Params) -> list[str]:
    """The problem of a world whose episodes cannot be brought back to a turn, if the recipe wants branches."""
    return [] if recipe.rl.branches is None or world.replayable else [_not_replayable(world)]


def _teacher_problems(world: World, recipe: Params) -> list[str]:
    """The problem of a world without a scripted teacher, if that is to teach its training tasks. The live web says it
    itself."""
    if recipe.teacher.policy != "scripted" or type(world).teacher is not World.teacher or not world.origins:
        return []
    if not _may_train(world):
        return []
    return [
        ": teacher.policy = scripted, and this world has no scripted teacher: set teacher.policy to endpoint and let a "
        f"model teach, or write {type(world).__name__}.teacher; if it makes no training tasks, give its section "
        "`train: int = 0` (docs/how-to/add-a-world.md)"
    ]


def _may_train(world: World) -> bool:
    """Whether a world makes training tasks, or its section does not say so in the way that `planned_tasks` knows."""
    if type(world).tasks is World.tasks:
        return False
    keys = world.params.model_dump()
    numbers = [value for key, value in keys.items() if key == "train" or key.startswith("train_per_")]
    is_planned = type(world).planned_tasks is not World.planned_tasks or not all(numbers)
    return world.planned_tasks(0, 0)["train"] > 0 or not is_planned


def _not_replayable(world: World) -> str:
    """Why episodes cannot branch, and the remedy. It goes on after `worlds.<name>`."""
    return (
        ": rl.branches begins episodes at a turn of another one, whose calls it runs again on a fresh copy of the "
        "data, and this world does not say that the same calls lead to the same state. Set rl.branches to null, take a "
        f"world that says so ({' or '.join(_replayable_names())}), or, if each episode of a task begins with the same "
        f"data of its own, set {type(world).__name__}.replayable = True, or `replayable: true` in the site.yaml of a "
        "site of your own (docs/concepts/world.md)"
    )


def _replayable_names() -> list[str]:
    """The installed worlds whose episodes can be replayed."""
    return [world.name for world in installed_worlds() if world.replayable]


def even_counts(names: Sequence[str], count: int) -> dict[str, int]:
    """`count` divided among names: equal shares, and one more for the first ones if it does not divide evenly."""
    share, rest = divmod(count, len(names)) if names else (0, 0)
    return {name: share + (place < rest) for place, name in enumerate(names)}


def unknown_names(field: str, names: Iterable[str], known: Iterable[str], phrase: str) -> list[str]:
    """One problem for each name that a world does not have, with the most similar known names.

    Args:
        field: the key of the recipe that contains the names.
        phrase: such as "there is no family".
    """
    known = list(known)
    problems = []
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3)
            hint = f"near it: {', '.join(near)}" if near else f"there are {', '.join(known)}"
            problems.append(f"{field}: {phrase} {name!r}; {hint}")
    return problems
