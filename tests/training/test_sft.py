"""Behaviour cloning: what counts, and that it learns."""

import contextlib
import copy
import math
import random
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from components.agent import Renderer
from components.agent.protocols import protocol_names
from components.judge.distilled import target
from components.model import Encoded, Encoder, Sample
from components.params import LoRAParams, OptimParams
from components.training import forward, supervised, training_state
from components.training.forward import PLAIN, PackingWarning, checked_forward
from components.training.objectives import WeightedSample
from components.training.objectives.sft import demonstrations, shuffle_units
from components.training.packing import pack
from components.training.supervised import batches, learning_rate, train
from components.training.training_state import SupervisedCheckpoint
from components.training.workers import Workers
from tests.samples import a_trajectory, a_turn, a_verdict
from tests.training.test_packing import turns_of_a_trajectory
from tests.training.updates import roll
from tests.vlm import TASK, observation, random_vlm, renderer

ENCODER = Encoder(random_vlm())
REAL = forward.response_logprobs
OPTIM = OptimParams(epochs=25, lr=1e-2, batch_size=2)


def texts_as_demonstration(texts: list[str]) -> list[WeightedSample]:
    """The samples of a trajectory whose responses are these texts of another model."""
    turns = [
        a_turn(index, observation=observation(index), response=text, token_ids=[], logprobs=[])
        for index, text in enumerate(texts)
    ]
    (samples,) = demonstrations([a_trajectory(TASK).model_copy(update={"turns": turns})], renderer(), ENCODER)
    return samples


class Killed(RuntimeError):
    """Ends training after a known step."""


@pytest.mark.parametrize("lora", [None, LoRAParams(rank=2, alpha=4, dropout=0.5)])
def test_training_that_is_killed_ends_with_the_same_weights_and_losses(tmp_path, monkeypatch, lora):
    monkeypatch.setattr(training_state, "LEAST_INTERVAL_S", 0.0)
    monkeypatch.setattr(training_state, "WRITING_SHARE", 1e9)
    data = [texts_as_demonstration([f"<think>{number}</think>", "ok"]) for number in range(3)]
    optim = OPTIM.model_copy(update={"epochs": 3})

    def trained(file: Path | None, last: int | None = None) -> tuple[list[float], dict[str, torch.Tensor]]:
        losses: list[float] = []

        def report(step: int, steps: int, loss: float) -> None:
            losses.append(loss)
            if step == last:
                raise Killed

        torch.manual_seed(0)
        vlm = random_vlm()
        if lora is not None:
            vlm.add_lora(lora, seed=1)
        vlm.freeze_vision()
        checkpoint = None if file is None else SupervisedCheckpoint(file)
        train(vlm, Encoder(vlm), data, optim, 1, report, checkpoint=checkpoint)
        return losses, vlm.model.state_dict()

    losses, weights = trained(None)
    for last in (4, 7):
        with pytest.raises(Killed):
            trained(tmp_path / "training.pt", last)
    gradients = Mock(wraps=supervised.accumulate_gradients)
    monkeypatch.setattr(supervised, "accumulate_gradients", gradients)
    again, same = trained(tmp_path / "training.pt")
    assert gradients.call_count == 3, "steps 7 to 9: the checkpoint is of step 6"
    assert again == losses
    assert len(losses) == 9
    assert all(torch.equal(same[name], weights[name]) for name in weights)
    data.pop()
    assert len(trained(tmp_path / "training.pt")[0]) == 6, "the file is of another number of steps"


def test_checkpoints_are_a_minute_apart_and_take_a_twentieth_of_the_time(tmp_path, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(training_state, "monotonic", lambda: clock[0])
    vlm = random_vlm()
    optimizer, checkpoint = torch.optim.SGD(vlm.trainable(), lr=0.1), SupervisedCheckpoint(tmp_path / "training.pt")
    written = []

    def publish(partial: Path, path: Path) -> None:
        written.append(clock[0])
        clock[0] += 4.0

    monkeypatch.setattr(training_state, "publish", publish)
    for _ in range(300):
        clock[0] += 1.0
        checkpoint.save_if_due(vlm, optimizer, 300, [])
    assert written == [60, 144, 228, 312]


def test_the_schedule_warms_up_and_falls_to_0():
    # 10 steps, 2 of them warm-up: 1/2, 1, then a cosine over the 8 that are left
    factors = [learning_rate(step, 10, 0.2) for step in range(10)]
    assert factors[:3] == pytest.approx([0.5, 1.0, 1.0])
    assert factors[6] == pytest.approx(0.5)
    assert factors[9] == pytest.approx(0.5 * (1 + -0.923880), abs=1e-5)


def test_every_turn_is_a_target_and_history_gets_this_tokenizers_ids():
    vlm = random_vlm()
    encoder = Encoder(vlm)
    trajectory = roll(vlm, encoder, 1, [3])[0]
    text = [
        turn.model_copy(update={"response": f"<think>{i}</think>", "token_ids": [], "logprobs": []})
        for i, turn in enumerate(trajectory.turns)
    ]
    (samples,) = demonstrations([trajectory.model_copy(update={"turns": text})], renderer(), encoder)
    assert [item.sample.response for item in samples] == [
        [*encoder.tokens(f"<think>{i}</think>"), encoder.end_id] for i in range(3)
    ]
    history = "".join(map(str, samples[2].sample.prompt.ids))
    assert "".join(map(str, samples[0].sample.response)) in history


CONTROL = ["<|im_end|>", "<|im_start|>user\n", "<|image_pad|>", "<|vision_start|>", "<|video_pad|>", "<|endoftext|>"]
TEXT = ["<think>", "</think>", '<tool_call>{"name": "done"}</tool_call>', " a ", "é\n"]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from([*CONTROL, *TEXT])))
def test_control_tokens_in_a_teachers_text_stay_text(parts):
    encoder = ENCODER
    text = "".join(parts)
    first, second = texts_as_demonstration([text, "ok"])
    target = first.sample.response
    assert target[-1] == encoder.end_id
    assert encoder.decode(target) == text
    control = {encoder.tokens(token)[0] for token in CONTROL}
    assert not control & set(target[:-1]), "no end, no image and no role before the end"
    assert len(second.sample.prompt.images) == 1
    pads = second.sample.prompt.ids.count(encoder.image_token_id)
    assert pads == encoder.vision.tokens(second.sample.prompt.images[0]), "the history announces no further image"


def test_the_loss_of_a_text_with_control_tokens_is_finite_and_falls():
    vlm = random_vlm()
    vlm.freeze_vision()
    data = [texts_as_demonstration(["".join(CONTROL), "ok"])]
    losses: list[float] = []
    optim = OPTIM.model_copy(update={"epochs": 5})
    train(vlm, Encoder(vlm), data, optim, 0, lambda step, steps, loss: losses.append(loss))
    assert all(map(math.isfinite, losses))
    assert losses[-1] < losses[0]


def test_control_tokens_in_a_rationale_stay_text():
    rationale = 'click button "<|im_end|>" (asked); write "<|image_pad|>"'
    ids = target(a_verdict(a_trajectory(), rationale=rationale), ENCODER)
    assert ENCODER.decode(ids) == f"{rationale}\nVerdict: SUCCESS"
    assert ids.index(ENCODER.end_id) == len(ids) - 1


def test_training_learns_the_response_and_only_the_response():
    vlm = random_vlm()
    encoder = Encoder(vlm)
    prompts = [encoder.encode(renderer().prompt(TASK, [], observation(i))) for i in range(2)]
    data = [[WeightedSample(Sample(prompt, [300 + i, 400 + i, encoder.end_id]))] for i, prompt in enumerate(prompts)]
    losses: list[float] = []
    vlm.freeze_vision()
    vision = copy.deepcopy(list(vlm.model.model.visual.parameters()))
    train(vlm, encoder, data, OPTIM, seed=1, report=lambda step, steps, loss: losses.append(loss))
    assert losses[-1] < losses[0] / 2
    assert all(torch.equal(a, b) for a, b in zip(vision, vlm.model.model.visual.parameters(), strict=True))


def numbered(*turns: int) -> list[list[WeightedSample]]:
    """Trajectories of so many turns, which are told by their weights: 10 * trajectory + turn."""
    empty = Sample(Encoded([], []), [])
    return [[WeightedSample(empty, 10 * index + turn) for turn in range(count)] for index, count in enumerate(turns)]


def test_single_turns_are_shuffled_over_the_whole_epoch():
    data = numbered(2, 1, 0, 3)
    order = [0, 1, 10, 30, 31, 32]
    random.Random("7:1").shuffle(order)
    found = batches(shuffle_units("turns", data), 4, seed=7, epoch=1)
    assert [[one.weight for one in batch] for batch in found] == [order[:4], order[4:]]


def test_whole_trajectories_are_shuffled_before_batches_are_cut():
    data = numbered(2, 1, 0, 3)
    order = [0, 1, 2, 3]
    random.Random("7:1").shuffle(order)
    told = [10 * index + turn for index in order for turn in range(len(data[index]))]
    found = batches(shuffle_units("trajectories", data), 4, seed=7, epoch=1)
    assert [[one.weight for one in batch] for batch in found] == [told[:4], told[4:]]
    assert sorted(told) == [0, 1, 10, 30, 31, 32]
    assert order != sorted(order)


def test_batches_of_trajectories_hold_less_than_60_percent_of_the_tokens():
    encoder = Encoder(random_vlm())
    data = [
        [WeightedSample(one) for one in turns_of_a_trajectory(encoder, turns=4, attempt=attempt)]
        for attempt in range(8)
    ]

    def laid_out(shuffle: str) -> int:
        found = batches(shuffle_units(shuffle, data), 8, seed=1, epoch=0)
        return sum(len(pack([one.sample for one in batch], encoder).ids) for batch in found)

    single = sum(len(pack([one.sample], encoder).ids) for turns in data for one in turns)
    assert laid_out("trajectories") < 0.6 * single
    assert laid_out("trajectories") < laid_out("turns") < single


def test_weights_scale_a_samples_share_of_the_loss():
    """A step in which all samples weigh 3 counts three times as much as one in which all weigh 1, so a rare class keeps
    its weight in steps of its own."""

    def loss(weights: list[float]) -> float:
        vlm = random_vlm()
        encoder = Encoder(vlm)
        prompts = [encoder.encode(renderer().prompt(TASK, [], observation(i))) for i in range(2)]
        data = [
            [WeightedSample(Sample(p, [300 + 50 * i, 301]), w)]
            for (i, p), w in zip(enumerate(prompts), weights, strict=True)
        ]
        seen: list[float] = []
        train(
            vlm,
            encoder,
            data,
            OPTIM.model_copy(update={"epochs": 1}),
            seed=1,
            report=lambda step, steps, value: seen.append(value),
        )
        return seen[0]

    first, second = loss([1, 0]), loss([0, 1])
    assert loss([3, 1]) == pytest.approx(3 * first + second, rel=1e-5)
    assert loss([3, 3]) == pytest.approx(3 * (first + second), rel=1e-5)


def test_a_response_does_not_open_a_thought_that_its_prompt_has_opened():
    encoder = Encoder(random_vlm())
    thinking = replace(renderer(), think_prefix=True)
    demo = a_trajectory(turns=1)
    ((plain,),) = demonstrations([demo], renderer(), encoder)
    ((prefixed,),) = demonstrations([demo], thinking, encoder)
    opening = encoder.tokens("<think>")[0]
    assert plain.sample.response[0] == opening
    assert opening not in prefixed.sample.response


@pytest.mark.parametrize("name", protocol_names())
def test_prompt_and_target_together_have_the_whole_response(name):
    """A protocol that does not think opens no thought; the answer of a teacher may have reasoning with it, too."""
    plain = renderer()
    plain = replace(plain, agent=plain.agent.model_copy(update={"protocol": name}))
    turn = a_turn(observation=observation(0), response="<think>\nI see.\n</think>\n\nexit()")
    demo = a_trajectory(TASK).model_copy(update={"turns": [turn]})

    def text(rendered: Renderer) -> str:
        ((one,),) = demonstrations([demo], rendered, ENCODER)
        return ENCODER.decode([*one.sample.prompt.ids, *one.sample.response])

    assert turn.response in text(plain)
    assert text(replace(plain, think_prefix=True)) == text(plain)


def test_a_packing_that_is_wrong_is_noticed_and_not_trained_with(break_packing):
    """The weights are those of training without packing, and a warning says so. The gradient of the wrong form points
    elsewhere, which no optimiser levels out. Rounding differs between processors, and Adam divides by small gradients:
    so a few weights may be further apart than the others."""

    def trained(max_gap: float = 1e-4) -> tuple[dict[str, torch.Tensor], dict[str, float]]:
        vlm = random_vlm()
        encoder = Encoder(vlm)
        prompts = [encoder.encode(renderer().prompt(TASK, [], observation(i))) for i in range(2)]
        data = [
            [WeightedSample(Sample(prompt, [300 + i, 400 + i, encoder.end_id]))] for i, prompt in enumerate(prompts)
        ]
        params = OPTIM.model_copy(update={"epochs": 2, "lr": 1e-3, "max_packing_gap": max_gap})
        health = train(vlm, encoder, data, params, seed=1, report=lambda step, steps, loss: None)
        return dict(vlm.model.named_parameters()), health.packing.figures

    def distance(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> torch.Tensor:
        return torch.cat([(first[name] - weight).abs().flatten() for name, weight in second.items()])

    packed, right = trained()
    break_packing()
    with pytest.warns(PackingWarning, match="training continues without packing"):
        fallen_back, wrong = trained()
    assert right == {"packed": 1.0, "packing_gap": pytest.approx(0, abs=1e-4)}
    assert wrong == {"packed": 0.0, "packing_gap": pytest.approx(0.5, abs=0.5)}
    assert wrong["packing_gap"] > 1e-4
    trusted, _ = trained(max_gap=1e9)
    assert distance(trusted, packed).max() > 1e-3, "the wrong form would have led elsewhere"
    apart = distance(fallen_back, packed)
    assert (apart > 1e-5).sum() <= 5, "what packing gives where it is right, but for rounding"
    assert apart.max() < 1e-4


def test_packing_is_trusted_up_to_the_gap_that_the_recipe_allows():
    vlm = random_vlm()
    encoder = Encoder(vlm)
    prompt = encoder.encode(renderer().prompt(TASK, [], observation(0)))
    samples = [Sample(prompt, [300, encoder.end_id]), Sample(prompt, [301, encoder.end_id])]
    trusted, gap = checked_forward(vlm, encoder, samples, PLAIN, 1e-4)
    assert trusted.packed
    assert 0 <= gap < 1e-4
    with pytest.warns(PackingWarning, match="differ by"):
        refused, _ = checked_forward(vlm, encoder, samples, PLAIN, -1.0)
    assert not refused.packed
    whole = sum(len(s.prompt.ids) + len(s.response) for s in samples)
    assert [len(list(one.micro_batches(samples, encoder, whole - 3))) for one in (trusted, refused)] == [1, 2]


@pytest.mark.parametrize(
    "gaps, is_packed", [([0.5, *[0.01] * 19], True), ([0.06] * 20, False), ([1.1] + [0.0] * 99, False)]
)
def test_bfloat16_may_be_off_on_a_token_and_not_on_average(gaps, is_packed, monkeypatch):
    vlm = random_vlm()
    half = replace(vlm, compute_dtype=torch.bfloat16)
    monkeypatch.setattr(forward, "response_logprobs", lambda *args: [torch.tensor(gaps)])
    monkeypatch.setattr(forward, "naive_logprobs", lambda *args: [torch.zeros(len(gaps))])
    with contextlib.nullcontext() if is_packed else pytest.warns(PackingWarning, match="on average"):
        chosen, gap = checked_forward(half, Encoder(half), [object()], PLAIN)
    assert chosen.packed == is_packed
    assert gap == pytest.approx(max(gaps))


class BesideOneThatSees(Workers):
    """A process of two, the other of which finds another gap."""

    def __init__(self, gap: float) -> None:
        super().__init__(size=2)
        self.gap = gap

    def gather(self, items: list[tuple[float, float]]) -> list[tuple[float, float]]:
        return [*items, (self.gap, 0.0)]


@pytest.mark.parametrize("elsewhere", [1.0, math.nan])
def test_if_one_process_refuses_to_pack_no_process_packs(elsewhere):
    """They would cut other micro-batches, each its own, and add up what does not belong together."""
    vlm = random_vlm()
    encoder = Encoder(vlm)
    samples = [Sample(encoder.encode(renderer().prompt(TASK, [], observation(0))), [300, encoder.end_id])]
    alone, _ = checked_forward(vlm, encoder, samples, PLAIN, 1e-4)
    beside, gap = checked_forward(vlm, encoder, samples, PLAIN, 1e-4, BesideOneThatSees(1e-5))
    assert alone.packed
    assert beside.packed
    assert gap >= 1e-5
    with pytest.warns(PackingWarning):
        refused, gap = checked_forward(vlm, encoder, samples, PLAIN, 1e-4, BesideOneThatSees(elsewhere))
    assert not refused.packed
    assert gap == pytest.approx(elsewhere, nan_ok=True)


def test_a_packing_that_gives_nan_for_a_later_sample_is_not_trusted(monkeypatch):
    vlm = random_vlm()
    encoder = Encoder(vlm)
    prompt = encoder.encode(renderer().prompt(TASK, [], observation(0)))
    samples = [Sample(prompt, [300, encoder.end_id]), Sample(prompt, [301, encoder.end_id])]
    monkeypatch.setattr(
        forward,
        "response_logprobs",
        lambda *args: [one + nan for one, nan in zip(REAL(*args), [0, math.nan], strict=True)],
    )
    with pytest.warns(PackingWarning, match="nan nats"):
        refused, _ = checked_forward(vlm, encoder, samples, PLAIN, 1e-4)
    assert not refused.packed
