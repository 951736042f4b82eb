"""The plan of a run: what each device must hold, whether it fits, and what would."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from components.params import Params, RecipeError
from components.plan.fit import recipe_with, remedy
from components.plan.hardware import device_named
from components.plan.image_cache import ImageCache, image_caches
from components.plan.memory import ASSUMPTIONS, MemoryPlan
from components.plan.placement import Machine, devices_of, memory_plans, shortage
from components.plan.savings import Settings
from components.serving_limits import all_refusals


@dataclass(frozen=True)
class PlanOptions:
    """What the user says about the run beside its recipe.

    Attributes:
        settings: values that replace those of the recipe, by dotted key.
        device: a name in `devices.json`.
        devices: number of devices; None takes what the recipe asks for.
        device_memory: bytes of each device; None takes the device's own.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    device: str | None = None
    devices: int | None = None
    device_memory: float | None = None


@dataclass(frozen=True)
class RunPlan:
    """The plan of a recipe on a machine."""

    recipe: Params
    machine: Machine
    memory: list[MemoryPlan]
    reasons: list[str]
    """Why it does not fit; empty if it fits."""
    remedy: Settings | None
    """With what it would fit; None if it fits, or if no change that is known makes it fit."""
    image_caches: list[ImageCache]
    assumptions: tuple[str, ...]

    @property
    def fits(self) -> bool:
        """Whether every device can hold what the recipe asks of it."""
        return not self.reasons


def plan(recipe: Path, options: PlanOptions = PlanOptions()) -> RunPlan:
    """Plan a recipe, given as a file or a name in `recipes/`.

    Raises:
        RecipeError: the recipe, a setting, a device or the shape of a model is wrong or unknown, or vLLM would refuse a
            model.
    """
    params = recipe_with(recipe, options.settings)
    if refused := all_refusals(params):
        raise RecipeError("\n".join(refused))
    device = device_named(options.device, params.model.device == "cuda", options.device_memory)
    machine = Machine(device, options.devices or devices_of(params))
    memory = memory_plans(params, machine)
    reasons = shortage(memory, params, machine)
    change = remedy(recipe, options.settings, machine) if reasons else None
    return RunPlan(params, machine, memory, reasons, change, image_caches(params, device), ASSUMPTIONS)
