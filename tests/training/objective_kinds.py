"""The objectives of RL that are built in."""

from __future__ import annotations

from components import plugins
from components.params.objectives import objective_kind
from components.training.objectives import Objective, class_of


def objective_classes() -> dict[str, type[Objective]]:
    """Their classes by name, in alphabetical order."""
    return {name: class_of(objective_kind({"name": name})) for name in plugins.builtin("objectives")}
