"""Trains as one rank of a process group, for `test_workers`; started by `accelerate launch --module`."""

from __future__ import annotations

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import torch
import torch.distributed
from peft import set_peft_model_state_dict
from safetensors.torch import load_file
from torch.distributed.tensor import DTensor

from components.agent import Prompt
from components.agent.rendering import Text
from components.model import VLM, Encoder, Sample, scoring
from components.model.lora import ADAPTER, merged_weights
from components.params import ImageCacheParams, LoRAParams, OptimParams, Params, parse
from components.training import training_state
from components.training import workers as workers_module
from components.training.divergence import drawn_turns, kl_by_family, other_model
from components.training.learner import Learner
from components.training.objectives import WeightedSample, objective_of
from components.training.sharding import is_sharded, shard, whole_state
from components.training.supervised import LossReport, train
from components.training.training_state import SupervisedCheckpoint
from components.training.workers import Replicas, Workers
from tests.samples import objective as parameters
from tests.samples import raw_recipe
from tests.training.updates import RL, group_of, roll, update
from tests.vlm import CONFIG, TASK, observation, random_vlm, renderer

RECIPE = parse(raw_recipe())
OVERLAPPING = {
    "agent__prompt": "compact",
    "inference__engine": "vllm",
    "rl__max_staleness": 1,
    "rl__objective": {"name": "m_grpo", "kl": 0.1},
    "rl__lr": 1e-4,
    "rl__micro_batch_tokens": 150,
    "rl__temperature": 0.9,
}
DEFAULT_TIMEOUT = timedelta(seconds=15)
"""The limit of a collective call in the default group, in the kind `waits`: so of the time between the starts of both
processes, too."""


def prepared(kind: str) -> VLM:
    """Return a model to train as `kind` says. Its adapters are not zero."""
    vlm = random_vlm()
    if kind == "lora":
        vlm.add_lora(LoRAParams(rank=4, alpha=8), seed=1)
        with torch.no_grad():
            for parameter in vlm.trainable():
                parameter.add_(0.1 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(2)))
    if kind == "bfloat16":
        vlm = replace(vlm, compute_dtype=torch.bfloat16)  # products are rounded, weights not, as `model.dtype` has it
    if kind != "vision":
        vlm.freeze_vision()
    if kind != "copies":
        vlm.model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    return vlm


def teach(workers: Workers, objective: str, kind: str, checkpoint: Path) -> dict:
    """Run an RL update, move to another model by a checkpoint, run a few steps of SFT, and return the figures."""
    torch.set_num_threads(1)
    vlm = prepared(kind)
    encoder = Encoder(vlm)
    groups = [group_of(roll(vlm, encoder, 4, [1, 3, 2]), [1, 0, 0, 1])]
    start = vlm.frozen_copy()
    params = RL.model_copy(update={"objective": parameters(objective, epochs=1, kl=0.1), "micro_batch_tokens": 150})
    again = prepared(kind)
    if kind != "copies" and workers.size > 1:
        for each in (vlm, again, start):
            shard(each, workers)
            assert is_sharded(each)
            assert Encoder(each).vision.is_sharded == (kind == "vision" and each is not start)
            assert held(each) < 0.6, "this process holds more than its part"
    optimizer = torch.optim.SGD(vlm.trainable(), lr=0.1, momentum=0.9)
    stats = update(vlm, groups, params, optimizer, start, groups[0].trajectories[1:3], workers)
    kind_of_loss = objective_of(RECIPE)
    learner = Learner(vlm, encoder, RECIPE, optimizer, kind_of_loss, workers=workers)
    learner.save(checkpoint, {"iteration": 1})
    carried = learner.optimizer_state()
    assert (carried is not None) == (workers.is_main and objective != "rft" and kind != "lora")
    if carried:
        torch.save(carried, checkpoint.with_name("optimizer.pt"))
    workers.gather([0])  # the main process has written them
    vlm, optimizer = again, torch.optim.SGD(again.trainable(), lr=0.1, momentum=0.9)
    assert Learner(vlm, Encoder(vlm), RECIPE, optimizer, kind_of_loss).load(checkpoint) == {"iteration": 1}
    encoder = Encoder(vlm)
    assert objective == "rft" or optimizer.state_dict()["state"], "the optimiser begins anew"
    if checkpoint.with_name("optimizer.pt").exists():
        later = Learner(vlm, encoder, RECIPE, torch.optim.SGD(vlm.trainable(), lr=0.2, momentum=0.9), kind_of_loss)
        later.take_over(torch.load(checkpoint.with_name("optimizer.pt"), weights_only=True))
        check_same_state(carried, later.optimizer_state())
        assert later.optimizer.param_groups[0]["lr"] == 0.2
    prompts = [encoder.encode(renderer().prompt(TASK, [], observation(i))) for i in range(5)]
    prompts += [encoder.encode(Prompt((Text(f'- link "{word}" {word}' * 9),))) for word in "abc"]  # no image
    data = [[WeightedSample(Sample(prompt, [300 + i, 400 + i, encoder.end_id]))] for i, prompt in enumerate(prompts)]
    losses: list[float] = []
    optim = OptimParams(epochs=3, lr=1e-3, batch_size=8, micro_batch_tokens=150)
    updated = weights(vlm)
    assert (updated - weights(prepared(kind))).abs().max() > 1e-4, "nothing has been learned"
    if workers.size > 1:
        training_state.LEAST_INTERVAL_S, training_state.WRITING_SHARE = 0.0, 1e9  # a checkpoint after each step
        file = checkpoint.with_name("training.pt")
        with pytest.raises(Killed):
            train(vlm, encoder, data, optim, 1, killed_at(2), workers, checkpoint=SupervisedCheckpoint(file, workers))
        vlm = prepared(kind)
        if kind != "copies":
            shard(vlm, workers)
        encoder = Encoder(vlm)
    kept = SupervisedCheckpoint(checkpoint.with_name("training.pt"), workers) if workers.size > 1 else None
    train(vlm, encoder, data, optim, 1, lambda step, steps, loss: losses.append(loss), workers, checkpoint=kept)
    trained = weights(vlm)
    same = workers.gather([(workers.rank, trained.double().sum().item(), trained.double().abs().sum().item())])
    state = whole_state(vlm)
    if workers.is_main:
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
        if vlm.compute_dtype is not None:  # published as it is computed with, and read in float32
            expected = {name: tensor.to(vlm.compute_dtype).to(tensor.dtype) for name, tensor in expected.items()}
        assert published.keys() == expected.keys()
        assert all(torch.equal(published[name], expected[name]) for name in published)
    return {"stats": stats.figures(), "losses": losses, "processes": same, "weights": updated.tolist()}


class Killed(RuntimeError):
    """Ends training on all ranks after the same step; `stages/test_train_sft.py` sends SIGKILL to the stage."""


def killed_at(last: int) -> LossReport:
    """A report that ends training after a step."""

    def report(step: int, steps: int, loss: float) -> None:
        if step == last:
            raise Killed

    return report


def check_same_state(first: dict[str, dict] | None, second: dict[str, dict] | None) -> None:
    """Compare two states of an optimiser on the main process; the others have none."""
    if first is not None and second is not None:
        assert first.keys() == second.keys()
        assert all(torch.equal(first[name]["momentum_buffer"], second[name]["momentum_buffer"]) for name in first)
    assert (first is None) == (second is None)


def held(vlm: VLM) -> float:
    """Return the share of the weights that this process holds, without a frozen vision tower."""
    frozen = {id(p) for p in vlm.model.model.visual.parameters() if not p.requires_grad}
    spread = [p for p in vlm.model.parameters() if id(p) not in frozen]
    here = sum((p.to_local() if isinstance(p, DTensor) else p).numel() for p in spread)
    return here / sum(p.numel() for p in spread)


def weights(vlm: VLM) -> torch.Tensor:
    """Return all trained weights as one vector, gathered if they are sharded."""
    parts = [parameter.detach() for parameter in vlm.trainable()]
    whole = [part.full_tensor() if isinstance(part, DTensor) else part for part in parts]
    return torch.cat([part.flatten() for part in whole])


def adapter_file(model: Path) -> dict[str, torch.Tensor]:
    """Return the published adapters by their names in the model."""
    found = load_file(model / "adapter/adapter_model.safetensors")
    return {name.removeprefix("base_model.model."): tensor for name, tensor in found.items()}


def overlap(workers: Workers, model: Path) -> list[dict]:
    """Use a learner as asynchronous RL with adapters and a reference does: three updates, resumed after the second."""
    random_vlm().save(model)
    vlm = random_vlm()
    groups = [group_of(roll(vlm, Encoder(vlm), 4, [1, 3, 2]), [1, 0, 0, 1])]
    training = {"processes": workers.size, "shard": True}
    params = parse(raw_recipe(**OVERLAPPING, model__lora={"rank": 4, "alpha": 8}, training=training))
    learners = workers.replicate(Learner.load_model, model, params, "short")
    checkpoint = model.with_name("checkpoint.pt")
    sampled, trained, stats = [], [adapters(learners)], []
    for number in (1, 2, 3):
        stats.append(learners.run(Learner.update, groups, number).figures())
        with learners.local.at_earlier_update(1):
            sampled.append(adapters(learners))
        trained.append(adapters(learners))
        if number == 2:
            learners.run(Learner.save, checkpoint, {"iteration": 2})
    assert all(map(torch.equal, sampled, trained))
    assert not any(map(torch.equal, trained, trained[1:]))
    learners = workers.replicate(Learner.load_model, model, params, "short")
    assert learners.run(Learner.load, checkpoint) == {"iteration": 2}
    with learners.local.at_earlier_update(1):
        assert torch.equal(adapters(learners), trained[1])
    assert torch.equal(adapters(learners), trained[2])
    learners.run(Learner.update, groups, 3)
    assert torch.equal(adapters(learners), trained[3])
    return stats


def encode_images(workers: Workers, cache: Path) -> dict:
    """Run an update whose processes share the features of images, and return its figures."""
    vlm = prepared("copies")
    groups = [group_of(roll(vlm, Encoder(vlm), 4, [1, 3, 2]), [1, 0, 0, 1])]
    params = RL.model_copy(update={"objective": parameters("m_grpo", epochs=2, kl=0.1), "micro_batch_tokens": 150})
    optimizer = torch.optim.SGD(vlm.trainable(), lr=0.1)
    kept = ImageCacheParams(disk_gib=0.01, directory=str(cache))
    return update(vlm, groups, params, optimizer, vlm.frozen_copy(), workers=workers, image_cache=kept).figures()


def compare(learner: Learner, drawn: list, sft: Path, sharded: bool) -> dict[str, tuple[float, int]]:
    """Job: the KL to the SFT policy, of which a sharded learner holds its part."""
    other = other_model(learner, sft)
    assert is_sharded(other.vlm) == sharded
    assert held(other.vlm) < 0.6 or not sharded, "this process holds more than its part"
    del other
    return kl_by_family(learner, drawn, sft)


def moved_learner(workers: Workers, sft: Path, params: Params) -> Learner:
    """A learner whose trained weights have left the SFT policy alike on every process."""
    learner = Learner.load_model(workers, sft, params, "short")
    with torch.no_grad():
        for parameter in learner.vlm.trainable():
            parameter.mul_(1.05).add_(0.001)
    return learner


def measure_kl(workers: Workers, sft: Path) -> dict[str, str]:
    """The KL to the SFT policy of a learner that is sharded and of one that is not, with and without adapters."""
    vlm, found, recipe = random_vlm(), {}, OVERLAPPING | {"rl__objective": {"name": "m_grpo", "kl": 0.0}}
    vlm.save(sft)
    trajectories = roll(vlm, Encoder(vlm), 4, [1, 3, 2])
    for name, lora in (("full", None), ("lora", {"rank": 4, "alpha": 8})):
        values = []
        for sharded in (False, True):
            training = {"processes": workers.size, "shard": sharded}
            params = parse(raw_recipe(**recipe, model__lora=lora, training=training))
            learners = workers.replicate(moved_learner, sft, params)
            values.append(learners.run(compare, drawn_turns(trajectories, 0), sft, sharded))
        assert values[0]["a"][0] > 0
        found[name] = "same" if values[0] == values[1] else repr(values)
        before = adapters(learners) if lora else None
        learners.run(Learner.update, [group_of(trajectories, [1, 0, 0, 1])], 2)  # stale rollouts
        assert before is None or not torch.equal(adapters(learners), before), "the KL has frozen the adapters"
    return found


def number_of_every_rank(workers: Workers, number: int) -> list[int]:
    """Job: gather a number."""
    return workers.gather([number])


def wait_and_gather(workers: Workers) -> list[list[int]]:
    """Send a job after an idle time that the default group does not bear, and then jobs from four threads."""
    time.sleep(DEFAULT_TIMEOUT.total_seconds() + 5)
    found = [workers.run(number_of_every_rank, 0)]
    with ThreadPoolExecutor(4) as pool:
        return [*found, *pool.map(lambda number: workers.run(number_of_every_rank, number), range(1, 101))]


def hang(workers: Workers) -> None:
    """A job in which one rank does not come to what all do together."""
    if not workers.is_main:
        time.sleep(600)
    torch.distributed.all_reduce(torch.ones(1))


def adapters(learners: Replicas[Learner]) -> torch.Tensor:
    """Return the trained weights that a rollout would get now."""
    state = learners.run(Learner.gathered_weights, True) or learners.local.vlm.model.state_dict()
    return torch.cat([tensor.flatten().clone() for name, tensor in state.items() if ".lora_" in name])


def main(out: Path, kind: str, *cases: str) -> None:
    """Run what `kind` says; for `teach`, the cases `MODEL:OBJECTIVE` one after the other."""
    torch.set_num_threads(1)
    scoring.MAX_LOGITS = 3 * CONFIG.vocabulary  # several chunks in a row, where one process alone has one
    if kind == "waits":
        torch.distributed.init_process_group("gloo", timeout=DEFAULT_TIMEOUT)
    if kind == "hangs":
        workers_module.COLLECTIVE_TIMEOUT = timedelta(seconds=20)
    workers = Workers.join(cpu=True)
    if not workers.is_main:
        return workers.serve_jobs()
    if kind == "overlap":
        found = overlap(workers, out.with_name("model"))
    elif kind == "kl":
        found = measure_kl(workers, out.with_name("sft"))
    elif kind == "waits":
        found = wait_and_gather(workers)
    elif kind == "hangs":
        workers.run(hang)
        found = None
    elif kind == "images":
        found = workers.run(encode_images, out.with_name("cache"))
    else:
        found = {}
        for case in cases:
            model, objective = case.split(":")
            folder = out.parent / model / objective
            folder.mkdir(parents=True)
            found[case] = workers.run(teach, objective, model, folder / "checkpoint.pt")
    workers.shut_down()
    out.write_text(json.dumps(found))
    return None


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
