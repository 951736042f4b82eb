"""A plan as text for the terminal, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from components.plan.fit import as_options
from components.plan.hardware import GIB
from components.plan.host_text import host_lines, host_values, warning_lines
from components.plan.image_cache import cache_lines, cache_values
from components.plan.memory import MemoryPlan
from components.plan.planner import RunPlan
from components.plan.time_plan import TimePlan
from components.plan.time_text import time_lines, time_values


def as_text(plan: RunPlan, time: TimePlan | None = None) -> str:
    """The plan in lines of at most about 160 characters: memory of devices, the machine and its disks, then time."""
    lines = [_headline(plan), "", *_memory_lines(plan.memory)]
    if images := cache_lines(plan.image_caches, plan.machine.device.is_cpu):
        lines += ["", "Image caches (model.image_cache)", *(f"  {line}" for line in images)]
    lines += ["", "Assumptions of memory", *(f"  - {line}" for line in plan.assumptions)]
    lines += ["", *host_lines(plan.host)]
    if time is not None:
        lines += ["", *time_lines(time)]
    if warnings := warning_lines(plan.host):
        lines += ["", *warnings]
    if not plan.fits:
        lines += ["", *verdict(plan)]
    return "\n".join(lines)


def verdict(plan: RunPlan) -> list[str]:
    """Why the recipe does not fit, and with what it would; empty if it fits."""
    if plan.fits:
        return []
    reasons = [*plan.reasons, *plan.host.reasons]
    lines = [f"{plan.recipe.name} does not fit:", *(f"  - {reason}" for reason in reasons)]
    if not plan.reasons:
        return lines
    if plan.remedy is None:
        return [*lines, "No set of known changes makes it fit: take devices with more memory, or a smaller model.base."]
    return [*lines, f"It would fit with: {as_options(plan.remedy)}"]


def as_json(plan: RunPlan, time: TimePlan | None = None) -> str:
    """The plan as a JSON object; sizes are in bytes, times in seconds."""
    values = json_values(plan) | ({} if time is None else {"time": time_values(time)})
    return json.dumps(values, indent=1, ensure_ascii=False)


def json_values(plan: RunPlan) -> dict[str, Any]:
    """The plan as plain values."""
    device = plan.machine.device
    return {
        "recipe": plan.recipe.name,
        "fits": plan.fits,
        "reasons": [*plan.reasons, *plan.host.reasons],
        "remedy": plan.remedy,
        "device": {"name": device.name, "memory": device.memory, "count": plan.machine.count},
        "memory": [
            {
                "role": item.role,
                "stage": item.stage,
                "devices": item.devices,
                "needed": item.needed,
                "capacity": item.capacity,
                "fits": item.fits,
                "parts": [{"name": part.name, "bytes": part.bytes, "formula": part.formula} for part in item.parts],
            }
            for item in plan.memory
        ],
        "host": host_values(plan.host),
        "image_caches": [cache_values(cache) for cache in plan.image_caches],
        "assumptions": list(plan.assumptions),
    }


def _headline(plan: RunPlan) -> str:
    device = plan.machine.device
    count = "" if device.is_cpu else f"{plan.machine.count} × "
    answer = "fits" if plan.fits else "does NOT fit"
    return f"{plan.recipe.name} on {count}{device.name} with {device.memory / GIB:.1f} GiB: {answer}"


def _memory_lines(memory: Sequence[MemoryPlan]) -> list[str]:
    """Each stage with its sum, the fullest of each role with its parts."""
    lines = ["Memory of each device"]
    width = max(len(item.stage) for item in memory)
    for item in memory:
        state = "" if item.fits else "  DOES NOT FIT"
        lines.append(
            f"  {item.stage:<{width}}  {item.needed / GIB:7.2f} of {item.capacity / GIB:.2f} GiB on each of "
            f"{item.devices} ({item.role}){state}"
        )
    for role in dict.fromkeys(item.role for item in memory):
        item = max((item for item in memory if item.role == role), key=lambda item: item.needed)
        width = max(len(part.name) for part in item.parts)
        lines += ["", f"Parts of the {role} in {item.stage}"]
        lines += [f"  {part.name:<{width}}  {part.bytes / GIB:8.3f} GiB  {part.formula}" for part in item.parts]
    return lines
