"""The GPUs of a server's process."""

from __future__ import annotations

VISIBLE = "CUDA_VISIBLE_DEVICES"
"""The variable that names the GPUs which a process sees."""


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
