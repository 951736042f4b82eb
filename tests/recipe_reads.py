"""Records which keys of the recipe a stage reads, and compares them with those that dvc.yaml names for it.

DVC, and the state of a stage, go by the keys that dvc.yaml names. A key that a stage reads and dvc.yaml does not name
would leave an output as it is although the recipe has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.params import NoEffect, Params, Section
from components.pipeline import stage_run
from components.tracking import runs
from components.worlds.registry import Worlds

DVC_YAML = Path(__file__).parents[1] / "dvc.yaml"
NOT_NAMED = {"distill_judge": ["evaluation.promotion_min_tasks", "evaluation.bootstrap"]}
"""They decide which judge is the champion, which is no output of the stage."""


@dataclass
class RecipeReads:
    """The keys of a recipe that were read. Sections that the code copies count as those that they were copied from."""

    keys: set[str] = field(default_factory=set)
    _names: dict[int, str] = field(default_factory=dict)
    """Dotted names of the recipe's sections, by the id of the section."""
    _kept: list[Section] = field(default_factory=list)
    """Keeps the sections, whose ids are in use, from being deleted."""
    _is_paused: bool = False

    def begin(self, params: Params) -> None:
        """Record reads of this recipe from now on."""
        self._name("", params)

    def read(self, section: Section, key: str) -> None:
        """Record that a value was read. A section is no value: what is read of it is recorded, unless it is marked."""
        name = self._names.get(id(section))
        if name is None or self._is_paused or NoEffect in type(section).model_fields[key].metadata:
            return
        if not isinstance(section.__dict__[key], Section):
            self.keys.add(f"{name}.{key}".removeprefix("."))

    def copied(self, section: Section, copy: Section) -> None:
        """A copy that differs in some values has the name of its section."""
        if (name := self._names.get(id(section))) is not None:
            self._name(name, copy)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """While all keys are read and none is used."""
        before, self._is_paused = self._is_paused, True
        try:
            yield
        finally:
            self._is_paused = before

    def _name(self, name: str, section: Section) -> None:
        self._names[id(section)] = name
        self._kept.append(section)
        for key, recipe_field in type(section).model_fields.items():
            if isinstance(value := section.__dict__[key], Section) and NoEffect not in recipe_field.metadata:
                self._name(f"{name}.{key}".removeprefix("."), value)


def unnamed(stage: str, reads: Collection[str]) -> list[str]:
    """The keys that a stage has read and that are in no section or key that dvc.yaml names for it."""
    name, _, variant = stage.partition("@")
    entry = yaml.safe_load(DVC_YAML.read_text())["stages"][name]
    entry = entry.get("do", entry)
    replaced = ["worlds"] if str(stage_run.WORLD_SETTINGS) in entry["deps"] else []
    keys = [key.replace("${key}", variant) for key in entry["params"]]
    named = ["name", *keys, *replaced, *NOT_NAMED.get(stage, [])]  # MLflow's runs have the name
    return sorted(key for key in reads if not any(key == name or key.startswith(f"{name}.") for name in named))


@contextmanager
def recorded() -> Iterator[RecipeReads]:
    """Record what the stages of this process read of the recipe in use."""
    reads = RecipeReads()
    plain_get, plain_copy = Section.__getattribute__, Section.model_copy

    def get(section: Section, name: str) -> Any:
        if name in type(section).model_fields:
            reads.read(section, name)
        return plain_get(section, name)

    def copy(section: Section, **options: Any) -> Section:
        made = plain_copy(section, **options)
        reads.copied(section, made)
        return made

    def silent(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            with reads.paused():
                result = function(*arguments, **options)
                if isinstance(result, Params):
                    reads.begin(result)
                return result

        return call

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Section, "__getattribute__", get)
        patch.setattr(Section, "model_copy", copy)
        for method in ("model_dump", "model_dump_json"):
            patch.setattr(Section, method, silent(getattr(Section, method)))
        patch.setattr("components.params.load", silent(stage_run.load))
        patch.setattr(stage_run, "load", silent(stage_run.load))
        # A world that refuses a key ends the stage, and does not change what it makes.
        patch.setattr(Worlds, "require_possible", silent(Worlds.require_possible))
        for module, name in ((stage_run, "deciding"), (stage_run, "worlds_of"), (runs, "interface_tags")):
            patch.setattr(module, name, silent(getattr(module, name)))
        yield reads
