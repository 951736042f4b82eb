"""The losses of training, packed against every turn by itself; and that each kind of training packs."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import pytest
import torch

from components.judge.distilled import training_sample
from components.params import OptimParams, RLParams
from components.policies import VLM, Encoder, Sample
from components.training import forward
from components.training.forward import Forward, naive_logprobs, score
from components.training.objectives import OBJECTIVES
from components.training.packing import pack
from components.training.sft import Weighted, _step, demonstrations, train
from components.training.update import TurnSample, _accumulate, turn_samples, update
from tests.samples import a_task, a_trajectory, a_verdict, recipe
from tests.training.test_packing import PRECISIONS, attempts, check_same_gradients, gradient_of, in_precision, sample
from tests.training.test_update import RL, group_of, roll
from tests.vlm import random_vlm, renderer

OPTIM = OptimParams(epochs=1, lr=1e-3, batch_size=64)


@pytest.fixture(scope="module")
def model() -> VLM:
    return random_vlm(layers=3)


@pytest.fixture(scope="module")
def rolled(model):
    """A group's attempts, of 1, 3, 2 and 1 turns."""
    return group_of(roll(model, Encoder(model), 4, [1, 3, 2]), [0, 1, 0, 1])


def supervised(encoder: Encoder) -> list[Weighted]:
    """The turns of a group, weighted differently."""
    return [Weighted(one, 0.5 + index) for index, one in enumerate(attempts(encoder))]


def reinforced(rolled, encoder: Encoder, params: RLParams) -> list[TurnSample]:
    """Turns of a policy that has moved on since: ratios from 0.7 to 1.3, some of them clipped, and a reference."""
    rng = torch.Generator().manual_seed(2)
    turns = []
    for turn in turn_samples([rolled], renderer(), encoder, params):
        old_T = turn.logprobs_T.to(encoder.dtype)
        moved_T = old_T + 0.6 * torch.rand(len(old_T), generator=rng, dtype=old_T.dtype) - 0.3
        turns.append(replace(turn, logprobs_T=moved_T, reference_T=old_T - 0.1))
    return turns


@pytest.mark.parametrize("dtype, tolerance", PRECISIONS)
def test_the_supervised_loss_and_its_gradients_are_those_of_single_turns(model, monkeypatch, dtype, tolerance):
    vlm = in_precision(model, dtype, monkeypatch)
    encoder = Encoder(vlm)
    losses, found = [], []
    for packed in (False, True):
        vlm.model.zero_grad()
        losses.append(_step(vlm, encoder, supervised(encoder), OPTIM, Forward(packed)))
        found.append(gradient_of(vlm))
    assert losses[1] == pytest.approx(losses[0], rel=tolerance)
    check_same_gradients(found[1], found[0], tolerance)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("dtype, tolerance", PRECISIONS)
def test_an_objectives_loss_and_its_gradients_are_those_of_single_turns(
    model, rolled, monkeypatch, objective, dtype, tolerance
):
    vlm = in_precision(model, dtype, monkeypatch)
    encoder, params = Encoder(vlm), RL.model_copy(update={"objective": objective, "kl": 0.1})
    turns = reinforced(rolled, encoder, params)
    losses, clipped, found = [], [], []
    for packed in (False, True):
        vlm.model.zero_grad()
        loss, stats = _accumulate(vlm, encoder, turns, params, Forward(packed))
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


@pytest.mark.parametrize("kind", ["supervised", *OBJECTIVES])
def test_neither_order_nor_split_of_micro_batches_changes_a_gradient(model, rolled, monkeypatch, kind):
    vlm = in_precision(model, torch.float64, monkeypatch)
    encoder = Encoder(vlm)
    params = RL.model_copy(update={"objective": kind, "kl": 0.1})
    batch = supervised(encoder) if kind == "supervised" else reinforced(rolled, encoder, params)

    def step(order: Callable[[list], list], forward: Forward, tokens: int) -> tuple[float, dict[str, torch.Tensor]]:
        vlm.model.zero_grad()
        change = {"micro_batch_tokens": tokens}
        if kind == "supervised":
            loss = _step(vlm, encoder, order(batch), OPTIM.model_copy(update=change), forward)
        else:
            loss, _ = _accumulate(vlm, encoder, order(batch), params.model_copy(update=change), forward)
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


def test_the_first_token_of_a_response_is_supervised_by_what_the_prompts_end_predicts(model):
    vlm = copy.deepcopy(model)
    encoder = Encoder(vlm)
    one = sample(encoder, "Do it.", 1, "- button")
    logits = vlm.model(**encoder.collate([one.prompt.ids], [one.prompt.images])).logits[:, -1]
    expected = torch.log_softmax(encoder.sayable(logits), dim=-1)[0, one.response[0]].item()
    loss = _step(vlm, encoder, [Weighted(Sample(one.prompt, one.response[:1]))], OPTIM, Forward())
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


@pytest.mark.parametrize("kind", ["supervised", *OBJECTIVES])
def test_each_token_of_each_response_is_supervised_the_first_one_too(model, rolled, kind):
    vlm, recording = copy.deepcopy(model), Recording()
    encoder = Encoder(vlm)
    if kind == "supervised":
        data = supervised(encoder)
        _step(vlm, encoder, data, OPTIM, recording)
        samples = [item.sample for item in data]
    else:
        params = RL.model_copy(update={"objective": kind, "kl": 0.1})
        turns = turn_samples([rolled], renderer(), encoder, params)
        _accumulate(vlm, encoder, turns, params, recording)
        samples = [turn.sample for turn in turns]
    assert sorted(len(one) for one in recording.given) == sorted(len(one.response) for one in samples)
    assert all(one.grad.all() for one in recording.given)


@pytest.mark.parametrize("kind", ["SFT", "judge distillation", "RL", "scoring"])
def test_each_kind_of_training_shares_prefixes_and_encodes_single_turns_only_to_check(model, rolled, monkeypatch, kind):
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
        fit(vlm, encoder, [[Weighted(training_sample(t, a_verdict(t), params, encoder))] for t in judged])
    elif kind == "RL":
        optimizer = torch.optim.SGD(vlm.trainable(), lr=0.01)
        update(vlm, encoder, renderer(), [rolled], RL, optimizer, seed=1, progress=lambda done, total: None)
    else:
        score(vlm, encoder, attempts(encoder), 1.0, 4096)
    assert saved
    assert min(saved) > 0
    assert len(single) == (kind != "scoring")


def fit(vlm: VLM, encoder: Encoder, data: list[list[Weighted]]) -> None:
    train(vlm, encoder, data, OPTIM, seed=1, report=lambda step, steps, loss: None)
