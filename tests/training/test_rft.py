"""A round of rejection fine-tuning trains on what was selected, by the ids that were sampled, and on demonstrations."""

from __future__ import annotations

import asyncio

import pytest

from components.params import RLPhase, load
from components.policies import Encoder
from components.records import Reward
from components.rollout import Group
from components.training import rft
from components.training.forward import PackingWarning
from components.training.learner import Learner
from components.training.rft import sampled_turns
from components.training.rl import train_rl
from components.training.sft import train
from components.training.team import Team
from tests.training.test_update import roll
from tests.vlm import AGENT, random_vlm, renderer


@pytest.fixture(scope="module")
def played():
    """A model, and three attempts of it at a question with 1, 2 and 3 turns."""
    vlm = random_vlm()
    encoder = Encoder(vlm)
    return encoder, roll(vlm, encoder, 3, [1, 2, 3])


def params(**rl: object):
    recipe = load("recipes/smoke.yaml")
    rl = {"objective": "rft", "ppo_epochs": 20, "batch_turns": 4, "lr": 3e-3, "demonstrations": 0.5} | rl
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


def test_a_round_raises_the_likelihood_of_the_longest_right_attempt_and_counts_its_turns(played):
    _, attempts = played
    learner = Learner.begin(random_vlm(), params(), Team(), taught=[attempts[0], attempts[0]])
    stats = learner.update([group(attempts, 1.0, 1.0, 0.0)], 1, Team())
    assert stats.turns == 2 + 1, "two of the chosen attempt, and half of two demonstrations"
    assert stats.steps == 20
    again = learner.update([group(attempts, 1.0, 1.0, 0.0)], 2, Team())
    assert again.loss < stats.loss


def test_a_round_shuffles_what_the_recipe_says(played, monkeypatch):
    _, attempts = played
    given = []

    def training(vlm, encoder, data, *args):
        given.append([len(turns) for turns in data])
        return train(vlm, encoder, data, *args)

    monkeypatch.setattr(rft, "train", training)
    for shuffle in ("turns", "trajectories"):
        recipe = params(ppo_epochs=1)
        recipe = recipe.model_copy(update={"sft": recipe.sft.model_copy(update={"shuffle": shuffle})})
        learner = Learner.begin(random_vlm(), recipe, Team(), taught=[attempts[0], attempts[0]])
        learner.update([group(attempts, 1.0, 1.0, 0.0)], 1, Team())
    assert given == [[1, 1, 1], [2, 1]]


def test_its_tokens_per_second_count_prompts_too_as_those_of_other_updates_do(played):
    encoder, attempts = played
    learner = Learner.begin(random_vlm(), params(ppo_epochs=2), Team())
    stats = learner.update([group(attempts, 1.0, 1.0, 0.0)], 1, Team())
    (samples,) = sampled_turns(attempts[1:2], renderer(), encoder)
    tokens = sum(len(one.sample.prompt.ids) + len(one.sample.response) for one in samples)
    assert stats.tokens_per_s * stats.train_s == pytest.approx(2 * tokens)


def test_a_round_says_whether_it_packed(played):
    _, attempts = played
    groups = [group(attempts, 1.0, 1.0, 0.0)]
    packed = Learner.begin(random_vlm(), params(ppo_epochs=1), Team()).update(groups, 1, Team())
    with pytest.warns(PackingWarning):
        alone = Learner.begin(random_vlm(), params(ppo_epochs=1, max_packing_gap=1e-12), Team()).update(
            groups, 1, Team()
        )
    assert (packed.packed, alone.packed) == (1.0, 0.0)
    assert packed.packing_gap > 1e-12
    assert alone.packing_gap > 1e-12


def test_questions_of_a_source_beyond_its_cap_are_not_trained_on(played):
    _, attempts = played
    capped = params(max_per_source={attempts[0].task.source: 0})
    learner = Learner.begin(random_vlm(), capped, Team(), taught=[attempts[0], attempts[0]])
    assert learner.update([group(attempts, 1.0, 1.0, 0.0)], 1, Team()).turns == 1, "half of two demonstrations alone"


def test_it_needs_no_reference_and_no_asynchrony():
    assert Learner.begin(random_vlm(), params(kl=0.5), Team()).reference is None
    with pytest.raises(ValueError, match=r"rl\.async"):
        type(params().rl).model_validate({**params().rl.model_dump(by_alias=True), "async": True})


def test_a_phase_of_no_rounds_leaves_the_model_as_it_is(tmp_path):
    learner = Learner.begin(random_vlm(), params(), Team())
    before = {name: tensor.clone() for name, tensor in learner.weights().items()}
    nobody = None  # neither browsers, policy nor judge are asked for anything
    phase = RLPhase(iterations=0, max_steps=1)
    trained = asyncio.run(
        train_rl(learner, phase, "long", [], nobody, nobody, nobody, tmp_path, lambda *_: None, lambda *_: None)
    )
    assert (trained.figures, trained.ended) == ([], None)
    assert all(before[name].equal(tensor) for name, tensor in learner.weights().items())
