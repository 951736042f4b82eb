"""The policy update on a real small model."""

import copy
import math

import pytest
import torch

from components.model import VLM, Encoder
from components.params import Params, RLParams, SamplingParams, load, parse
from components.policies.generation import Row, generate_batch
from components.records import Reward, Termination, Trajectory, Turn
from components.rollout import Group
from components.training.agreement import TrainerMismatch
from components.training.forward import PackingWarning, naive_logprobs, score
from components.training.objectives import UpdateContext, UpdateStats, objective_classes, objective_of, policy_gradient
from components.training.objectives.policy_gradient import PolicyGradient, TurnSample, number_of_steps, turn_samples
from components.training.objectives.sft import demonstrations
from components.training.objectives.surrogate import group_advantages
from components.training.optim import Diverged, optimizer_step
from components.training.workers import SINGLE_PROCESS, Workers
from tests.samples import objective as parameters
from tests.samples import raw_recipe
from tests.vlm import AGENT, TASK, observation, random_vlm, renderer

RL = RLParams(
    short={"iterations": 1, "max_steps": 2},
    long={"iterations": 1, "max_steps": 2},
    effective_groups=1,
    max_sampled_groups=1,
    temperature=0.9,
    lr=1e-3,
    batch_turns=64,
    weight_decay=0.0,
)
ANY_GAP = {"max_logprob_gap": 100.0, "max_mean_logprob_gap": 100.0}
POLICY_GRADIENTS = [name for name, kind in objective_classes().items() if issubclass(kind, PolicyGradient)]


def recipe_with(rl: RLParams) -> Params:
    """A small recipe with these parameters of RL."""
    return parse(raw_recipe()).model_copy(update={"agent": AGENT, "rl": rl})


def update(
    vlm: VLM,
    groups: list[Group],
    rl: RLParams,
    optimizer: torch.optim.Optimizer,
    reference: VLM | None = None,
    shown: list[Trajectory] | None = None,
    workers: Workers = SINGLE_PROCESS,
) -> UpdateStats:
    """An update with the objective that `rl` names; the reference is passed on only if the objective needs one."""
    recipe = recipe_with(rl)
    objective = objective_of(recipe)
    context = UpdateContext(
        vlm,
        Encoder(vlm),
        recipe,
        optimizer,
        seed=5,
        reference=reference if objective.needs_reference else None,
        demonstrations=shown or [],
        workers=workers,
    )
    return objective.update(context, groups)


def samples_of(group: Group, encoder: Encoder, rl: RLParams) -> list[TurnSample]:
    """The turns of a group that the objective learns from."""
    objective = objective_of(recipe_with(rl))
    assert isinstance(objective, PolicyGradient)
    return turn_samples([group], renderer(), encoder, objective)


def roll(
    vlm, encoder: Encoder, attempts: int, turns_each: list[int], temperature: float = RL.temperature
) -> list[Trajectory]:
    """Trajectories with really sampled responses; the pages are noise."""
    trajectories = []
    for attempt in range(attempts):
        turns: list[Turn] = []
        for index in range(turns_each[attempt % len(turns_each)]):
            shown = observation(10 * attempt + index)
            prompt = renderer().prompt(TASK, turns, shown)
            sampling = SamplingParams(temperature=temperature)
            done = generate_batch(vlm, encoder, [Row(encoder.encode(prompt), sampling, 8, seed=100 * attempt + index)])[
                0
            ]
            turns.append(
                Turn(
                    index=index,
                    observation=shown,
                    prompt_sha256=prompt.sha256,
                    prompt_tokens=1,
                    response=done.text,
                    token_ids=done.token_ids,
                    logprobs=done.logprobs,
                    finish_reason=done.finish_reason,
                    tool_calls=[],
                    feedback=[f"Succeed: {index}"],
                )
            )
        trajectories.append(
            Trajectory(
                trajectory_id=str(attempt),
                task=TASK,
                attempt=attempt,
                policy="p",
                protocol="openwebrl",
                seed=0,
                turns=turns,
                termination=Termination.DONE,
                answer="a",
            )
        )
    return trajectories


def group_of(trajectories: list[Trajectory], values: list[float], masked: set[int] = frozenset()) -> Group:
    rewards = [
        Reward(trajectory_id=t.trajectory_id, value=v, masked=i in masked, format_ok=True)
        for i, (t, v) in enumerate(zip(trajectories, values, strict=True))
    ]
    return Group(TASK, trajectories, rewards)


def shifted(trajectories: list[Trajectory], by: float) -> list[Trajectory]:
    """As a server would record them that is off by a constant on each token."""
    return [
        one.model_copy(
            update={"turns": [t.model_copy(update={"logprobs": [p + by for p in t.logprobs]}) for t in one.turns]}
        )
        for one in trajectories
    ]


@pytest.fixture(scope="module")
def rolled():
    vlm = random_vlm()
    trajectories = roll(vlm, Encoder(vlm), 4, [1, 3, 2])
    return vlm, trajectories


def weights_after(vlm, group: Group, params: RLParams = RL) -> tuple[torch.Tensor, object]:
    model = copy.deepcopy(vlm)
    model.freeze_vision()
    optimizer = torch.optim.SGD(model.trainable(), lr=0.1)
    stats = update(model, [group], params, optimizer, vlm)
    return torch.cat([p.detach().flatten() for p in model.trainable()]), stats


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
    before = score(model, encoder, [s.sample for s in samples], RL.temperature, 4096)
    optimizer = torch.optim.SGD(model.trainable(), lr=0.05)
    update(model, [group], RL, optimizer)
    after = score(model, encoder, [s.sample for s in samples], RL.temperature, 4096)
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


def test_no_remainder_is_dropped(rolled):
    vlm, trajectories = rolled
    # 7 turns in steps of about 3: two steps an epoch, of 4 and 3 turns
    _, stats = weights_after(vlm, group_of(trajectories, [1, 0, 0, 1]), RL.model_copy(update={"batch_turns": 3}))
    assert stats.steps == 2 * RL.objective.epochs


@pytest.mark.parametrize("turns, batch, steps", [(1, 64, 1), (95, 64, 1), (97, 64, 2), (159, 64, 2), (161, 64, 3)])
def test_steps_are_as_near_to_the_batch_as_rounding_allows(turns, batch, steps):
    assert number_of_steps(turns, batch) == steps


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


def test_log_probabilities_before_temperature_stop_the_run(rolled):
    vlm, trajectories = rolled
    with pytest.raises(TrainerMismatch, match="after temperature"):
        weights_after(vlm, group_of(trajectories, [1, 0, 0, 1]), RL.model_copy(update={"temperature": 0.5}))


def test_single_tokens_may_differ_more_than_the_mean_may(rolled):
    vlm, trajectories = rolled
    loose = parameters(max_logprob_gap=5.0, max_mean_logprob_gap=0.05)
    params = RL.model_copy(update={"objective": loose})
    _, close = weights_after(vlm, group_of(shifted(trajectories, 0.04), [1, 0, 0, 1]), params)
    assert close.logprob_gap_mean == pytest.approx(0.04, abs=1e-4)
    with pytest.raises(TrainerMismatch, match="on average"):
        weights_after(vlm, group_of(shifted(trajectories, 0.06), [1, 0, 0, 1]), params)


def test_log_probabilities_before_temperature_stop_even_a_bfloat16_run():
    """The shipped model is so sure of its tokens that the limits of a recipe for GPUs would let them pass."""
    vlm = VLM.load("data/base_model", load("recipes/smoke.yaml").model)
    encoder = Encoder(vlm)
    trajectories = roll(vlm, encoder, 4, [1, 2], temperature=0.8)
    loose = parameters(max_logprob_gap=5.0, max_mean_logprob_gap=0.05)
    params = RL.model_copy(update={"temperature": 0.8, "objective": loose})
    group = group_of(trajectories, [1, 0, 0, 1])
    samples = [one.sample for one in samples_of(group, encoder, params)]
    before_temperature = iter(score(vlm, encoder, samples, 1.0, 4096))
    recorded = [
        one.model_copy(
            update={"turns": [t.model_copy(update={"logprobs": next(before_temperature).tolist()}) for t in one.turns]}
        )
        for one in trajectories
    ]
    _, right = weights_after(vlm, group, params)
    assert right.logprob_gap_mean < 1e-4
    with pytest.raises(TrainerMismatch, match="before temperature"):
        weights_after(vlm, group_of(recorded, [1, 0, 0, 1]), params)


def test_a_prompt_that_renders_differently_stops_the_run(rolled):
    vlm, trajectories = rolled
    other = trajectories[0].turns[0].model_copy(update={"observation": observation(99)})
    changed = trajectories[0].model_copy(update={"turns": [other]})
    with pytest.raises(TrainerMismatch, match="renders to another prompt"):
        samples_of(group_of([changed, trajectories[1]], [1, 0]), Encoder(vlm), RL)


def test_a_gradient_that_is_not_finite_stops_the_run_before_the_step():
    vlm = random_vlm()
    before = [parameter.detach().clone() for parameter in vlm.trainable()]
    optimizer = torch.optim.AdamW(vlm.trainable(), lr=1e-3)
    for parameter in vlm.trainable():
        parameter.grad = torch.full_like(parameter, float("nan"))
    with pytest.raises(Diverged, match="learning rate"):
        optimizer_step(optimizer, vlm, 1.0)
    assert all(torch.equal(a, b) for a, b in zip(before, vlm.trainable(), strict=True))


def test_a_nan_is_a_mismatch(rolled):
    vlm, trajectories = rolled
    broken = copy.deepcopy(vlm)
    with torch.no_grad():
        broken.model.model.language_model.norm.weight.fill_(float("nan"))
    with pytest.warns(PackingWarning), pytest.raises(TrainerMismatch):
        weights_after(broken, group_of(trajectories, [1, 0, 0, 1]))
