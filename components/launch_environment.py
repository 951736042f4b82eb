"""The environment from before `accelerate launch`, for processes that a rank starts and that are no ranks."""

from __future__ import annotations

from collections.abc import Mapping

THREADS = "OMP_NUM_THREADS"
OWN_THREADS = "WAYMARK_OMP_NUM_THREADS"
"""The variable in which `before_launch` keeps the number of threads, since torchrun sets THREADS to 1."""
LAUNCH_NAMES = {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE", "NODE_RANK"}
LAUNCH_PREFIXES = ("ACCELERATE_", "FSDP_", "MASTER_", "ROLE_", "TORCHELASTIC_", "TORCH_NCCL_")


def before_launch(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment for `accelerate launch`, with what `without_launch` needs later."""
    return {**environment, OWN_THREADS: environment.get(THREADS, "")}


def without_launch(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment without what `accelerate launch` and `torchrun` set. vLLM would take it for its own process
    group, and would use one thread."""
    left = {
        name: value
        for name, value in environment.items()
        if name not in LAUNCH_NAMES and not name.startswith(LAUNCH_PREFIXES)
    }
    threads = left.pop(OWN_THREADS, None)
    if threads:
        left[THREADS] = threads
    elif threads == "":
        left.pop(THREADS, None)
    return left
