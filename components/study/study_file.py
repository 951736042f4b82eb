"""The file of a study, `recipes/studies/NAME.yaml`: a recipe, arms that change named keys of it, and seeds.

A study asks one question: what does a change of a recipe do? Every arm is run with every seed, beside the base, which
is the recipe with the keys of `set` alone. A study without arms asks how far the seeds of the base are apart. The
paper's claim about an arm stands beside our measurement on the page; it never takes part in it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field, model_validator

from components.params import RecipeError, Section, from_chain
from components.params.inheritance import Layer
from components.params.recipe_file import RecipeLoader, syntax_problem
from components.params.section import Seed

STUDIES = Path("recipes/studies")
MIN_SEEDS = 3
FIXED = {
    "name": "a study's runs keep the recipe's name",
    "seed": "list the seeds in `seeds`",
    "tracking": "every run has an MLflow store of its own, and the study's figures go to the recipe's",
    "placement": "the stages of a study run on this machine",
    "extends": "name the recipe in `recipe`",
}
"""Keys that an arm cannot set, and what to do instead."""

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]*$", max_length=40)]
"""Names of folders: small letters, digits, `.` and `-`."""
Sign = Literal["higher", "lower", "same", "mixed"]
"""What an arm does to success, against the base. `mixed`: it differs between the paper's test sets."""


class PaperClaim(Section):
    """What a paper says about the change that an arm makes."""

    source: str = Field(min_length=1)
    """Paper and section, table or figure."""
    sign: Sign
    """The paper's success in the setting of the arm, against its setting of the base."""
    effect: str = ""
    """The paper's figures, such as `-5.2, -8.0, -6.6 points on WebVoyager, Online-Mind2Web, DeepShop`."""
    differs: str = Field(min_length=1)
    """How the paper's setting differs from this study's."""


class Arm(Section):
    """One change of the recipe."""

    set: dict[str, Any] = Field(min_length=1)
    """The keys that it sets, merged into the recipe as a recipe that `extends` another one is."""
    about: str = ""
    paper: PaperClaim | None = None


class StudyFile(Section):
    """A study as its file says it."""

    question: str = Field(min_length=1)
    recipe: str = Field(min_length=1)
    """A name in recipes/, or a path."""
    set: dict[str, Any] = Field(default_factory=dict)
    """Keys that all runs set, the base's, too."""
    base: Name = "base"
    """The name of the base among the arms."""
    arms: dict[Name, Arm] = Field(default_factory=dict)
    seeds: list[Seed]
    compare: Literal["sft", "rl"] = "rl"
    """The policy whose test success is compared: the outcome of `evaluate@sft` or `evaluate@rl`. With `rl`, the policy
    before RL is evaluated, too."""
    shared: list[str] = Field(default_factory=list)
    """Stages that the runs of one seed must have in common, such as `train_sft`. The study is refused if an arm sets a
    key that one of them reads. Stages that are not named are shared wherever that is possible."""

    @model_validator(mode="after")
    def _enough_seeds(self) -> StudyFile:
        if len(self.seeds) < MIN_SEEDS:
            raise ValueError(f"seeds = {self.seeds}: a study needs at least {MIN_SEEDS} seeds, such as [0, 1, 2]")
        if repeated := sorted({seed for seed in self.seeds if self.seeds.count(seed) > 1}):
            raise ValueError(f"seeds = {self.seeds}: {repeated} is listed twice: name other seeds")
        return self

    @model_validator(mode="after")
    def _names_differ(self) -> StudyFile:
        if self.base in self.arms:
            raise ValueError(f"base = {self.base!r} is the name of an arm, too: give one of them another name")
        return self

    @model_validator(mode="after")
    def _keys_are_free(self) -> StudyFile:
        places = {"set": self.set} | {f"arms.{name}.set": arm.set for name, arm in self.arms.items()}
        for place, keys in places.items():
            for key in keys.keys() & FIXED.keys():
                raise ValueError(f"{place}.{key}: {FIXED[key]}")
        return self


def find_study(study: Path | str) -> Path:
    """The file of a study. The argument is a path or a name in `recipes/studies/`."""
    named = STUDIES / f"{study}.yaml"
    return named if named.exists() and not Path(study).exists() else Path(study)


def read_study(path: Path) -> StudyFile:
    """Read and validate a study; its name is the file's.

    Raises:
        RecipeError: the file is missing, is not YAML, has a key twice, or a field is wrong.
    """
    try:
        keys = yaml.load(path.read_text(encoding="utf-8"), RecipeLoader)
    except FileNotFoundError as error:
        known = ", ".join(sorted(file.stem for file in STUDIES.glob("*.yaml"))) or "none here"
        raise RecipeError(f"{path}: no such study; there are {known}") from error
    except OSError as error:
        raise RecipeError(f"{path}: cannot be read ({error.strerror}): name a file in {STUDIES}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise RecipeError(f"{path}: not YAML: {syntax_problem(error)}") from error
    if not isinstance(keys, dict):
        raise RecipeError(f"{path}: a study is a mapping with question, recipe and seeds, and arms if it has any")
    if not re.fullmatch(r"[a-z0-9][a-z0-9.-]*", path.stem):
        raise RecipeError(f"{path}: name the file with small letters, digits, `.` and `-`: it names folders")
    return from_chain([Layer(path, keys)], StudyFile)
