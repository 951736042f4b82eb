"""The plan of a run: what each device, the machine and its disks must hold, whether it fits, and what would."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from components.params import Params, RecipeError
from components.plan.disk import disk_plan
from components.plan.fit import recipe_with, remedy
from components.plan.hardware import device_named
from components.plan.host import Disk, Host, HostPlan, host_at_hand, host_plan, is_at_hand
from components.plan.image_cache import ImageCache, image_caches
from components.plan.memory import ASSUMPTIONS, MemoryPlan
from components.plan.placement import Machine, devices_of, memory_plans, shortage
from components.plan.rates import default_rates
from components.plan.savings import Settings
from components.plan.setting import Setting
from components.serving_limits import all_refusals


@dataclass(frozen=True)
class PlanOptions:
    """What the user says about the run beside its recipe.

    Attributes:
        settings: values that replace those of the recipe, by dotted key.
        device: a name in `devices.json`.
        devices: number of devices; None takes what the recipe asks for.
        device_memory: bytes of each device; None takes the device's own.
        host_memory: bytes of the machine's own memory; None takes this machine's, if the plan is for it.
        disk: free bytes for all that a run writes; None takes those of this machine's folders, if the plan is for it.
        is_here: whether the plan is for this machine; None: if it has the devices.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    device: str | None = None
    devices: int | None = None
    device_memory: float | None = None
    host_memory: float | None = None
    disk: float | None = None
    is_here: bool | None = None


@dataclass(frozen=True)
class RunPlan:
    """The plan of a recipe on a machine."""

    recipe: Params
    source: Path
    """The recipe as the user named it."""
    options: PlanOptions
    machine: Machine
    memory: list[MemoryPlan]
    reasons: list[str]
    """Why it does not fit; empty if it fits."""
    image_caches: list[ImageCache]
    host: HostPlan
    """The machine's own memory and its disks."""
    assumptions: tuple[str, ...]

    @property
    def fits(self) -> bool:
        """Whether every device, the machine's memory and its disks can hold what the recipe certainly asks of them."""
        return not self.reasons and not self.host.reasons

    @cached_property
    def remedy(self) -> Settings | None:
        """With what it would fit; None if it fits, or if no change that is known makes it fit. The search, at the first
        reading, can take ten seconds, because it simulates RL with each change."""
        return remedy(self.source, self.options.settings, self.machine) if self.reasons else None


def plan(recipe: Path, options: PlanOptions = PlanOptions()) -> RunPlan:
    """Plan a recipe, given as a file or a name in `recipes/`.

    Raises:
        RecipeError: the recipe, a setting, a device or the shape of a model is wrong or unknown, or vLLM would refuse a
            model.
    """
    params = recipe_with(recipe, options.settings)
    if refused := all_refusals(params):
        raise RecipeError("\n".join(refused))
    machine = _machine(params, options)
    memory = memory_plans(params, machine)
    reasons = shortage(memory, params, machine)
    caches = image_caches(params, machine.device)
    assumptions = (*_unused_devices(params, options), *ASSUMPTIONS)
    return RunPlan(params, recipe, options, machine, memory, reasons, caches, plan_host(params, options), assumptions)


def plan_host(params: Params, options: PlanOptions = PlanOptions()) -> HostPlan:
    """What a recipe needs of a machine besides its devices.

    Raises:
        RecipeError: a device or the shape of a model is unknown.
    """
    machine = _machine(params, options)
    setting = Setting(params, machine, default_rates(params, machine.device))
    return host_plan(setting, memory_plans(params, machine), _host(setting, options))


def _machine(params: Params, options: PlanOptions) -> Machine:
    device = device_named(options.device, params.model.device == "cuda", options.device_memory)
    return Machine(device, options.devices or devices_of(params))


def _unused_devices(params: Params, options: PlanOptions) -> list[str]:
    """A note if the options name devices that the recipe would not use."""
    if params.model.device == "cuda" or (options.device, options.devices) == (None, None):
        return []
    return ["a run of the recipe uses no GPU (model.device: cpu): `--set model.device=cuda` plans one that does"]


def _host(setting: Setting, options: PlanOptions) -> Host:
    """The machine that the options name; what they do not name is this machine's, if the plan is for it."""
    disk = disk_plan(setting)
    here = is_at_hand(setting) if options.is_here is None else options.is_here
    host = host_at_hand(disk) if here else Host()
    if options.host_memory is not None:
        host = replace(host, memory=options.host_memory)
    elif setting.machine.device.is_cpu and options.device_memory is not None:
        host = replace(host, memory=options.device_memory)
    if options.disk is not None:
        folders = frozenset(entry.folder for entry in disk.entries)
        host = replace(host, disks=(Disk(folders, "its disk", options.disk),))
    return host
