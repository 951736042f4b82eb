"""Trains as one process of a team, for `test_team`; started by `accelerate launch --module`."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import torch
from peft import set_peft_model_state_dict
from safetensors.torch import load_file
from torch.distributed.tensor import DTensor

from components.agent import Prompt
from components.agent.rendering import Text
from components.params import LoRAParams, OptimParams, parse
from components.policies import VLM, Encoder, Sample, scoring
from components.policies.lora import ADAPTER, merged_weights
from components.training.learner import Learner, enlist, gather, keep, learn, resume
from components.training.objectives import OBJECTIVES
from components.training.rft import fine_tune
from components.training.sft import Weighted, train
from components.training.sharding import is_sharded, shard, whole_state
from components.training.team import Team
from components.training.update import update
from tests.samples import raw_recipe
from tests.training.test_update import RL, group_of, roll
from tests.vlm import AGENT, CONFIG, TASK, observation, random_vlm, renderer

RECIPE = parse(raw_recipe())
OVERLAPPING = {
    "agent__prompt": "compact",
    "inference__engine": "vllm",
    "rl__async": True,
    "rl__objective": "m_grpo",
    "rl__kl": 0.1,
    "rl__lr": 1e-4,
    "rl__micro_batch_tokens": 150,
    "rl__temperature": 0.9,
}


def prepared(kind: str) -> VLM:
    """A model that is trained as `kind` says; its adapters have learned something."""
    vlm = random_vlm()
    if kind == "lora":
        vlm.add_lora(LoRAParams(rank=4, alpha=8), seed=1)
        with torch.no_grad():
            for parameter in vlm.trainable():
                parameter.add_(0.1 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(2)))
    if kind != "vision":
        vlm.freeze_vision()
    if kind != "copies":
        vlm.model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    return vlm


def teach(team: Team, objective: str, kind: str, checkpoint: Path) -> dict:
    """An RL update, a checkpoint that another model takes over, a few steps of SFT; what came of it."""
    torch.set_num_threads(1)
    vlm = prepared(kind)
    encoder = Encoder(vlm)
    groups = [group_of(roll(vlm, encoder, 4, [1, 3, 2]), [1, 0, 0, 1])]
    start = vlm.frozen_copy()
    params = RL.model_copy(update={"objective": objective, "micro_batch_tokens": 150, "kl": 0.1, "ppo_epochs": 1})
    again = prepared(kind)
    if kind != "copies" and team.size > 1:
        for each in (vlm, again, start):
            shard(each, team)
            assert is_sharded(each)
            assert Encoder(each).vision.spread == (kind == "vision" and each is not start)
            assert held(each) < 0.6, "this process holds more than its part"
    optimizer = torch.optim.SGD(vlm.trainable(), lr=0.1, momentum=0.9)
    if objective == "rft":
        recipe = RECIPE.model_copy(update={"agent": AGENT, "rl": params})
        taught = groups[0].trajectories[1:3]
        stats = fine_tune(vlm, encoder, groups, taught, recipe, 5, lambda *said: None, team)
    else:
        reference = start if OBJECTIVES[objective].needs_reference else None
        stats = update(vlm, encoder, renderer(), groups, params, optimizer, 5, lambda *said: None, reference, team)
    Learner(vlm, encoder, RECIPE, optimizer, None).save(checkpoint, {"iteration": 1}, team.leads)
    team.gather([0])  # the leader has written it
    vlm, optimizer = again, torch.optim.SGD(again.trainable(), lr=0.1, momentum=0.9)
    assert Learner(vlm, Encoder(vlm), RECIPE, optimizer, None).load(checkpoint) == {"iteration": 1}
    encoder = Encoder(vlm)
    assert objective == "rft" or optimizer.state_dict()["state"], "the optimiser begins anew"
    prompts = [encoder.encode(renderer().prompt(TASK, [], observation(i))) for i in range(5)]
    prompts += [encoder.encode(Prompt((Text(f'- link "{word}" {word}' * 9),))) for word in "abc"]  # no image
    data = [[Weighted(Sample(prompt, [300 + i, 400 + i, encoder.end_id]))] for i, prompt in enumerate(prompts)]
    losses: list[float] = []
    optim = OptimParams(epochs=3, lr=1e-3, batch_size=8, micro_batch_tokens=150)
    updated = weights(vlm)
    assert (updated - weights(prepared(kind))).abs().max() > 1e-4, "nothing has been learned"
    train(vlm, encoder, data, optim, 1, lambda step, steps, loss: losses.append(loss), team)
    trained = weights(vlm)
    same = team.gather([(team.rank, trained.double().sum().item(), trained.double().abs().sum().item())])
    state = whole_state(vlm)
    if team.leads:
        vlm.save(checkpoint.parent / "model", state)
        loaded = VLM.load(checkpoint.parent / "model", RECIPE.model)
        published = loaded.model.state_dict()
        if kind == "lora":
            plain = prepared(kind)
            set_peft_model_state_dict(plain.model, adapter_file(checkpoint.parent / "model"), adapter_name=ADAPTER)
            assert torch.equal(weights(plain), trained)
            state = merged_weights(plain.model, plain.model.state_dict())
            assert not torch.equal(weights(plain), weights(prepared(kind)))
        expected = state or vlm.model.state_dict()
        assert published.keys() == expected.keys()
        assert all(torch.equal(published[name], expected[name]) for name in published)
    team.held["weights"] = updated
    return {"stats": asdict(stats), "losses": losses, "processes": same}


def held(vlm: VLM) -> float:
    """The share of the weights that this process holds, a frozen vision tower left aside."""
    frozen = {id(p) for p in vlm.model.model.visual.parameters() if not p.requires_grad}
    spread = [p for p in vlm.model.parameters() if id(p) not in frozen]
    here = sum((p.to_local() if isinstance(p, DTensor) else p).numel() for p in spread)
    return here / sum(p.numel() for p in spread)


def weights(vlm: VLM) -> torch.Tensor:
    """All that is trained, one after the other; whole also where it is spread."""
    parts = [parameter.detach() for parameter in vlm.trainable()]
    whole = [part.full_tensor() if isinstance(part, DTensor) else part for part in parts]
    return torch.cat([part.flatten() for part in whole])


def adapter_file(model: Path) -> dict[str, torch.Tensor]:
    """The published adapters by the names that they have in the model."""
    found = load_file(model / "adapter/adapter_model.safetensors")
    return {name.removeprefix("base_model.model."): tensor for name, tensor in found.items()}


def overlap(team: Team, model: Path) -> list[dict]:
    """What asynchronous RL with adapters and a reference asks of a learner: three updates, resumed after the second."""
    random_vlm().save(model)
    vlm = random_vlm()
    groups = [group_of(roll(vlm, Encoder(vlm), 4, [1, 3, 2]), [1, 0, 0, 1])]
    training = {"processes": team.size, "shard": True}
    params = parse(raw_recipe(**OVERLAPPING, model__lora={"rank": 4, "alpha": 8}, training=training))
    team.run(enlist, model, params)
    checkpoint = model.with_name("checkpoint.pt")
    sampled, trained, stats = [], [adapters(team)], []
    for number in (1, 2, 3):
        stats.append(asdict(team.run(learn, groups, number)))
        with team.held["learner"].updates_back(1):
            sampled.append(adapters(team))
        trained.append(adapters(team))
        if number == 2:
            team.run(keep, checkpoint, {"iteration": 2})
    assert all(map(torch.equal, sampled, trained))
    assert not any(map(torch.equal, trained, trained[1:]))
    team.run(forget)
    team.run(enlist, model, params)
    assert team.run(resume, checkpoint) == {"iteration": 2}
    with team.held["learner"].updates_back(1):
        assert torch.equal(adapters(team), trained[1])
    assert torch.equal(adapters(team), trained[2])
    team.run(learn, groups, 3)
    assert torch.equal(adapters(team), trained[3])
    return stats


def forget(team: Team) -> None:
    """A job: as if every process had been killed."""
    del team.held["learner"]


def adapters(team: Team) -> torch.Tensor:
    """The trained weights that a rollout would get now."""
    state = team.run(gather, True) or team.held["learner"].vlm.model.state_dict()
    return torch.cat([tensor.flatten().clone() for name, tensor in state.items() if ".lora_" in name])


def main(out: Path, objective: str, kind: str) -> None:
    torch.set_num_threads(1)
    scoring.LOGITS_AT_ONCE = 3 * CONFIG.vocabulary  # several chunks in a row, where one process alone has one
    team = Team.join(cpu=True)
    if not team.leads:
        return team.follow()
    if kind == "overlap":
        found = overlap(team, out.with_name("model"))
    else:
        found = team.run(teach, objective, kind, out.with_name("checkpoint.pt"))
    team.dismiss()
    torch.save(team.held.get("weights"), out.with_suffix(".pt"))
    out.write_text(json.dumps(found))
    return None


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
