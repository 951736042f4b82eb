"""A change of a recipe that makes it fit.

The savings of `components.plan.savings` are taken level by level, each as far as it goes, until the recipe fits. Then
each is weakened as far as the recipe still fits, what changes most first, and each key that is not needed is dropped.
Of several such changes of the lowest level, the one with the shortest planned wall time is the remedy.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from components.params import Params, RecipeError, find, from_chain, read_chain
from components.params.inheritance import Layer, resolve
from components.params.loading import RECIPES
from components.params.recipe_file import ShallowLoader
from components.plan.memory import MemoryPlan
from components.plan.placement import Machine, memory_plans, server_is_beside_trainer, shortage
from components.plan.savings import Saving, Settings, layouts, savings
from components.plan.time_plan import MANY_EPISODES, learning_time, simulated_episodes
from components.serving_limits import all_refusals

SERVER_SHARE = "inference.vllm.engine.gpu_memory_utilization"
WORLDS = "worlds"
"""The section that names all worlds of a recipe, and so replaces that of the recipe below."""


def recipe_with(recipe: Path, settings: Mapping[str, Any]) -> Params:
    """A recipe with some keys replaced, validated. It keeps its other worlds if a setting goes inside `worlds`.

    Args:
        settings: values by dotted key, such as `{"model.lora.rank": 16}`.

    Raises:
        RecipeError: the recipe or a value is wrong.
    """
    return _with_settings(settings, read_chain(find(recipe), RECIPES))


def parsed_setting(text: str) -> tuple[str, Any]:
    """`key=value` with a value in YAML.

    Raises:
        ValueError: there is no key, or the value is no YAML.
    """
    key, equals, value = text.partition("=")
    if not equals or not key.strip() or not all(key.strip().split(".")):
        raise ValueError(text)
    try:
        return key.strip(), yaml.load(value, ShallowLoader)
    except yaml.YAMLError as error:
        raise ValueError(text) from error


def remedy(recipe: Path, settings: Mapping[str, Any], machine: Machine) -> Settings | None:
    """Changes with which the recipe fits, no key of which can be left out; None if all of them do not suffice.

    Args:
        settings: what the user has set already. The changes come on top.
    """
    search = _Search(read_chain(find(recipe), RECIPES), settings, machine)
    starts = [start for layout in layouts(search.params({}), machine) if (start := search.start(layout)) is not None]
    lowest = min((start.level for start in starts), default=0)
    return search.fastest([option for start in starts if start.level == lowest for option in search.options(start)])


@dataclass(frozen=True)
class _Start:
    """A layout in which a recipe fits with some savings, each as far as it goes.

    Attributes:
        level: of the saving that changes most.
    """

    level: int
    layout: Settings
    savings: list[Saving]


@dataclass(frozen=True)
class _Search:
    """The search for changes with which a recipe fits.

    Attributes:
        chain: the layers of the recipe.
        settings: what the user has set already.
    """

    chain: Sequence[Layer]
    settings: Mapping[str, Any]
    machine: Machine

    def params(self, changes: Settings) -> Params:
        """The recipe with changes.

        Raises:
            RecipeError: a value is wrong, or two keys exclude each other.
        """
        return _with_settings({**self.settings, **changes}, self.chain)

    def start(self, layout: Settings) -> _Start | None:
        """The savings up to the lowest level with which the recipe fits in a layout; None if all do not suffice."""
        try:
            known = savings(self.params(layout), self.machine)
        except RecipeError:  # the recipe excludes this layout
            return None
        for level in sorted({0, *(saving.level for saving in known)}):
            strong = [saving for saving in known if saving.level <= level]
            if self._completed(_merged(layout, [saving.steps[-1] for saving in strong])) is not None:
                return _Start(level, layout, strong)
        return None

    def options(self, start: _Start) -> list[Settings]:
        """Changes without needless keys, for two orders in which the savings are weakened: the browsers before the
        judge's questions, and after all others that cost only time."""
        dearest = start.savings[::-1]
        orders = [dearest, sorted(dearest, key=lambda saving: (-saving.level, saving.is_of_browsers))]
        return [
            self._pruned(self._weakened(start, order)) for order in (orders if orders[0] != orders[1] else orders[:1])
        ]

    def fastest(self, options: Sequence[Settings]) -> Settings | None:
        """The option with the shortest planned time of RL, or the first if the simulation takes long; None without
        options."""
        different = [option for index, option in enumerate(options) if option not in options[:index]]
        if len(different) < 2 or simulated_episodes(self.params({})) >= MANY_EPISODES:
            return different[0] if different else None
        return min(different, key=lambda option: learning_time(self.params(option), self.machine))

    def _weakened(self, start: _Start, order: list[Saving]) -> Settings:
        """The weakest step of each saving with which the recipe fits, one saving after the other."""
        steps: dict[int, Settings] = {id(saving): saving.steps[-1] for saving in start.savings}
        changes = _merged(start.layout, steps.values())
        for saving in order:
            for step in ({}, *saving.steps):
                steps[id(saving)] = step
                if (fitting := self._completed(_merged(start.layout, steps.values()))) is not None:
                    changes = fitting
                    break
        return changes

    def _pruned(self, changes: Settings) -> Settings:
        """The changes without keys that are not needed, the last of which is tried first."""
        for key in reversed(changes):
            fewer = {other: value for other, value in changes.items() if other != key}
            if self._fits(fewer):
                return self._pruned(fewer)
        return changes

    def _completed(self, changes: Settings) -> Settings | None:
        """The changes, with a share of the GPU for the server where they need one; None if they do not fit."""
        if (params := self._possible(changes)) is None:
            return None
        plans = memory_plans(params, self.machine)
        if not shortage(plans, params, self.machine):
            return changes
        share = _server_share(params, plans, self.machine)
        shared = {**changes, SERVER_SHARE: share}
        return shared if share is not None and self._fits(shared) else None

    def _fits(self, changes: Settings) -> bool:
        params = self._possible(changes)
        return params is not None and not shortage(memory_plans(params, self.machine), params, self.machine)

    def _possible(self, changes: Settings) -> Params | None:
        """The recipe with changes; None if vLLM would refuse a model, or if two keys exclude each other until another
        change joins them."""
        try:
            params = self.params(changes)
        except RecipeError:
            return None
        return None if all_refusals(params) else params


def _server_share(params: Params, plans: Sequence[MemoryPlan], machine: Machine) -> float | None:
    """The largest share of a GPU, in hundredths, that the trainer leaves to the server beside it; None without one."""
    if not server_is_beside_trainer(params, machine.device):
        return None
    stage = "train_rl, rollouts" if params.inference.vllm.sleeps else "train_rl"  # all that runs while it is awake
    needed = max(plan.needed for plan in plans if plan.role == "trainer" and plan.stage.startswith(stage))
    share = math.floor(100 * min(0.9, 1 - needed / machine.device.memory)) / 100
    return share if share > 0 else None


def _merged(layout: Settings, changes: Iterable[Settings]) -> Settings:
    return {key: value for change in (layout, *changes) for key, value in change.items()}


def as_options(settings: Settings) -> str:
    """Settings as options of the command."""
    return " ".join(f"--set {key}={_flow(value)}" for key, value in settings.items())


def _with_settings(settings: Mapping[str, Any], chain: Sequence[Layer]) -> Params:
    """The recipe with the settings as one layer on top of its own. What goes inside a null is in a layer above it."""
    worlds_kept: dict[str, Any] = {}
    if WORLDS not in settings and any(key.startswith(f"{WORLDS}.") for key in settings):
        worlds = resolve([*chain], Params).get(WORLDS) or {}
        worlds_kept = {WORLDS: {name: {} for name, section in worlds.items() if section is not None}}
    layers = [worlds_kept]
    for key, value in settings.items():
        for part in reversed(key.split(".")):
            value = {part: value}
        if _goes_inside_null(layers[0], value):
            layers.insert(0, worlds_kept)
        layers[0] = _merged_deeply(layers[0], value)
    return from_chain([*(Layer(Path("--set"), keys) for keys in layers if keys), *chain], Params)


def _goes_inside_null(keys: Mapping[str, Any], more: Mapping[str, Any]) -> bool:
    shared = [(keys[key], value) for key, value in more.items() if key in keys and isinstance(value, Mapping)]
    return any(old is None or (isinstance(old, Mapping) and _goes_inside_null(old, value)) for old, value in shared)


def _merged_deeply(keys: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """The keys with those of `more`, at any depth."""
    merged = dict(keys)
    for key, value in more.items():
        old = merged.get(key)
        are_sections = isinstance(old, Mapping) and isinstance(value, Mapping)
        merged[key] = _merged_deeply(merged[key], value) if are_sections else value
    return merged


def _flow(value: Any) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, width=10_000).removesuffix("...\n").strip()
    return f"'{text}'" if " " in text else text
