"""Runs the parts of the check, each contained, and makes one report of them."""

from __future__ import annotations

import platform
import subprocess
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import peft
import torch
import transformers

from perf.gpu_check import exactness, generation, learning, training
from perf.gpu_check.setting import GIB, Outcome, Setting, free_memory, peak_flops, say

Part = Callable[[Setting], Outcome]


def _serving(setting: Setting) -> Outcome:
    """The part `serving`; it alone needs the client of servers."""
    from perf.gpu_check import serving

    return serving.check(setting)


PARTS: dict[str, Part] = {
    "exactness": exactness.check,
    "generation": generation.check,
    "serving": _serving,
    "training": training.check,
    "learning": learning.check,
}
"""In the order in which they run: what disproves training soonest comes first."""


@dataclass(frozen=True)
class PartReport:
    """What a part measured, or its error."""

    seconds: float
    figures: dict[str, Any] | None = None
    reasons: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    error: str | None = None
    traceback: str | None = None


@dataclass(frozen=True)
class Report:
    """The whole check. `passed` is true if every part ran and none has a reason against it."""

    benchmark: str
    passed: bool
    reasons: list[str]
    warnings: list[str]
    size: str
    device: dict[str, Any]
    versions: dict[str, str | None]
    commit: str | None
    seconds: float
    parts: dict[str, PartReport]


def run_parts(setting: Setting, names: Sequence[str], parts: Mapping[str, Part] = PARTS) -> Report:
    """Run the named parts in their order. An exception ends its own part only."""
    begin = time.monotonic()
    reports: dict[str, PartReport] = {}
    for name in (name for name in parts if name in names):
        say(f"{name} begins")
        reports[name] = contained(parts[name], setting)
        problem = freed(setting)  # outside of the handler, whose traceback holds tensors
        say(f"{name} took {reports[name].seconds:.0f} s: {reports[name].error or reports[name].reasons or 'passed'}")
        if problem is not None:
            reports[name].reasons.append(f"it left the GPU unusable, so no later part ran: {problem}")
            break
    reasons = [f"{name}: {reason}" for name, part in reports.items() for reason in part.reasons]
    return Report(
        benchmark="gpu_check",
        passed=not reasons,
        reasons=reasons,
        warnings=[f"{name}: {warning}" for name, part in reports.items() for warning in part.warnings],
        size=setting.size,
        device=device_figures(setting),
        versions=versions(),
        commit=commit(),
        seconds=round(time.monotonic() - begin, 1),
        parts=reports,
    )


def contained(part: Part, setting: Setting) -> PartReport:
    """Run a part. Its exception becomes a reason."""
    begin = time.monotonic()
    try:
        outcome = part(setting)
    except Exception as error:
        lines = f"{type(error).__name__}: {error}"
        seconds = round(time.monotonic() - begin, 1)
        return PartReport(seconds, reasons=[f"it raised {lines}"], error=lines, traceback=traceback.format_exc())
    seconds = round(time.monotonic() - begin, 1)
    return PartReport(seconds, asdict(outcome.figures), outcome.reasons, outcome.warnings)


def freed(setting: Setting) -> str | None:
    """Free the memory of a part. Returns why not: after an error in one of its kernels, a GPU does nothing more for
    this process."""
    try:
        free_memory(setting.device)
    except RuntimeError as error:
        return str(error).splitlines()[0]
    return None


def device_figures(setting: Setting) -> dict[str, Any]:
    """Name, memory and peak of the device on which the check ran."""
    if setting.device == "cpu":
        return {"kind": "cpu", "name": platform.machine(), "threads": torch.get_num_threads()}
    properties = torch.cuda.get_device_properties(0)
    flops = peak_flops(properties.name)
    return {
        "kind": "cuda",
        "name": properties.name,
        "memory_gib": round(properties.total_memory / GIB, 1),
        "capability": f"{properties.major}.{properties.minor}",
        "peak_bfloat16_tflops": flops / 1e12 if flops else None,
    }


def versions() -> dict[str, str | None]:
    """Versions of what the figures depend on."""
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "peft": peft.__version__,
        "cuda": torch.version.cuda,
    }


def commit() -> str | None:
    """The checkout's commit, with `+` if files differ from it; None without git or outside of a repository."""
    try:
        head = subprocess.run(["git", "rev-parse", "--verify", "HEAD"], capture_output=True, text=True, check=True)
        status = subprocess.run(["git", "status", "--porcelain", "-uno"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return head.stdout.strip() + ("+" if status.stdout.strip() else "")
