"""Whether a run fits on a machine besides its devices: in its memory (RAM), and on the disks of its folders.

Some needs are certain, such as the bytes of a checkpoint. Others are estimates that may be wrong by a factor, such as
the size of a screenshot. What certainly does not fit is a reason against the run; what probably does not is a warning.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from components.memory import total_memory
from components.plan.disk import GB, RUN, DiskPlan, disk_plan
from components.plan.hardware import GIB, device_of_gpu, gpus
from components.plan.host_memory import HostMemory, host_memory
from components.plan.memory import MemoryPlan
from components.plan.need import largest, total
from components.plan.placement import devices_of
from components.plan.setting import Setting
from components.store import STATE

WRITTEN = ("data", "models", "mlflow", "reports", ".waymark", ".dvc/cache")
"""Folders of a checkout in which stages write. What is there already is not written again, or is replaced."""
STUDIES = STATE / "studies"
"""No run replaces what is in it."""


@dataclass(frozen=True)
class Disk:
    """A file system with some folders of a run; sizes in bytes.

    Attributes:
        folders: as the plan's entries name them.
        held: what the run's folders hold already, from which a run goes on, or which it replaces.
    """

    folders: frozenset[Path]
    place: str
    free: float
    held: float = 0.0

    @property
    def available(self) -> float:
        """Bytes for all that a run writes."""
        return self.free + self.held


@dataclass(frozen=True)
class Host:
    """A machine beside its devices.

    Attributes:
        memory: bytes; None if the machine is not known.
        disks: empty if they are not known.
    """

    memory: float | None = None
    disks: tuple[Disk, ...] = ()


@dataclass(frozen=True)
class HostPlan:
    """What a run needs of the machine besides its devices, and whether it is there."""

    host: Host
    memory: list[HostMemory]
    disk: DiskPlan
    reasons: list[str]
    """What certainly does not fit, one sentence each."""
    warnings: list[str]
    """What probably does not fit."""


def host_plan(setting: Setting, memory: list[MemoryPlan], host: Host) -> HostPlan:
    """What a run needs, beside what there is.

    Args:
        memory: of the devices.
    """
    stages, disk = host_memory(setting, memory), disk_plan(setting)
    problems = [*_memory_problems(stages, host), *_disk_problems(disk, host)]
    reasons = [sentence for is_certain, sentence in problems if is_certain]
    warnings = [sentence for is_certain, sentence in problems if not is_certain]
    return HostPlan(host, stages, disk, reasons, warnings)


def is_at_hand(setting: Setting) -> bool:
    """Whether this machine is the planned one: the plan is for its processor, or it has the GPUs that are planned."""
    machine = setting.machine
    if setting.params.placement.pools:
        return False
    if machine.device.is_cpu:
        return True
    here = gpus()
    return len(here) >= devices_of(setting.params) and all(
        device_of_gpu(gpu.name) == machine.device.name for gpu in here
    )


def host_at_hand(disk: DiskPlan) -> Host:
    """This machine, with the file systems of the folders in which a run writes."""
    folders: dict[int, set[Path]] = {}
    for folder in {entry.folder for entry in disk.entries} | {RUN}:
        folders.setdefault(_existing(folder).stat().st_dev, set()).add(folder)
    disks = []
    for group in folders.values():
        place = _existing(min(group)).resolve()
        held = _size([*(map(Path, WRITTEN) if RUN in group else ()), *(group - {RUN})])
        disks.append(Disk(frozenset(group), str(place), shutil.disk_usage(place).free, held))
    return Host(total_memory(), (*disks,))


def _memory_problems(stages: Sequence[HostMemory], host: Host) -> Iterator[tuple[bool, str]]:
    """The stage that needs most of the memory, if it does not fit, and whether that is certain."""
    if host.memory is None:
        return
    least, most = max(stages, key=lambda stage: stage.certain), max(stages, key=lambda stage: stage.bytes)
    capacity = f"GiB of the machine's memory, which has {host.memory / GIB:.1f} GiB; most of it: "
    if least.certain > host.memory:
        parts = largest([need.at_least() for need in least.needs], GIB, "GiB")
        yield True, f"{least.stage} needs at least {least.certain / GIB:.1f} {capacity}{parts}"
    elif most.bytes > host.memory:
        yield False, f"{most.stage} may need {most.bytes / GIB:.1f} {capacity}{largest(most.needs, GIB, 'GiB')}"


def _disk_problems(plan: DiskPlan, host: Host) -> Iterator[tuple[bool, str]]:
    """The disks that are too small, and whether that is certain."""
    for disk in host.disks:
        own = f" and {disk.held / GB:.1f} GB its own" if disk.held else ""
        capacity = f"GB to {disk.place}, where {disk.free / GB:.1f} GB are free{own}; most of it, in "
        (first, least), (stage, most) = plan.certain().at_peak(disk.folders), plan.at_peak(disk.folders)
        if total(least) > disk.available:
            yield True, f"the run writes at least {total(least) / GB:.1f} {capacity}{first}: {largest(least, GB, 'GB')}"
        elif total(most) > disk.available:
            yield False, f"the run may write {total(most) / GB:.1f} {capacity}{stage}: {largest(most, GB, 'GB')}"


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one above that exists."""
    folder = folder.absolute()
    return next(path for path in (folder, *folder.parents) if path.exists())


def _size(folders: Iterable[Path]) -> int:
    """Bytes on disk of all files in some folders, hard links once; folders that are not there count as empty."""
    sizes: dict[tuple[int, int], int] = {}
    for path, inside, files in itertools.chain.from_iterable(map(os.walk, folders)):
        inside[:] = [name for name in inside if Path(path, name) != STUDIES]
        for name in files:
            with contextlib.suppress(OSError):  # deleted meanwhile, by a run
                status = os.lstat(os.path.join(path, name))
                sizes[status.st_dev, status.st_ino] = 512 * status.st_blocks
    return sum(sizes.values())
