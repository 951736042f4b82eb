"""Starts stages that train on several processes: `training.processes` of them, with `accelerate launch`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.distributed

from components.launch_environment import before_launch
from components.params import Params, load
from components.stage_needs import without_cuda
from components.training.workers import Workers


class TooFewGPUs(RuntimeError):
    """The recipe asks for more training processes than there are GPUs; each process needs one. Or it asks for a GPU,
    and PyTorch finds none."""


LAUNCHED = "WORLD_SIZE"
"""A launcher sets this variable in the environment of every process that it starts."""


@contextmanager
def process_group(module: str, *arguments: str) -> Iterator[Workers]:
    """Yield the workers of this process, and end the other ranks at the end.

    If the recipe asks for several processes and this process was not launched as one of them, `accelerate launch`
    replaces it with exec, and this call does not return. A process group that was launched by hand works as well.

    Raises:
        TooFewGPUs: a recipe for GPUs has more processes than there are; raised before anything is launched.
    """
    params = load()
    if LAUNCHED in os.environ:
        workers = Workers.join(cpu=params.model.device == "cpu")
    elif params.training.processes == 1:
        _require_gpus(params)
        workers = Workers()
    else:
        _require_gpus(params)
        command = launcher(params.training.processes, module, *arguments)
        os.execve(sys.executable, command, before_launch(os.environ))
    yield workers
    if workers.is_main:  # after an error the launcher ends the other ranks, which may be in the middle of a job
        workers.shut_down()
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def _require_gpus(params: Params) -> None:
    gpus = torch.cuda.device_count()
    if params.model.device == "cpu" or gpus >= params.training.processes:
        return
    if gpus == 0:
        fix = without_cuda() or "run this where `nvidia-smi` lists a GPU, or set model.device to cpu"
        raise TooFewGPUs(f"model.device = cuda, but PyTorch finds no GPU: {fix}")
    raise TooFewGPUs(
        f"training.processes = {params.training.processes}, but this machine has {gpus} GPUs: lower training.processes"
    )


def launcher(processes: int, module: str, *arguments: str) -> list[str]:
    """The command that starts a module in several processes on this machine."""
    return [
        sys.executable, "-m", "components.pipeline.ranks",
        "--num_processes", str(processes), "--num_machines", "1", "--main_process_port", "0",
        "--mixed_precision", "no", "--dynamo_backend", "no",
        "--multi_gpu",  # with `--cpu` accelerate starts one process only; `Workers.join` selects the CPU instead
        "--module", module, *arguments,
    ]  # fmt: skip
