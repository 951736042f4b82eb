"""Weights, gradients and optimiser state spread over the processes (FSDP2), for a model too large for each.

A layer's weights are gathered for the time in which they are computed with, so all ranks must run the same number of
passes: the workers go in lockstep. Weights beneath adapters are sharded like others, and so is a vision tower that is
trained; a frozen one stays whole on every rank.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import torch
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard, register_fsdp_forward_method
from torch.distributed.tensor import DTensor

from components.model import VLM
from components.training.workers import Workers

WHOLE = StateDictOptions(full_state_dict=True, cpu_offload=True, strict=False)
"""How states are gathered on the main process, and how they are sharded again."""


def shard(vlm: VLM, workers: Workers, device: torch.device | None = None) -> None:
    """Shard a model in place over the workers. Add adapters and freeze parameters before this call; make optimisers
    and copies after it.

    Args:
        device: where the shards go; None: where the model is. A model in the machine's memory goes to a GPU layer by
            layer, so it is never there as a whole. A frozen vision tower stays where it is.
    """
    mesh = init_device_mesh((device or vlm.model.device).type, (workers.size,))
    tower = vlm.model.model.visual
    is_tower_trained = any(parameter.requires_grad for parameter in tower.parameters())
    for layer in [*vlm.model.model.language_model.layers, *(tower.blocks if is_tower_trained else ())]:
        fully_shard(layer, mesh=mesh)
    if is_tower_trained:
        fully_shard(tower, mesh=mesh)
    fully_shard(vlm.model, mesh=mesh, ignored_params=set() if is_tower_trained else set(tower.parameters()))
    register_fsdp_forward_method(vlm.model, "token_logprobs")
    workers.lockstep = True


def is_sharded(vlm: VLM) -> bool:
    """Whether this process holds a part of the weights only."""
    return isinstance(vlm.model, FSDPModule)


def whole_state(vlm: VLM) -> dict[str, torch.Tensor] | None:
    """The whole state of a sharded model on the main process, an empty one on other ranks; None if the model is not
    sharded. All ranks call this together."""
    return _tensors(get_model_state_dict(vlm.model, options=WHOLE)) if is_sharded(vlm) else None


def trained_state(vlm: VLM) -> dict[str, torch.Tensor]:
    """`whole_state` of a sharded model without its frozen parameters, except one that shares its tensor with another
    (tied embeddings). All ranks call this together."""
    return _tensors(get_model_state_dict(vlm.model, options=replace(WHOLE, ignore_frozen_params=True)))


def local(parameter: torch.Tensor) -> torch.Tensor:
    """This rank's part of a parameter, in place; a parameter that is not sharded as a whole."""
    return parameter.to_local() if isinstance(parameter, DTensor) else parameter


def whole(parameter: torch.Tensor) -> torch.Tensor:
    """A parameter of all ranks together, copied; one that is not sharded as it is. All ranks call this together."""
    return parameter.full_tensor() if isinstance(parameter, DTensor) else parameter


def _tensors(state: Mapping[str, object]) -> dict[str, torch.Tensor]:
    return {name: value for name, value in state.items() if isinstance(value, torch.Tensor)}
