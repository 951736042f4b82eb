"""Trains as one process of a team, for `test_team`; started by `accelerate launch --module`."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import torch
from torch.distributed.tensor import DTensor

from components.params import OptimParams, parse
from components.policies import VLM, Encoder, Sample
from components.training.learner import Learner
from components.training.objectives import OBJECTIVES
from components.training.sft import Weighted, train
from components.training.sharding import shard, whole_state
from components.training.team import Team
from components.training.update import update
from tests.samples import raw_recipe
from tests.training.test_update import RL, group_of, roll
from tests.vlm import TASK, observation, random_vlm, renderer

RECIPE = parse(raw_recipe())


def teach(team: Team, objective: str, spread: bool, checkpoint: Path) -> dict:
    """An RL update, a checkpoint that another model takes over, a few steps of SFT; what came of it."""
    torch.set_num_threads(1)
    vlm = random_vlm()
    vlm.freeze_vision()
    encoder = Encoder(vlm)
    groups = [group_of(roll(vlm, encoder, 4, [1, 3, 2]), [1, 0, 0, 1])]
    start = vlm.frozen_copy()
    params = RL.model_copy(update={"objective": objective, "micro_batch_tokens": 150, "kl": 0.1, "ppo_epochs": 1})
    again = random_vlm()
    again.freeze_vision()
    if spread:
        shard(vlm, team)
        shard(again, team)
        held = sum(p.to_local().numel() for p in vlm.trainable()) / sum(p.numel() for p in vlm.trainable())
        assert held < 0.6, "this process holds more than its part"
    optimizer = torch.optim.SGD(vlm.trainable(), lr=0.1, momentum=0.9)
    reference = start if OBJECTIVES[objective].needs_reference else None
    stats = update(vlm, encoder, renderer(), groups, params, optimizer, 5, lambda *said: None, reference, team)
    Learner(vlm, encoder, RECIPE, optimizer, None).save(checkpoint, {"iteration": 1}, team.leads)
    team.gather([0])  # the leader has written it
    vlm, optimizer = again, torch.optim.SGD(again.trainable(), lr=0.1, momentum=0.9)
    assert Learner(vlm, Encoder(vlm), RECIPE, optimizer, None).load(checkpoint) == {"iteration": 1}
    encoder = Encoder(vlm)
    assert optimizer.state_dict()["state"], "the optimiser begins anew"
    prompts = [encoder.encode(renderer().prompt(TASK, [], observation(i))) for i in range(5)]
    data = [Weighted(Sample(prompt, [300 + i, 400 + i, encoder.end_id])) for i, prompt in enumerate(prompts)]
    losses: list[float] = []
    optim = OptimParams(epochs=3, lr=1e-3, batch_size=5, micro_batch_tokens=150)
    updated = weights(vlm)
    train(vlm, encoder, data, optim, 1, lambda step, steps, loss: losses.append(loss), team)
    trained = weights(vlm)
    same = team.gather([(team.rank, trained.double().sum().item(), trained.double().abs().sum().item())])
    state = whole_state(vlm)
    if team.leads:
        vlm.save(checkpoint.parent / "model", state)
        loaded = VLM.load(checkpoint.parent / "model", RECIPE.model)
        loaded.freeze_vision()
        assert torch.equal(weights(loaded), trained)
    team.held["weights"] = updated
    return {"stats": asdict(stats), "losses": losses, "processes": same}


def weights(vlm: VLM) -> torch.Tensor:
    """All that is trained, one after the other; whole also where it is spread."""
    parts = [parameter.detach() for parameter in vlm.trainable()]
    whole = [part.full_tensor() if isinstance(part, DTensor) else part for part in parts]
    return torch.cat([part.flatten() for part in whole])


def main(out: Path, objective: str, spread: bool) -> None:
    team = Team.join(cpu=True)
    if not team.leads:
        return team.follow()
    found = team.run(teach, objective, spread, out.with_name("checkpoint.pt"))
    team.dismiss()
    torch.save(team.held["weights"], out.with_suffix(".pt"))
    out.write_text(json.dumps(found))
    return None


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "shard")
