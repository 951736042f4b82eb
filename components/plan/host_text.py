"""The machine's memory and disks of a plan, as lines and as values."""

from __future__ import annotations

from typing import Any

from components.plan.disk import DISK_ASSUMPTIONS, GB
from components.plan.hardware import GIB
from components.plan.host import HostPlan
from components.plan.host_memory import MEMORY_ASSUMPTIONS
from components.plan.need import Need, total

SMALLEST = 0.005
"""Entries below this share of all are not printed."""


def host_lines(plan: HostPlan) -> list[str]:
    """The stages' memory with the parts of the largest one, then what is on disk at the peak."""
    host, most = plan.host, max(plan.memory, key=lambda stage: stage.bytes)
    capacity = "" if host.memory is None else f" of {host.memory / GIB:.2f}"
    width = max(len(stage.stage) for stage in plan.memory)
    lines = ["Memory of the machine itself (RAM)"]
    lines += [f"  {stage.stage:<{width}}  {stage.bytes / GIB:7.2f}{capacity} GiB" for stage in plan.memory]
    lines += ["", f"Parts of it in {most.stage}", *_entries(most.needs, GIB, "GiB")]
    stage, needs = plan.disk.at_peak()
    lines += ["", f"Disk: {total(needs) / GB:.2f} GB at the peak, in {stage}", *_entries(needs, GB, "GB ")]
    lines += [
        f"  {disk.free / GB:.1f} GB are free in {disk.place}, and {disk.held / GB:.1f} GB hold what runs wrote"
        for disk in host.disks
    ]
    if host.memory is None and not host.disks:
        lines.append("  This is not the planned machine: --host-memory and --disk say what that one has")
    lines += ["", "Assumptions of RAM and disk", *(f"  - {line}" for line in (*MEMORY_ASSUMPTIONS, *DISK_ASSUMPTIONS))]
    return lines


def warning_lines(plan: HostPlan) -> list[str]:
    """What probably does not fit; empty if all does."""
    if not plan.warnings:
        return []
    return [
        "Warnings: what follows is estimated, and may be wrong by a factor of 2",
        *map("  - {}".format, plan.warnings),
    ]


def host_values(plan: HostPlan) -> dict[str, Any]:
    """The plan as plain values; sizes are in bytes."""
    stage, needs = plan.disk.at_peak()
    return {
        "memory": [
            {"stage": item.stage, "needed": item.bytes, "certain": item.certain, "parts": _values(item.needs)}
            for item in plan.memory
        ],
        "has_memory": plan.host.memory,
        "disk": {
            "peak": total(needs),
            "certain": plan.disk.certain().peak,
            "stage": stage,
            "entries": [
                {"stage": entry.stage, "stays": entry.is_kept, "folder": str(entry.folder), **_value(entry.need)}
                for entry in plan.disk.entries
            ],
        },
        "disks": [{"place": disk.place, "free": disk.free, "held": disk.held} for disk in plan.host.disks],
        "reasons": plan.reasons,
        "warnings": plan.warnings,
        "assumptions": [*MEMORY_ASSUMPTIONS, *DISK_ASSUMPTIONS],
    }


def _values(needs: tuple[Need, ...]) -> list[dict[str, Any]]:
    return [_value(need) for need in needs]


def _value(need: Need) -> dict[str, Any]:
    return {
        "name": need.name,
        "bytes": need.bytes,
        "certain": need.certain,
        "formula": need.formula,
        "keys": [*need.keys],
    }


def _entries(needs: tuple[Need, ...] | list[Need], unit: float, name: str) -> list[str]:
    shown = [need for need in needs if need.bytes >= SMALLEST * total(needs)]
    width = max((len(need.name) for need in shown), default=0)
    return [f"  {need.name:<{width}}  {need.bytes / unit:8.3f} {name}  {need.formula}" for need in shown]
