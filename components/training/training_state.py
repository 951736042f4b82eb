"""The weights and the optimiser of a model in training: as a checkpoint holds them, and as training gets them back.

`SupervisedCheckpoint` is the file from which supervised training that was killed goes on as if it had not been. RL has
one per iteration (`checkpoints`, `Learner.save`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

import torch
from torch.distributed.checkpoint.state_dict import (
    get_optimizer_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)
from torch.distributed.fsdp import FSDPModule

from components.model import VLM
from components.store import publish
from components.training.sharding import WHOLE, is_sharded, trained_state
from components.training.workers import Workers

Weights = dict[str, torch.Tensor]

LEAST_INTERVAL_S = 60.0
"""Wall time between two checkpoints of supervised training, at least."""
WRITING_SHARE = 0.05
"""The largest share of the time of supervised training that goes into writing checkpoints, about."""


def frozen_names(vlm: VLM) -> set[str]:
    """The names of the parameters that are not trained."""
    parameters = vlm.model.named_parameters(remove_duplicate=False)
    return {name for name, parameter in parameters if not parameter.requires_grad}


def trained_weights(vlm: VLM) -> Weights:
    """The model's state without its frozen parameters. Of a sharded model the main process gets the whole state, and
    all ranks call this."""
    state = trained_state(vlm) if is_sharded(vlm) else vlm.model.state_dict()
    frozen = frozen_names(vlm)
    return {name: tensor for name, tensor in state.items() if name not in frozen}


def state_of(vlm: VLM, optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """The trained weights and the optimiser's state. All ranks call this."""
    sharded = is_sharded(vlm)
    state: dict[str, Any] = {}
    if not sharded:
        state = optimizer.state_dict()
    elif optimizer.state:  # else PyTorch would take a step with zeros, to have a state
        state = get_optimizer_state_dict(vlm.model, optimizer, options=WHOLE)
    return {"model": trained_weights(vlm), "optimizer": state, "sharded": sharded}


def read_state(path: Path, vlm: VLM) -> dict[str, Any]:
    """A file that holds `state_of` and more, for `restore`."""
    # mapped, so that neither a rank's memory nor the GPU's holds the file's tensors beside the model's own
    mapped = is_sharded(vlm) or vlm.model.device.type != "cpu"
    saved: dict[str, Any] = torch.load(path, map_location="cpu", mmap=mapped, weights_only=True)
    return saved


def restore(vlm: VLM, optimizer: torch.optim.Optimizer, saved: dict[str, Any], path: Path) -> None:
    """Give a model and its optimiser the state of `state_of`. All ranks call this.

    Args:
        path: the file that it is from, for errors.

    Raises:
        RuntimeError: a trained parameter is missing, or one of model and state is sharded and the other is not.
    """
    sharded = isinstance(vlm.model, FSDPModule)
    trained = {name for name, parameter in vlm.model.named_parameters() if parameter.requires_grad}
    if missing := trained - saved["model"].keys():
        raise RuntimeError(
            f"{path} does not contain {min(missing)}, which is trained now: delete the file to begin the training anew"
        )
    if saved.get("sharded", False) != sharded:
        former = "training.shard = false, or with training.processes = 1"
        if not sharded:
            former = "training.shard = true and training.processes above 1"
        raise RuntimeError(
            f"{path} was written with {former}: set both keys so again, or delete the file to begin the training anew"
        )
    if not isinstance(vlm.model, FSDPModule):
        vlm.model.load_state_dict(saved["model"], strict=False)
        optimizer.load_state_dict(saved["optimizer"])
        return
    vlm.model.reshard()  # a pass without gradients leaves the outermost weights whole
    set_model_state_dict(vlm.model, saved["model"], options=WHOLE)
    if saved["optimizer"]:
        set_optimizer_state_dict(vlm.model, optimizer, saved["optimizer"], options=WHOLE)
    else:
        optimizer.state.clear()  # the checkpoint is of the time before the first step


@dataclass
class SupervisedCheckpoint:
    """The checkpoint of a supervised training. All ranks use theirs alike; the main process writes the file."""

    path: Path
    workers: Workers = field(default_factory=Workers)
    _next: float = field(default_factory=lambda: monotonic() + LEAST_INTERVAL_S)

    def restore(self, vlm: VLM, optimizer: torch.optim.Optimizer, steps: int) -> list[float]:
        """Go on from the file, if there is one of a training with as many steps; the losses of the steps taken."""
        if not self.path.exists():
            return []
        saved = read_state(self.path, vlm)
        if saved["steps"] != steps:  # other code makes other samples of the same data
            print(f"{self.path} is of {saved['steps']} steps and this training has {steps}: it begins anew", flush=True)
            return []
        restore(vlm, optimizer, saved, self.path)
        if len(saved["random"]) == self.workers.size:  # dropout of adapters draws from it
            _restore_random(*saved["random"][self.workers.rank])
        losses: list[float] = saved["losses"]
        return losses

    def save_if_due(self, vlm: VLM, optimizer: torch.optim.Optimizer, steps: int, losses: list[float]) -> None:
        """Write the file, if the last one is old enough that writing stays within `WRITING_SHARE`."""
        is_due, *_ = self.workers.gather([monotonic() >= self._next])
        if not is_due:
            return
        began = monotonic()
        random = self.workers.gather([_random_states()])
        state = {**state_of(vlm, optimizer), "steps": steps, "losses": losses, "random": random}
        if self.workers.is_main:
            partial = self.path.with_name(f".{self.path.name}.part")
            torch.save(state, partial)
            publish(partial, self.path)
        self._next = monotonic() + max(LEAST_INTERVAL_S, (monotonic() - began) / WRITING_SHARE)


def _random_states() -> tuple[torch.Tensor, list[torch.Tensor]]:
    return torch.get_rng_state(), torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []


def _restore_random(state: torch.Tensor, of_gpus: list[torch.Tensor]) -> None:
    torch.set_rng_state(state)
    if len(of_gpus) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(of_gpus)
