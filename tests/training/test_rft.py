"""A round of rejection fine-tuning trains on what was selected, by the ids that were sampled, and on demonstrations."""

from __future__ import annotations

import asyncio

import pytest

from components.model import Encoder
from components.params import RFTParams, RLPhase, load
from components.records import Reward
from components.rollout import Group, HarnessErrorLimit, SampledGroups, TaskSampler
from components.training.forward import PackingWarning
from components.training.learner import Learner
from components.training.objectives import NO_UPDATE, rft
from components.training.objectives.rft import sampled_turns
from components.training.rl import RLTrainer
from components.training.rl_rollouts import IterationRollouts, RolloutSetup
from components.training.supervised import train
from components.training.workers import Workers
from tests.training.updates import roll
from tests.vlm import AGENT, random_vlm, renderer


@pytest.fixture(scope="module")
def played():
    """A model, and three attempts of it at a question with 1, 2 and 3 turns."""
    vlm = random_vlm()
    encoder = Encoder(vlm)
    return encoder, roll(vlm, encoder, 3, [1, 2, 3])


def params(**keys: object):
    recipe = load("recipes/smoke.yaml")
    rft = RFTParams(**({"epochs": 20, "demonstrations": 0.5} | keys))
    rl = {"objective": rft, "batch_turns": 4, "lr": 3e-3}
    return recipe.model_copy(update={"agent": AGENT, "rl": recipe.rl.model_copy(update=rl)})


def group(trajectories, *values: float) -> Group:
    rewards = [
        Reward(trajectory_id=one.trajectory_id, value=value, masked=False, format_ok=True)
        for one, value in zip(trajectories, values, strict=True)
    ]
    return Group(trajectories[0].task, list(trajectories), rewards)


def test_the_policys_own_turns_are_trained_on_by_their_recorded_ids(played):
    encoder, (_, two, _) = played
    (samples,) = sampled_turns([two], renderer(), encoder)
    assert [one.sample.response for one in samples] == [turn.token_ids for turn in two.turns]


def test_a_round_makes_the_longest_right_attempt_likelier(played):
    _, attempts = played
    learner = Learner.begin(random_vlm(), params(), demonstrations=[attempts[0], attempts[0]])
    stats = learner.update([group(attempts, 1.0, 1.0, 0.0)], 1)
    assert stats.turns == 2 + 1, "two of the chosen attempt, and half of two demonstrations"
    assert stats.steps == 20
    again = learner.update([group(attempts, 1.0, 1.0, 0.0)], 2)
    assert again.loss < stats.loss


def test_a_round_has_the_norm_of_its_gradient_and_no_figures_of_a_ratio(played):
    _, attempts = played
    learner = Learner.begin(random_vlm(), params(epochs=2))
    figures = learner.update([group(attempts, 1.0, 1.0, 0.0)], 1).figures()
    assert figures["grad_norm"] > 0
    compared = {"ratio_mean", "clip_fraction", "logprob_gap_max", "logprob_gap_mean", "kl_mean"}
    assert not compared & figures.keys()
    assert not (compared | {"grad_norm"}) & NO_UPDATE.figures().keys()


def test_a_round_shuffles_turns_or_trajectories_as_the_recipe_says(played, monkeypatch):
    _, attempts = played
    given = []

    def training(vlm, encoder, data, *args):
        given.append([len(turns) for turns in data])
        return train(vlm, encoder, data, *args)

    monkeypatch.setattr(rft, "train", training)
    for shuffle in ("turns", "trajectories"):
        recipe = params(epochs=1)
        recipe = recipe.model_copy(update={"sft": recipe.sft.model_copy(update={"shuffle": shuffle})})
        learner = Learner.begin(random_vlm(), recipe, demonstrations=[attempts[0], attempts[0]])
        learner.update([group(attempts, 1.0, 1.0, 0.0)], 1)
    assert given == [[1, 1, 1], [2, 1]]


def test_tokens_per_second_of_a_round_count_prompts_too(played):
    encoder, attempts = played
    learner = Learner.begin(random_vlm(), params(epochs=2))
    stats = learner.update([group(attempts, 1.0, 1.0, 0.0)], 1)
    (samples,) = sampled_turns(attempts[1:2], renderer(), encoder)
    tokens = sum(len(one.sample.prompt.ids) + len(one.sample.response) for one in samples)
    assert stats.tokens_per_s * stats.train_s == pytest.approx(2 * tokens)


def test_the_parts_of_a_round_are_at_most_its_wall_time(played):
    _, attempts = played
    stats = Learner.begin(random_vlm(), params(epochs=1)).update([group(attempts, 1.0, 1.0, 0.0)], 1)
    parts = [stats.encoding_s, stats.forward_s, stats.backward_s, stats.optimizer_s]
    assert min(parts) > 0
    assert 0.5 * stats.train_s < sum(parts) <= stats.train_s


def test_a_round_says_whether_it_packed(played, break_packing):
    _, attempts = played
    groups = [group(attempts, 1.0, 1.0, 0.0)]
    packed = Learner.begin(random_vlm(), params(epochs=1)).update(groups, 1)
    break_packing()
    with pytest.warns(PackingWarning):
        alone = Learner.begin(random_vlm(), params(epochs=1)).update(groups, 1)
    assert (packed.packed, alone.packed) == (1.0, 0.0)
    assert packed.packing_gap < 1e-4 < alone.packing_gap


def test_questions_of_a_source_beyond_its_cap_are_not_trained_on(played):
    _, attempts = played
    capped = params(max_per_source={attempts[0].task.source: 0})
    learner = Learner.begin(random_vlm(), capped, demonstrations=[attempts[0], attempts[0]])
    assert learner.update([group(attempts, 1.0, 1.0, 0.0)], 1).turns == 1, "half of two demonstrations alone"


def test_a_round_without_right_attempts_or_demonstrations_changes_nothing(played):
    """Rewards 0 and -1 are a spread, so the group is effective, but none of its attempts is right."""
    _, attempts = played
    wrong = group(attempts, 0.0, -1.0, 0.0)
    assert wrong.is_effective
    learner = Learner.begin(random_vlm(), params(demonstrations=0.0))
    before = {name: tensor.clone() for name, tensor in learner.weights().items()}
    assert learner.update([wrong], 1) == NO_UPDATE
    assert all(before[name].equal(tensor) for name, tensor in learner.weights().items())


def test_rft_has_no_reference_and_refuses_asynchrony():
    assert Learner.begin(random_vlm(), params()).reference is None
    with pytest.raises(ValueError, match=r"rl\.max_staleness = 1 has no meaning for rl\.objective\.name = rft"):
        type(params().rl).model_validate(params().rl.model_dump() | {"max_staleness": 1})


def test_a_phase_of_no_rounds_leaves_the_model_as_it_is(tmp_path):
    learner = Learner.begin(random_vlm(), params())
    before = {name: tensor.clone() for name, tensor in learner.weights().items()}
    unused = None  # neither browsers, policy nor judge are used
    phase = RLPhase(iterations=0, max_steps=1)
    learners, setup = Workers().replicate(lambda workers: learner), RolloutSetup([], unused, unused, unused)
    trainer = RLTrainer(learners, phase, "long", setup, tmp_path, lambda *_: None, lambda *_: None)
    trained = asyncio.run(trainer.run())
    assert (trained.figures, trained.ended) == ([], None)
    assert all(before[name].equal(tensor) for name, tensor in learner.weights().items())


def test_the_figures_of_a_round_have_its_selection_step_by_step(played, tmp_path):
    _, attempts = played
    learners = Workers().replicate(lambda workers: Learner.begin(random_vlm(), params(epochs=1, demonstrations=0.0)))
    setup = RolloutSetup([], None, None, None)
    trainer = RLTrainer(
        learners, RLPhase(iterations=1, max_steps=1), "short", setup, tmp_path, lambda *_: None, lambda *_: None
    )
    groups = SampledGroups([group(attempts, 1.0, 1.0, 0.0)])
    rollouts = IterationRollouts(TaskSampler([attempts[0].task], 0), HarnessErrorLimit(0.0), groups)
    figures = asyncio.run(trainer._update(1, rollouts, 0.0, 0.0))
    selection = {name: count for name, count in figures.items() if name.startswith("selection_") and count}
    assert selection == {
        "selection_attempts": 3,
        "selection_wrong": 1,
        "selection_not_the_questions_longest": 1,
        "selection_chosen": 1,
    }
