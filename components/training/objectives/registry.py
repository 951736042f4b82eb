"""Finds objectives by name: each module of this package that decorates a class with `register` adds one."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from pkgutil import iter_modules
from typing import TypeVar

from components.params import Params
from components.training.objectives.interface import Objective

_CLASSES: dict[str, type[Objective]] = {}
ObjectiveClass = TypeVar("ObjectiveClass", bound=type[Objective])


def register(objective: ObjectiveClass) -> ObjectiveClass:
    """Class decorator: make the objective known by its `name`."""
    _CLASSES[objective.name] = objective
    return objective


@cache
def objective_classes() -> Mapping[str, type[Objective]]:
    """All objectives of RL by name, in alphabetical order."""
    for module in iter_modules([str(Path(__file__).parent)]):
        importlib.import_module(f"{__package__}.{module.name}")
    return dict(sorted(_CLASSES.items()))


def objective_class(params: Params) -> type[Objective]:
    """The objective that `rl.objective.name` names.

    Raises:
        ValueError: no module of this package registers that name.
    """
    name = params.rl.objective.name
    if name not in objective_classes():
        raise ValueError(f"rl.objective.name = {name} is unknown: set it to one of {', '.join(objective_classes())}")
    return objective_classes()[name]


def objective_of(params: Params) -> Objective:
    """The recipe's objective with its parameters.

    Raises:
        ValueError: no module of this package registers the name that `rl.objective.name` gives.
    """
    return objective_class(params).from_params(params)
