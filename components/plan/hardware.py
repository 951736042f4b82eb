"""Devices: their memory, arithmetic and bandwidth, from `devices.json`, or of this machine's processor.

Figures are the makers' peaks for dense arithmetic. The shares of a peak that work reaches are in `rates.py`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from components.memory import total_memory
from components.params import RecipeError

GIB = 2**30
TABLE = Path(__file__).with_name("devices.json")
DEFAULT = "H100"
"""The device of a recipe with `model.device: cuda`, unless another is named."""
CPU = "cpu"
"""The name of this machine's processor as a device."""
VISIBLE = "CUDA_VISIBLE_DEVICES"
"""The variable that names the GPUs which a process sees."""
CORE_FLOPS = 60e9
"""Peak of a processor core in float32: two vector units of eight numbers, multiply and add, at about 2 GHz."""
CORE_BANDWIDTH = 10e9
"""Bytes per second that a core reads from memory."""
_UNITS = {"B": 1, "KIB": 2**10, "MIB": 2**20, "GIB": GIB, "TIB": 2**40, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}


@dataclass(frozen=True)
class Device:
    """One device. `memory` is in bytes, `flops` and `bandwidth` are per second."""

    name: str
    memory: float
    flops: float
    bandwidth: float
    is_cpu: bool = False


def device_named(name: str | None, is_cuda: bool, memory: float | None = None) -> Device:
    """A device of the table, or this machine's processor with all memory that it, or its container, has.

    Args:
        name: a name in `devices.json`; None takes `DEFAULT` for CUDA, and the processor else.
        memory: replaces the device's memory, in bytes.

    Raises:
        RecipeError: the table has no such device.
    """
    if name is None and not is_cuda:
        cores = os.cpu_count() or 1
        device = Device(CPU, total_memory(), cores * CORE_FLOPS, cores * CORE_BANDWIDTH, True)
    else:
        table = json.loads(TABLE.read_text())
        by_lower = {known.lower(): known for known in table}
        known = by_lower.get((name or DEFAULT).lower())
        if known is None:
            raise RecipeError(f"--device {name}: must be one of {', '.join(table)}")
        row = table[known]
        device = Device(known, row["memory_gib"] * GIB, row["bfloat16_tflops"] * 1e12, row["bandwidth_gb_s"] * 1e9)
    return device if memory is None else replace(device, memory=memory)


def parsed_bytes(text: str) -> float:
    """`24GiB` or `80 GB` in bytes.

    Raises:
        ValueError: the text is no positive number with a unit.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*((?:[KMGT]i?)?B)\s*", text, re.IGNORECASE)
    if match is None or not float(match[1]):
        raise ValueError(text)
    return float(match[1]) * _UNITS[match[2].upper()]


@dataclass(frozen=True)
class Gpu:
    """A GPU of this machine; `memory` is in bytes."""

    name: str
    memory: float
    uuid: str = ""


def gpus() -> list[Gpu]:
    """The GPUs of this machine that this process sees, as `nvidia-smi` lists them; none if it is not there or fails."""
    command = ["nvidia-smi", "--query-gpu=uuid,name,memory.total", "--format=csv,noheader,nounits"]
    try:
        lines = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.splitlines()
    except (OSError, subprocess.SubprocessError):
        return []
    return visible_gpus(parse_gpus(lines), os.environ.get(VISIBLE))


def visible_gpus(listed: list[Gpu], visible: str | None) -> list[Gpu]:
    """Those of the GPUs that a process sees, in its order.

    Args:
        visible: its `CUDA_VISIBLE_DEVICES`: numbers, or UUIDs or the beginnings of them; None if it sees all. CUDA
            ignores the first entry that is no GPU, and all that follow. A MIG slice counts as a whole GPU of the kind
            that is listed first, because the list does not have slices.
    """
    if visible is None:
        return listed
    seen: list[Gpu] = []
    for name in map(str.strip, visible.split(",")):
        if name.isdecimal():
            match = listed[int(name) : int(name) + 1]
        elif name.startswith("MIG-"):
            match = listed[:1]
        else:
            match = [gpu for gpu in listed if name and gpu.uuid.startswith(name)]
        if len(match) != 1:
            break
        seen += match
    return seen


def device_of_gpu(name: str) -> str | None:
    """The name in `devices.json` of a GPU by the name that its driver gives; None if the table does not have it.

    A device matches if each part of its name is a word of the driver's name; of several that match, the longest counts:
    `A100-80` is `NVIDIA A100-SXM4-80GB`, and `L4` is not `NVIDIA L40S`.
    """
    words = set(re.split(r"[^A-Z0-9]+", re.sub(r"(?<=\d)GB\b", "", name.upper())))
    names = [known for known in json.loads(TABLE.read_text()) if set(known.upper().split("-")) <= words]
    return max(names, key=len, default=None)


def parse_gpus(lines: Iterable[str]) -> list[Gpu]:
    """The GPUs of lines such as `GPU-5d0e…, NVIDIA L4, 23034`; the memory is in MiB. Lines without a memory are left
    out."""
    rows = ([field.strip() for field in line.split(",")] for line in lines)
    return [Gpu(row[1], int(row[2]) * 2**20, row[0]) for row in rows if len(row) == 3 and row[2].isdigit()]
