"""Trains as one process of a team, for `test_team`; started by `accelerate launch --module`."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import torch

from components.params import OptimParams
from components.policies import Encoder, Sample
from components.training.objectives import OBJECTIVES
from components.training.sft import Weighted, train
from components.training.team import Team
from components.training.update import update
from tests.training.test_update import RL, group_of, roll
from tests.vlm import TASK, observation, random_vlm, renderer


def teach(team: Team, objective: str) -> dict:
    """A few steps of SFT, then an RL update; what came of it, on every process."""
    torch.set_num_threads(1)
    vlm = random_vlm()
    vlm.freeze_vision()
    encoder = Encoder(vlm)
    groups = [group_of(roll(vlm, encoder, 4, [1, 3, 2]), [1, 0, 0, 1])]
    start = vlm.frozen_copy()
    params = RL.model_copy(update={"objective": objective, "micro_batch_tokens": 150, "kl": 0.1, "ppo_epochs": 1})
    optimizer = torch.optim.SGD(vlm.trainable(), lr=0.1)
    reference = start if OBJECTIVES[objective].needs_reference else None
    stats = update(vlm, encoder, renderer(), groups, params, optimizer, 5, lambda *said: None, reference, team)
    prompts = [encoder.encode(renderer().prompt(TASK, [], observation(i))) for i in range(5)]
    data = [Weighted(Sample(prompt, [300 + i, 400 + i, encoder.end_id])) for i, prompt in enumerate(prompts)]
    losses: list[float] = []
    optim = OptimParams(epochs=3, lr=1e-3, batch_size=5, micro_batch_tokens=150)
    updated = torch.cat([parameter.detach().flatten() for parameter in vlm.trainable()])
    train(vlm, encoder, data, optim, 1, lambda step, steps, loss: losses.append(loss), team)
    trained = torch.cat([parameter.detach().flatten() for parameter in vlm.trainable()])
    same = team.gather([(team.rank, trained.double().sum().item(), trained.double().abs().sum().item())])
    team.held["weights"] = updated
    return {"stats": asdict(stats), "losses": losses, "processes": same}


def main(out: Path, objective: str) -> None:
    team = Team.join(cpu=True)
    if not team.leads:
        return team.follow()
    found = team.run(teach, objective)
    team.dismiss()
    torch.save(team.held["weights"], out.with_suffix(".pt"))
    out.write_text(json.dumps(found))
    return None


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
