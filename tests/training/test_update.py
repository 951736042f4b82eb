"""The policy update on a real small model."""

import copy
import itertools
import math
import random
import time

import pytest
import torch

from components.model import Encoder
from components.params import MMGRPOParams
from components.training.agreement import TrainerMismatch
from components.training.forward import Forward, PackingWarning, naive_logprobs, score, token_count
from components.training.objectives import policy_gradient
from components.training.objectives.mm_grpo import MMGRPO
from components.training.objectives.policy_gradient import number_of_steps
from components.training.objectives.sft import demonstrations
from components.training.objectives.surrogate import Credit, group_advantages
from components.training.optim import Diverged, optimizer_step
from components.training.update_clock import UpdateClock
from tests.samples import objective as parameters
from tests.training.updates import (
    ANY_GAP,
    POLICY_GRADIENTS,
    RL,
    group_of,
    roll,
    samples_of,
    shifted,
    update,
    weights_after,
)
from tests.vlm import random_vlm, renderer


def test_before_the_first_update_the_ratio_is_1_on_every_token(rolled):
    vlm, trajectories = rolled
    _, stats = weights_after(vlm, group_of(trajectories, [1, 0, 0, 1]))
    assert stats.logprob_gap_mean <= stats.logprob_gap_max < 1e-4
    assert stats.turns == 1 + 3 + 2 + 1


@pytest.mark.parametrize("objective", POLICY_GRADIENTS)
def test_the_step_does_not_depend_on_how_it_is_cut_into_micro_batches(rolled, objective):
    vlm, trajectories = rolled
    group, one = group_of(trajectories, [1, 0, 0, 1]), {"objective": parameters(objective, epochs=1, kl=0.1)}
    large, _ = weights_after(vlm, group, RL.model_copy(update={**one, "micro_batch_tokens": 100_000}))
    small, _ = weights_after(vlm, group, RL.model_copy(update={**one, "micro_batch_tokens": 1}))
    assert torch.allclose(large, small, atol=2e-6)
    start = torch.cat([p.detach().flatten() for p in (vlm.freeze_vision(), vlm.trainable())[1]])
    assert not torch.allclose(large, start, atol=2e-6)


@pytest.mark.parametrize("objective", POLICY_GRADIENTS)
def test_a_group_given_twice_gives_the_same_step(rolled, objective):
    """The whole group twice is the same mean; so nothing depends on how many copies of it a process has."""
    vlm, trajectories = rolled
    one = RL.model_copy(update={"objective": parameters(objective, epochs=1, kl=0.1)})
    group = group_of(trajectories, [1, 0, 0, 1])
    model, twice = copy.deepcopy(vlm), copy.deepcopy(vlm)
    for each, groups in ((model, [group]), (twice, [group, group])):
        each.freeze_vision()
        optimizer = torch.optim.SGD(each.trainable(), lr=0.1)
        update(each, groups, one, optimizer, vlm)
    for ours, theirs in zip(model.trainable(), twice.trainable(), strict=True):
        assert torch.allclose(ours, theirs, atol=2e-6)


def test_the_kl_pulls_the_policy_back_to_the_reference(rolled):
    """With no advantage at all, the KL alone moves a policy back to where it was."""
    vlm, trajectories = rolled
    away = copy.deepcopy(vlm)
    with torch.no_grad():
        for parameter in away.trainable():
            parameter.add_(0.02 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)))
    params = RL.model_copy(update={"objective": parameters("m_grpo", epochs=1, kl=1.0, **ANY_GAP)})
    group = group_of(trajectories, [1, 1, 1, 1])
    optimizer = torch.optim.SGD(away.trainable(), lr=0.02)
    figures = [update(away, [group], params, optimizer, vlm).kl_mean for _ in range(6)]
    assert figures[0] > 0.001
    assert figures[-1] < 0.7 * figures[0]


def test_truncated_importance_sampling_corrects_a_servers_gap(rolled):
    """A server that is off by a constant on each token: the ratio starts at 1 all the same, and each token counts as
    much as the trainer says."""
    vlm, trajectories = rolled
    off = shifted(trajectories, 0.5)
    params = RL.model_copy(update={"objective": parameters(epochs=1, **ANY_GAP), "max_grad_norm": 1e9})
    values = [1, 0, 0, 1]
    plain, _ = weights_after(vlm, group_of(trajectories, values), params)
    _, uncorrected = weights_after(vlm, group_of(off, values), params)
    capped = params.model_copy(update={"objective": parameters(epochs=1, tis_cap=2.0, **ANY_GAP)})
    corrected, stats = weights_after(vlm, group_of(off, values), capped)
    assert uncorrected.ratio_mean == pytest.approx(math.exp(-0.5), abs=1e-3)
    assert stats.ratio_mean == pytest.approx(1.0, abs=1e-4)
    start = torch.cat([p.detach().flatten() for p in (vlm.freeze_vision(), vlm.trainable())[1]])
    assert torch.allclose(corrected - start, (plain - start) * math.exp(-0.5), atol=2e-6)


def test_a_masked_trajectory_does_not_affect_the_step(rolled):
    vlm, trajectories = rolled
    with_masked, _ = weights_after(vlm, group_of(trajectories, [1, 0, 1, 0], masked={3}))
    without, _ = weights_after(vlm, group_of(trajectories[:3], [1, 0, 1]))
    assert torch.allclose(with_masked, without, atol=2e-6)


def test_an_update_raises_what_was_rewarded(rolled):
    vlm, trajectories = rolled
    model = copy.deepcopy(vlm)
    encoder = Encoder(model)
    group = group_of(trajectories, [1, 0, 0, 0])
    samples = samples_of(group, encoder, RL)
    before = score(model, encoder, [s.sample for s in samples], RL.sampling, 4096)
    optimizer = torch.optim.SGD(model.trainable(), lr=0.05)
    update(model, [group], RL, optimizer)
    after = score(model, encoder, [s.sample for s in samples], RL.sampling, 4096)
    change = [(b - a).mean().item() for a, b in zip(before, after, strict=True)]
    assert change[0] > 0 > sum(change[1:])


def test_an_update_says_whether_it_packed(rolled):
    vlm, trajectories = rolled
    group = group_of(trajectories, [1, 0, 0, 1])
    packed, one = weights_after(vlm, group)
    with pytest.warns(PackingWarning):
        alone, other = weights_after(vlm, group, RL.model_copy(update={"max_packing_gap": 1e-12}))
    assert (one.packed, other.packed) == (1.0, 0.0)
    assert one.packing_gap > 1e-12
    assert other.packing_gap > 1e-12
    assert torch.allclose(packed, alone, atol=2e-6)


def test_the_clip_fraction_is_the_share_of_tokens_that_the_clip_holds_back(rolled):
    """All ratios are e^0.5 = 1.65: that is held back where the advantage is positive, and goes through elsewhere."""
    vlm, trajectories = rolled
    moved = group_of(shifted(trajectories, -0.5), [1, 0, 0, 1])
    _, stats = weights_after(vlm, moved, RL.model_copy(update={"objective": parameters(epochs=1, **ANY_GAP)}))
    tokens = [one.response_tokens for one in trajectories]
    assert stats.ratio_mean == pytest.approx(math.exp(0.5), rel=1e-4)
    assert stats.clip_fraction == pytest.approx((tokens[0] + tokens[3]) / sum(tokens))
    wider = parameters(epochs=1, clip_high=0.7, **ANY_GAP)
    _, other = weights_after(vlm, moved, RL.model_copy(update={"objective": wider}))
    assert other.clip_fraction == 0


def test_the_gradients_norm_is_that_before_it_is_clipped(rolled):
    """One step of plain SGD at 0.1 goes a tenth of the gradient, or of what the clip leaves of it."""
    vlm, trajectories = rolled
    group = group_of(trajectories, [1, 0, 0, 1])
    frozen = copy.deepcopy(vlm)
    frozen.freeze_vision()
    start = torch.cat([parameter.detach().flatten() for parameter in frozen.trainable()])

    def step(max_grad_norm: float) -> tuple[float, float]:
        params = RL.model_copy(update={"objective": parameters(epochs=1), "max_grad_norm": max_grad_norm})
        after, stats = weights_after(vlm, group, params)
        return (after - start).double().norm().item(), stats.grad_norm

    gone, norm = step(1e9)
    assert gone == pytest.approx(0.1 * norm, rel=1e-3)
    clipped, same = step(norm / 4)
    assert same == pytest.approx(norm)
    assert clipped == pytest.approx(0.1 * norm / 4, rel=1e-3)


def test_tokens_per_second_count_prompts_and_responses_in_each_pass(rolled):
    vlm, trajectories = rolled
    group = group_of(trajectories, [1, 0, 0, 1])
    samples = [one.sample for one in samples_of(group, Encoder(vlm), RL)]
    _, stats = weights_after(vlm, group, RL.model_copy(update={"objective": parameters(epochs=2)}))
    tokens = sum(len(one.prompt.ids) + len(one.response) for one in samples)
    assert stats.tokens_per_s * stats.train_s == pytest.approx((1 + 2) * tokens), "scored once, then learned twice"


def test_tokens_per_second_count_the_references_pass_and_replayed_turns(rolled):
    vlm, trajectories = rolled
    group, encoder = group_of(trajectories, [1, 0, 0, 1]), Encoder(vlm)
    turns = [one.sample for one in samples_of(group, encoder, RL)]
    (shown,) = demonstrations(trajectories[2:3], renderer(), encoder)
    replayed = [item.sample for item in shown]
    params = RL.model_copy(update={"objective": MMGRPOParams(kl=0.1, replay=0.1, replay_turns=100)})
    model = copy.deepcopy(vlm)
    optimizer = torch.optim.SGD(model.trainable(), lr=0.1)
    stats = update(model, [group], params, optimizer, reference=vlm, shown=trajectories[2:3])
    expected = (1 + 1 + 2) * token_count(turns) + stats.steps * token_count(replayed)
    assert stats.tokens_per_s * stats.train_s == pytest.approx(expected)


def test_the_parts_of_an_update_are_at_most_its_wall_time(rolled):
    vlm, trajectories = rolled
    _, stats = weights_after(vlm, group_of(trajectories, [1, 0, 0, 1]))
    parts = [stats.encoding_s, stats.forward_s, stats.backward_s, stats.optimizer_s]
    assert min(parts) > 0
    assert 0.5 * stats.train_s < sum(parts) <= stats.train_s


def test_a_pass_without_gradients_counts_as_forward_alone(rolled):
    vlm, trajectories = rolled
    encoder, clock = Encoder(vlm), UpdateClock()
    samples = [turn.sample for turn in samples_of(group_of(trajectories, [1, 0, 0, 1]), encoder, RL)]
    began = time.perf_counter()
    score(vlm, encoder, samples, RL.sampling, 4096, Forward(clock=clock))
    took_s = time.perf_counter() - began
    assert (clock.backward_s, clock.optimizer_s) == (0, 0)
    assert clock.encoding_s == pytest.approx(encoder.vision.seconds)
    assert 0.5 * took_s < clock.encoding_s + clock.forward_s <= took_s


def test_no_remainder_is_dropped(rolled):
    vlm, trajectories = rolled
    # 7 turns in steps of about 3: two steps an epoch, of 4 and 3 turns
    _, stats = weights_after(vlm, group_of(trajectories, [1, 0, 0, 1]), RL.model_copy(update={"batch_turns": 3}))
    assert stats.steps == 2 * RL.objective.passes


@pytest.mark.parametrize("turns, batch, steps", [(1, 64, 1), (95, 64, 1), (97, 64, 2), (159, 64, 2), (161, 64, 3)])
def test_steps_are_as_near_to_the_batch_as_rounding_allows(turns, batch, steps):
    assert number_of_steps(turns, batch) == steps


def test_whole_trajectories_are_shuffled_if_the_recipe_says_so(rolled):
    vlm, trajectories = rolled
    turns = samples_of(group_of(trajectories, [1, 0, 0, 1]), Encoder(vlm), RL)
    orders = [policy_gradient.shuffled(turns, "trajectories", random.Random(seed)) for seed in range(20)]
    for order in orders:
        assert sorted(map(id, order)) == sorted(map(id, turns))
        episodes = [list(members) for _, members in itertools.groupby(order, lambda turn: turn.episode)]
        assert len(episodes) == len({turn.episode for turn in turns}), "an episode's turns are together"
        assert all(members == [turn for turn in turns if turn.episode == members[0].episode] for members in episodes)
    assert len({tuple(turn.episode for turn in order) for order in orders}) > 1
    assert policy_gradient.shuffled(turns, "turns", random.Random(0)) == random.Random(0).sample(turns, len(turns))


def test_the_order_of_turns_changes_no_gradient_of_a_step(rolled):
    vlm, trajectories = rolled
    group = group_of(trajectories, [1, 0, 0, 1])
    params = RL.model_copy(update={"objective": parameters(epochs=1)})
    one, _ = weights_after(vlm, group, params)
    other, _ = weights_after(vlm, group, params.model_copy(update={"shuffle": "trajectories"}))
    torch.testing.assert_close(one, other, rtol=0, atol=1e-6)


def test_the_turns_of_a_group_are_spread_over_the_steps(rolled, monkeypatch):
    vlm, trajectories = rolled
    steps: list[set[float]] = []
    take = policy_gradient.accumulate_gradients

    def watched(objective, context, batch, forward):
        steps.append({turn.credit.advantage for turn in batch})
        return take(objective, context, batch, forward)

    monkeypatch.setattr(policy_gradient, "accumulate_gradients", watched)
    params = RL.model_copy(update={"batch_turns": 14, "objective": parameters(epochs=1)})
    first, second = group_of(trajectories, [1, 0, 0, 1]), group_of(trajectories, [0, 0, 0, 1])
    model = copy.deepcopy(vlm)
    update(model, [first, second] * 2, params, torch.optim.AdamW(model.trainable(), lr=0.0))
    every = {credit for group in (first, second) for credit in group_advantages(group)}
    assert steps == [every, every], "each step has turns of both kinds of groups, with either reward"


def test_turns_of_weight_0_are_not_learned_from(rolled, monkeypatch):
    """Else a step of such turns alone would divide 0 by 0."""
    vlm, trajectories = rolled
    group, params = group_of(trajectories, [1, 0, 0, 1]), RL.model_copy(update={"batch_turns": 2})
    kept = [[Credit(1.0)] * len(t.turns) if number in (0, 3) else [] for number, t in enumerate(trajectories)]

    def weights(unlearned: Credit | None) -> torch.Tensor:
        credits = [own or [unlearned] * len(t.turns) for own, t in zip(kept, trajectories, strict=True)]
        monkeypatch.setattr(MMGRPO, "iteration_credits", lambda self, groups: [credits])
        return weights_after(vlm, group, params)[0]

    assert weights(Credit(1.0, weight=0.0)).equal(weights(None))


def test_replay_adds_the_weighted_loss_of_demonstrations_to_each_step(rolled):
    vlm, trajectories = rolled
    encoder, shown = Encoder(vlm), trajectories[2:3]

    def gradient(weight: float) -> torch.Tensor:
        """The step that plain gradient descent of rate 1 takes."""
        model = copy.deepcopy(vlm)
        objective = parameters(epochs=1, replay=weight, replay_turns=100)
        params = RL.model_copy(update={"objective": objective, "max_grad_norm": 1e9})
        optimizer = torch.optim.SGD(model.trainable(), lr=1.0)
        update(model, [group_of(trajectories, [1, 0, 0, 1])], params, optimizer, shown=shown)
        return torch.cat([(a - b).detach().flatten() for a, b in zip(vlm.trainable(), model.trainable(), strict=True)])

    model = copy.deepcopy(vlm)
    (samples,) = demonstrations(shown, renderer(), encoder)
    logprobs = naive_logprobs(model, Encoder(model), [item.sample for item in samples])
    loss = -torch.cat(logprobs).mean()
    loss.backward()
    imitation = torch.cat(
        [(p.grad if p.grad is not None else torch.zeros_like(p)).flatten() for p in model.trainable()]
    )
    assert imitation.norm() > 0.1
    assert (gradient(0.5) - gradient(0.0) - 0.5 * imitation).norm() < 1e-3 * imitation.norm()


def test_a_gradient_that_is_not_finite_stops_the_run_before_the_step():
    vlm = random_vlm()
    before = [parameter.detach().clone() for parameter in vlm.trainable()]
    optimizer = torch.optim.AdamW(vlm.trainable(), lr=1e-3)
    for parameter in vlm.trainable():
        parameter.grad = torch.full_like(parameter, float("nan"))
    with pytest.raises(Diverged, match="learning rate"):
        optimizer_step(optimizer, vlm, 1.0)
    assert all(torch.equal(a, b) for a, b in zip(before, vlm.trainable(), strict=True))


def test_with_top_p_the_objective_sees_the_distribution_that_was_sampled(rolled):
    vlm, _ = rolled
    rl = RL.model_copy(update={"top_p": 0.6})
    model = copy.deepcopy(vlm)
    encoder = Encoder(model)
    trajectories = roll(model, encoder, 4, [1, 2], rl.sampling)
    samples = samples_of(group_of(trajectories, [1, 0, 0, 0]), encoder, rl)
    before = score(model, encoder, [s.sample for s in samples], rl.sampling, 4096)
    stats = update(model, [group_of(trajectories, [1, 0, 0, 0])], rl, torch.optim.SGD(model.trainable(), lr=0.05))
    assert stats.logprob_gap_max < 1e-4
    after = score(model, encoder, [s.sample for s in samples], rl.sampling, 4096)
    change = [(b - a).mean().item() for a, b in zip(before, after, strict=True)]
    assert change[0] > 0 > sum(change[1:])
    with pytest.raises(TrainerMismatch):
        weights_after(vlm, group_of(trajectories, [1, 0, 0, 1]), RL)
