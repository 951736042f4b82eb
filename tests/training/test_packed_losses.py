"""The losses of training, packed against every turn by itself; and that each kind of training packs."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import pytest
import torch

from components.judge.distilled import training_sample
from components.model import VLM, Encoder, Sample
from components.params import LoRAParams, OptimParams, RLParams
from components.training import forward, supervised
from components.training.forward import PLAIN, Forward, naive_logprobs, score
from components.training.objectives import UpdateContext, WeightedSample, objective_of
from components.training.objectives.policy_gradient import TurnSample, accumulate_gradients
from components.training.objectives.sft import demonstrations
from components.training.objectives.surrogate import TokenStats
from components.training.packing import pack
from components.training.supervised import train
from components.training.workers import Workers
from tests.samples import a_task, a_trajectory, a_verdict, recipe
from tests.samples import objective as parameters
from tests.training.test_packing import PRECISIONS, attempts, check_same_gradients, gradient_of, in_precision, sample
from tests.training.updates import POLICY_GRADIENTS, RL, group_of, recipe_with, roll, samples_of, update
from tests.vlm import random_vlm, renderer

OPTIM = OptimParams(epochs=1, lr=1e-3, batch_size=64)
TOKENS = OPTIM.micro_batch_tokens


@pytest.fixture(scope="module")
def model() -> VLM:
    return random_vlm(layers=3)


@pytest.fixture(scope="module")
def rolled(model):
    """A group's attempts, of 1, 3, 2 and 1 turns."""
    return group_of(roll(model, Encoder(model), 4, [1, 3, 2]), [0, 1, 0, 1])


def weighted(encoder: Encoder) -> list[WeightedSample]:
    """The turns of a group, weighted differently."""
    return [WeightedSample(one, 0.5 + index) for index, one in enumerate(attempts(encoder))]


def reinforced(rolled, encoder: Encoder, params: RLParams) -> list[TurnSample]:
    """Turns of a policy that has moved on since: ratios from 0.7 to 1.3, some of them clipped, and a reference."""
    rng = torch.Generator().manual_seed(2)
    turns = []
    for turn in samples_of(rolled, encoder, params):
        old_T = turn.logprobs_T.to(encoder.dtype)
        moved_T = old_T + 0.6 * torch.rand(len(old_T), generator=rng, dtype=old_T.dtype) - 0.3
        turns.append(replace(turn, logprobs_T=moved_T, reference_T=old_T - 0.1))
    return turns


def reinforce(
    vlm: VLM, encoder: Encoder, turns: list[TurnSample], params: RLParams, forward: Forward
) -> tuple[float, list[TokenStats]]:
    """The gradient of one optimiser step of a policy-gradient objective."""
    recipe = recipe_with(params)
    context = UpdateContext(vlm, encoder, recipe, torch.optim.SGD(vlm.trainable(), lr=0.1), seed=5)
    return accumulate_gradients(objective_of(recipe), context, turns, forward)


@pytest.mark.parametrize("dtype, tolerance", PRECISIONS)
def test_the_supervised_loss_and_its_gradients_are_those_of_single_turns(model, monkeypatch, dtype, tolerance):
    vlm = in_precision(model, dtype, monkeypatch)
    encoder = Encoder(vlm)
    losses, found = [], []
    for packed in (False, True):
        vlm.model.zero_grad()
        losses.append(supervised.accumulate_gradients(vlm, encoder, weighted(encoder), TOKENS, Forward(packed)))
        found.append(gradient_of(vlm))
    assert losses[1] == pytest.approx(losses[0], rel=tolerance)
    check_same_gradients(found[1], found[0], tolerance)


@pytest.mark.parametrize("objective", POLICY_GRADIENTS)
@pytest.mark.parametrize("dtype, tolerance", PRECISIONS)
def test_an_objectives_loss_and_its_gradients_are_those_of_single_turns(
    model, rolled, monkeypatch, objective, dtype, tolerance
):
    vlm = in_precision(model, dtype, monkeypatch)
    encoder, params = Encoder(vlm), RL.model_copy(update={"objective": parameters(objective, kl=0.1)})
    turns = reinforced(rolled, encoder, params)
    losses, clipped, found = [], [], []
    for packed in (False, True):
        vlm.model.zero_grad()
        loss, stats = reinforce(vlm, encoder, turns, params, Forward(packed))
        losses.append(loss)
        clipped.append(sum(one.clipped for one in stats))
        found.append(gradient_of(vlm))
    assert losses[1] == pytest.approx(losses[0], rel=tolerance)
    assert clipped[1] == clipped[0]
    assert clipped[0] > 0 or objective == "filtered_bc"
    check_same_gradients(found[1], found[0], tolerance)


@dataclass(frozen=True)
class Reordered(Forward):
    """Takes the micro-batches in another order, and keeps how many there are."""

    seed: int = 0
    counts: list[int] = field(default_factory=list)

    def micro_batches(self, *args) -> Iterator[list[int]]:
        found = list(super().micro_batches(*args))
        self.counts.append(len(found))
        return iter(random.Random(self.seed).sample(found, len(found)))


def backwards(batch: list) -> list:
    return batch[::-1]


def shuffled(batch: list) -> list:
    return random.Random(3).sample(batch, len(batch))


@pytest.mark.parametrize("kind", ["supervised", *POLICY_GRADIENTS])
def test_neither_order_nor_split_of_micro_batches_changes_a_gradient(model, rolled, monkeypatch, kind):
    vlm = in_precision(model, torch.float64, monkeypatch)
    encoder = Encoder(vlm)
    params = RL.model_copy(update={"objective": parameters(kind if kind != "supervised" else "mm_grpo", kl=0.1)})
    batch = weighted(encoder) if kind == "supervised" else reinforced(rolled, encoder, params)

    def step(order: Callable[[list], list], forward: Forward, tokens: int) -> tuple[float, dict[str, torch.Tensor]]:
        vlm.model.zero_grad()
        if kind == "supervised":
            loss = supervised.accumulate_gradients(vlm, encoder, order(batch), tokens, forward)
        else:
            cut = params.model_copy(update={"micro_batch_tokens": tokens})
            loss, _ = reinforce(vlm, encoder, order(batch), cut, forward)
        return loss, gradient_of(vlm)

    expected, gradient = step(list, Forward(), 100_000)
    single, all_but_one = len(batch), len(batch) - 1
    for order, seed, tokens, least, most in (
        (list, 1, 1, single, single),
        (backwards, 2, 1, single, single),
        (list, 1, 150, 3, all_but_one),
        (shuffled, 3, 150, 3, all_but_one),
        (backwards, 0, 100_000, 1, 1),
    ):
        forward = Reordered(seed=seed)
        loss, found = step(order, forward, tokens)
        assert least <= forward.counts[0] <= most
        assert loss == pytest.approx(expected, rel=1e-10)
        torch.testing.assert_close(found, gradient, rtol=1e-8, atol=1e-12)


def test_the_end_of_the_prompt_predicts_the_first_supervised_token(model):
    vlm = copy.deepcopy(model)
    encoder = Encoder(vlm)
    one = sample(encoder, "Do it.", 1, "- button")
    logits = vlm.model(**encoder.collate([one.prompt.ids], [one.prompt.images])).logits[:, -1]
    expected = torch.log_softmax(encoder.mask_placeholders(logits), dim=-1)[0, one.response[0]].item()
    data = [WeightedSample(Sample(one.prompt, one.response[:1]))]
    loss = supervised.accumulate_gradients(vlm, encoder, data, TOKENS, Forward())
    assert loss == pytest.approx(-expected, rel=1e-5)


@dataclass(frozen=True)
class Recording(Forward):
    """Keeps what it gives, for its gradients."""

    given: list[torch.Tensor] = field(default_factory=list)

    def __call__(self, *args) -> list[torch.Tensor]:
        found = super().__call__(*args)
        for one in found:
            one.retain_grad()
        self.given.extend(found)
        return found


@pytest.mark.parametrize("kind", ["supervised", *POLICY_GRADIENTS])
def test_each_token_of_each_response_is_supervised(model, rolled, kind):
    vlm, recording = copy.deepcopy(model), Recording()
    encoder = Encoder(vlm)
    if kind == "supervised":
        data = weighted(encoder)
        supervised.accumulate_gradients(vlm, encoder, data, TOKENS, recording)
        samples = [item.sample for item in data]
    else:
        params = RL.model_copy(update={"objective": parameters(kind if kind != "supervised" else "mm_grpo", kl=0.1)})
        turns = samples_of(rolled, encoder, params)
        reinforce(vlm, encoder, turns, params, recording)
        samples = [turn.sample for turn in turns]
    assert sorted(len(one) for one in recording.given) == sorted(len(one.response) for one in samples)
    assert all(one.grad.all() for one in recording.given)


@pytest.mark.parametrize("kind", ["SFT", "judge distillation", "RL", "scoring"])
def test_each_training_shares_prefixes_and_uses_single_turns_only_to_check(model, rolled, monkeypatch, kind):
    saved, single = [], []

    def packing(samples, encoder, share):
        row = pack(samples, encoder, share)
        saved.append(sum(len(s.prompt.ids) + len(s.response) - 1 for s in samples) - len(row.ids))
        return row

    def checking(*args):
        single.append(args)
        return naive_logprobs(*args)

    monkeypatch.setattr(forward, "pack", packing)
    monkeypatch.setattr(forward, "naive_logprobs", checking)
    vlm = copy.deepcopy(model)
    encoder = Encoder(vlm)
    if kind == "SFT":
        fit(vlm, encoder, demonstrations(rolled.trajectories, renderer(), encoder))
    elif kind == "judge distillation":
        judged = [a_trajectory(a_task(), turns=2, attempt=attempt, answer=str(attempt)) for attempt in range(3)]
        params = recipe(agent__prompt="compact")
        fit(vlm, encoder, [[WeightedSample(training_sample(t, a_verdict(t), params, encoder))] for t in judged])
    elif kind == "RL":
        optimizer = torch.optim.SGD(vlm.trainable(), lr=0.01)
        update(vlm, [rolled], RL, optimizer)
    else:
        score(vlm, encoder, attempts(encoder), PLAIN, 4096)
    assert saved
    assert min(saved) > 0
    assert bool(single) == (kind != "scoring")
    assert all(len(given[2]) <= 2 for given in single), "a batch of all would need the memory of a larger row"


def fit(vlm: VLM, encoder: Encoder, data: list[list[WeightedSample]]) -> None:
    train(vlm, encoder, data, OPTIM, seed=1, report=lambda step, steps, loss: None)


def test_dropout_does_not_depend_on_the_number_of_processes(model):
    vlm = copy.deepcopy(model)
    vlm.add_lora(LoRAParams(rank=4, alpha=8, dropout=0.5), seed=0)
    for name, parameter in vlm.model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.1)  # zeros would hide the dropout before them
    vlm.model.train()
    encoder = Encoder(vlm)
    data = weighted(encoder)

    def gradient(processes: int, noise: str) -> torch.Tensor:
        vlm.model.zero_grad()
        for rank in range(processes):
            torch.manual_seed(7)  # as each process begins
            part = Workers(rank=rank, size=processes)
            supervised.add_gradients(vlm, encoder, data, 200, Forward(), part, noise=noise)
        return torch.cat([parameter.grad.flatten() for parameter in vlm.trainable()])

    alone = gradient(1, "0:0")
    assert torch.allclose(gradient(2, "0:0"), alone, atol=1e-6)
    assert not torch.allclose(gradient(1, "0:1"), alone, atol=1e-4), "another step has dropout of its own"
