"""The memory of this machine, and what a long training gives back to it."""

from __future__ import annotations

import contextlib
import ctypes
import gc
from pathlib import Path

import psutil

CONTAINER_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def total_memory() -> float:
    """Bytes of this machine's memory, or those that a container may use."""
    limits = [path.read_text().strip() for path in map(Path, CONTAINER_LIMITS) if path.exists()]
    return min([float(psutil.virtual_memory().total), *(float(limit) for limit in limits if limit.isdigit())])


def release_free_memory() -> None:
    """Return memory that the process has freed to the system; nothing happens where the C library is not glibc.

    glibc keeps freed blocks below 32 MiB. Where the length of the batches varies from step to step, they fit few later
    requests: a process with 3 GiB in use grew to 12 GiB within 25 steps of pre-training.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def free_models() -> None:
    """Free the models that no name refers to any more, on GPUs, too.

    A model is in reference cycles (patched methods, the state of sharded layers), so it stays until the collector runs,
    which can take hundreds of thousands of new objects.
    """
    import torch

    gc.collect()
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()
