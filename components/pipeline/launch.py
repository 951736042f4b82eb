"""Starts stages that train on several processes: `training.processes` of them, with `accelerate launch`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.distributed

from components.launch_environment import before_launch
from components.params import load
from components.training.workers import Workers


class TooFewGPUs(RuntimeError):
    """The recipe asks for more training processes than there are GPUs; each process needs one."""


LAUNCHED = "WORLD_SIZE"
"""A launcher sets this variable in the environment of every process that it starts."""


@contextmanager
def process_group(module: str, *arguments: str) -> Iterator[Workers]:
    """Yield the workers of this process, and end the other ranks at the end.

    If the recipe asks for several processes and this process was not launched as one of them, `accelerate launch`
    replaces it with exec, and this call does not return. A process group that was launched by hand works as well.

    Raises:
        TooFewGPUs: there are fewer GPUs than processes; raised before anything is launched.
    """
    params = load()
    if LAUNCHED in os.environ:
        workers = Workers.join(cpu=params.model.device == "cpu")
    elif params.training.processes == 1:
        workers = Workers()
    else:
        gpus = torch.cuda.device_count()
        if params.model.device == "cuda" and gpus < params.training.processes:
            raise TooFewGPUs(
                f"training.processes = {params.training.processes}, but this machine has {gpus} GPUs: lower "
                "training.processes"
            )
        command = launcher(params.training.processes, module, *arguments)
        os.execve(sys.executable, command, before_launch(os.environ))
    yield workers
    if workers.is_main:  # after an error the launcher ends the other ranks, which may be in the middle of a job
        workers.shut_down()
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def launcher(processes: int, module: str, *arguments: str) -> list[str]:
    """The command that starts a module in several processes on this machine."""
    return [
        sys.executable, "-m", "components.pipeline.ranks",
        "--num_processes", str(processes), "--num_machines", "1", "--main_process_port", "0",
        "--mixed_precision", "no", "--dynamo_backend", "no",
        "--multi_gpu",  # with `--cpu` accelerate starts one process only; `Workers.join` selects the CPU instead
        "--module", module, *arguments,
    ]  # fmt: skip
