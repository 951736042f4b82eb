"""The environment of a server's process: its GPUs, and nothing of the process group in which the stage trains."""

from __future__ import annotations

from collections.abc import Mapping

VISIBLE = "CUDA_VISIBLE_DEVICES"
"""The variable that names the GPUs which a process sees."""

LAUNCH_NAMES = {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE", "NODE_RANK"}
LAUNCH_PREFIXES = ("ACCELERATE_", "FSDP_", "MASTER_", "ROLE_", "TORCHELASTIC_", "TORCH_NCCL_")


def visible_gpus(visible: str | None, first: int, count: int) -> str:
    """`count` of the GPUs that this process sees, from its `first`, for a process that it starts.

    Args:
        visible: this process's own `CUDA_VISIBLE_DEVICES`: numbers or UUIDs of GPUs, of MIG slices too; None if it sees
            all GPUs.

    Raises:
        ValueError: this process does not see as many.
    """
    if visible is None:
        return ",".join(map(str, range(first, first + count)))
    names = [name.strip() for name in visible.split(",") if name.strip()]
    if "-1" in names:  # CUDA ignores it and what follows
        names = names[: names.index("-1")]
    if len(names) < first + count:
        raise ValueError(
            f"a server needs the GPUs {first} to {first + count - 1} of this process, which sees {len(names)} "
            f"({VISIBLE}={visible})"
        )
    return ",".join(names[first : first + count])


def without_launch(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment without what `accelerate launch` and `torchrun` set. vLLM would take it for its own process
    group."""
    return {
        name: value
        for name, value in environment.items()
        if name not in LAUNCH_NAMES and not name.startswith(LAUNCH_PREFIXES)
    }
