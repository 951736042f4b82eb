"""Goes back to a sharded checkpoint of the time before the first step, for `test_checkpoints`; prints what is left."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import torch
import torch.distributed

from components.model import Encoder
from components.params import parse
from components.training.learner import Learner
from components.training.objectives import objective_of
from components.training.optim import adamw
from components.training.sharding import shard
from components.training.workers import Workers
from tests.samples import raw_recipe
from tests.vlm import random_vlm

if __name__ == "__main__":
    where = Path(sys.argv[1])
    os.environ |= {"RANK": "0", "WORLD_SIZE": "1"}
    torch.distributed.init_process_group("gloo", init_method=f"file://{where}/store", rank=0, world_size=1)
    params, vlm, workers = parse(raw_recipe()), random_vlm(), Workers()
    shard(vlm, workers)
    optimizer = adamw(vlm, 1e-3, (0.9, 0.98), 0.1)
    learner = Learner(vlm, Encoder(vlm), params, optimizer, objective_of(params), workers=workers)
    learner.save(where / "0000.pt", {"iteration": 0})
    for parameter in vlm.trainable():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    moments = len(optimizer.state)
    learner.load(where / "0000.pt")
    print("moments before and after:", moments > 0, len(optimizer.state))
    torch.distributed.destroy_process_group()
