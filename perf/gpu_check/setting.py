"""What the parts of the check share: where they run, how much they measure, and what they hand back."""

from __future__ import annotations

import gc
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch

from components.plan.hardware import device_named, device_of_gpu
from perf.training_workload import PUBLISHED

GIB = 2**30
DeviceKind = Literal["cpu", "cuda"]
Size = Literal["tiny", "full"]
TRAINED, FORMS, TURNS = ("all", "lora"), ("packed", "single"), (5, 15, 30)


@dataclass(frozen=True)
class Setting:
    """Where and how much to measure."""

    device: DeviceKind
    size: Size
    learning_s: float
    """Seconds for which the part `learning` trains."""
    training_s: float
    """Seconds after which the part `training` begins no further measurement."""
    models: tuple[str, ...] = tuple(PUBLISHED)
    """The models of the part `training` in the full size."""
    trained: tuple[str, ...] = TRAINED
    """Which weights the part `training` trains."""
    forms: tuple[str, ...] = FORMS
    """The forms of a batch in the part `training`."""
    turns: tuple[int, ...] = TURNS
    """The lengths of a trajectory in the part `training`, in the full size."""
    vllm: str = ".venv-vllm/bin/python"
    """The Python of the part `serving` for the servers."""
    engine: dict[str, Any] = field(default_factory=dict)
    """Further engine arguments of the servers."""
    served_model: str = "qwen3-vl-4b"
    """The model with random weights of the part `serving` in the full size."""
    logs: Path | None = None
    """A directory for the servers' logs; None keeps none."""

    @property
    def is_tiny(self) -> bool:
        """Whether the sizes are those of a test."""
        return self.size == "tiny"


@dataclass(frozen=True)
class Outcome:
    """What a part hands back."""

    figures: Any
    """A dataclass."""
    reasons: list[str] = field(default_factory=list)
    """Why the part did not pass, one sentence each; none if it passed."""
    warnings: list[str] = field(default_factory=list)
    """What does not stop training but should be known."""


def say(text: str) -> None:
    """Print progress on stderr."""
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


def clock(device: DeviceKind) -> float:
    """Seconds of a monotonic clock, after the device has done its work."""
    if device == "cuda":
        torch.cuda.synchronize()
    return time.monotonic()


def free_memory(device: DeviceKind) -> None:
    """Free what nothing refers to any more, and reset the peak of allocated memory."""
    gc.collect()
    if device == "cuda":
        torch.cuda.ipc_collect()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def peak_gib(device: DeviceKind) -> float | None:
    """Peak of allocated memory since `free_memory`; None on a CPU, where torch does not count it."""
    return torch.cuda.max_memory_allocated() / GIB if device == "cuda" else None


def peak_flops(name: str) -> float | None:
    """Peak operations per second in bfloat16 of a device, by the name that its driver gives; None if unknown."""
    known = device_of_gpu(name)
    return None if known is None else device_named(known, is_cuda=True).flops
