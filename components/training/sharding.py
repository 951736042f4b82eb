"""Weights, gradients and optimiser state spread over the processes of a team (FSDP2): a model too large for each.

Every layer's weights come together for as long as they are computed with, so that all processes must run as many
passes: a team of such processes goes in lockstep. Weights beneath adapters are spread like others, and so is a vision
tower that is trained; a frozen one stays whole.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard, register_fsdp_forward_method

from components.policies import VLM
from components.training.team import Team

WHOLE = StateDictOptions(full_state_dict=True, cpu_offload=True, strict=False)
"""How states are gathered, on the leader, and spread again."""


def shard(vlm: VLM, team: Team) -> None:
    """Spread a model. Adapters and what is frozen have to be settled before, an optimiser and copies come after."""
    mesh = init_device_mesh(vlm.model.device.type, (team.size,))
    tower = vlm.model.model.visual
    trained = any(parameter.requires_grad for parameter in tower.parameters())
    for layer in [*vlm.model.model.language_model.layers, *(tower.blocks if trained else ())]:
        fully_shard(layer, mesh=mesh)
    if trained:
        fully_shard(tower, mesh=mesh)
    fully_shard(vlm.model, mesh=mesh, ignored_params=set() if trained else set(tower.parameters()))
    register_fsdp_forward_method(vlm.model, "token_logprobs")
    team.lockstep = True


def is_sharded(vlm: VLM) -> bool:
    return isinstance(vlm.model, FSDPModule)


def whole_state(vlm: VLM) -> dict[str, torch.Tensor] | None:
    """The whole state of a model that is spread, on the leader and nothing on others; None if it is not spread. All
    processes call this together."""
    return get_model_state_dict(vlm.model, options=WHOLE) if is_sharded(vlm) else None


def trained_state(vlm: VLM) -> dict[str, torch.Tensor]:
    """`whole_state` of a model that is spread, without its frozen parameters (but for one that is another's twin)."""
    return get_model_state_dict(vlm.model, options=replace(WHOLE, ignore_frozen_params=True))
