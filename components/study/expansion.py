"""A study as runs: one complete recipe per arm and seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from components import store
from components.params import Change, Params, RecipeError, as_yaml, find, from_chain, read_chain
from components.params.inheritance import Layer, changes
from components.params.loading import RECIPES
from components.study.study_file import STUDIES, StudyFile, read_study
from components.worlds import worlds_of

OWN_STORE: dict[str, Any] = {
    "tracking": {"tracking_uri": "sqlite:///mlflow/store/mlflow.db"},
    "placement": {"store": None, "pools": {}},
}
"""Every run registers its models in a store of its own: a study must not change the champion of the project. Its stages
run here."""


@dataclass(frozen=True)
class Run:
    """One arm with one seed. `params` is its complete recipe."""

    arm: str
    seed: int
    params: Params

    @property
    def name(self) -> str:
        """The run's name, and that of its folder."""
        return f"{self.arm}-seed{self.seed}"

    @property
    def text(self) -> str:
        """The text of its params.yaml."""
        return f"# Written by `waymark study`: {self.name}.\n{as_yaml(self.params.model_dump(mode='json'))}"

    @property
    def recipe_digest(self) -> str:
        """Identifies the recipe that `text` is."""
        return store.digest(self.text)


@dataclass(frozen=True)
class Study:
    """A study with its runs: all seeds of the base first, then those of each arm in the file's order."""

    name: str
    file: StudyFile
    recipe: Params
    """The recipe with the keys that all runs set, and its own seed and tracking."""
    runs: tuple[Run, ...]
    path: Path

    @property
    def argument(self) -> str:
        """How `waymark study` finds it: by name in `recipes/studies/`, else by path."""
        return self.name if self.path.resolve().parent == STUDIES.resolve() else str(self.path)

    @property
    def arms(self) -> list[str]:
        """The names of the arms without the base."""
        return [*self.file.arms]

    @property
    def before(self) -> str | None:
        """The policy from which the compared one was trained, if it was trained by RL."""
        return "sft" if self.file.compare == "rl" else None

    def changed(self, arm: str) -> list[Change]:
        """The keys in which an arm differs from the base; none for the base."""
        by_arm = {run.arm: run.params.model_dump(mode="json") for run in self.runs if run.seed == self.file.seeds[0]}
        return changes(by_arm[self.file.base], by_arm[arm])


def load_study(path: Path) -> Study:
    """Read a study and validate the recipe of every run.

    Raises:
        RecipeError: the study or the recipe of an arm is wrong, an arm is equal to the base, or two arms are equal.
    """
    file = read_study(path)
    base = read_chain(find(file.recipe), RECIPES)
    common = [Layer(Path(f"{path}, set"), file.set), *base]
    recipe = from_chain(common, Params)
    layers: dict[str, list[Layer]] = {file.base: []}
    layers |= {name: [Layer(Path(f"{path}, arm {name}"), arm.set)] for name, arm in file.arms.items()}
    runs = []
    for arm, own in layers.items():
        for seed in file.seeds:
            last = Layer(path, {"seed": seed, **OWN_STORE})
            params = from_chain([last, *own, *common], Params)
            worlds_of(params).require_possible(params)
            runs.append(Run(arm, seed, params))
    study = Study(path.stem, file, recipe, tuple(runs), path)
    _require_different_arms(path, study)
    return study


def plan(study: Study) -> dict[str, Any]:
    """The study as JSON for the runner, `flows.study`, which reads no recipes."""
    return {
        "study": study.name,
        "base": study.file.base,
        "stage": f"evaluate@{study.file.compare}",
        "before": study.before and f"evaluate@{study.before}",
        "shared": study.file.shared,
        "runs": [
            {
                "name": run.name,
                "arm": run.arm,
                "seed": run.seed,
                "params": run.text,
                "keys": [change.key for change in study.changed(run.arm)],
            }
            for run in study.runs
        ],
    }


def _require_different_arms(path: Path, study: Study) -> None:
    seen: dict[str, str] = {}
    for arm in [study.file.base, *study.arms]:
        values = _values(study, arm)
        if values in seen:
            other = f"the base ({study.file.base})" if seen[values] == study.file.base else f"the arm {seen[values]}"
            raise RecipeError(
                f"{path}: arms.{arm}: its recipe is equal to that of {other}: let it set another value, or remove it"
            )
        seen[values] = arm


def _values(study: Study, arm: str) -> str:
    recipe: Mapping[str, Any] = next(run.params.model_dump(mode="json") for run in study.runs if run.arm == arm)
    return as_yaml(dict(recipe))
