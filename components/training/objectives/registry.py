"""Finds the objective of a recipe: the class that belongs to the section `rl.objective`."""

from __future__ import annotations

import importlib
from functools import cache

from components import plugins
from components.params import ObjectiveParams, Params
from components.training.objectives.interface import Objective


@cache
def class_of(section: type[ObjectiveParams]) -> type[Objective]:
    """The class of the objective that a section is of.

    Raises:
        plugins.UnknownKindError: it cannot be imported, or is no `Objective`; the message says where it was looked for.
    """
    path = section.objective_class or f"{__package__}.{section.model_fields['name'].default}"
    module, _, attribute = path.partition(":")
    try:
        kind = getattr(importlib.import_module(module), attribute or plugins.KIND)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise plugins.UnknownKindError(f"{section.__name__}: no objective at {path}: {reason}") from error
    if not (isinstance(kind, type) and issubclass(kind, Objective)):
        raise plugins.UnknownKindError(f"{section.__name__}: {path} is {kind!r}, which is no Objective")
    return kind


def objective_class(params: Params) -> type[Objective]:
    """The objective that `rl.objective.name` names. Raises as `class_of`."""
    return class_of(type(params.rl.objective))


def objective_of(params: Params) -> Objective:
    """The recipe's objective with its parameters. Raises as `class_of`."""
    return objective_class(params).from_params(params)
