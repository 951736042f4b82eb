"""An update stops the run if the trainer does not see what the policy saw."""

import copy
from dataclasses import replace

import pytest
import torch

from components.model import VLM, Encoder
from components.params import SamplingParams, load
from components.records import Trajectory
from components.training.agreement import TrainerMismatch
from components.training.divergence import drawn_turns, kl_by_family
from components.training.forward import PLAIN, PackingWarning, score
from components.training.learner import Learner
from tests.samples import objective as parameters
from tests.training import rl_without_pages
from tests.training.updates import RL, group_of, recipe_with, roll, samples_of, shifted, weights_after
from tests.vlm import observation


def test_log_probabilities_before_temperature_stop_the_run(rolled):
    vlm, trajectories = rolled
    with pytest.raises(TrainerMismatch, match="after temperature"):
        weights_after(vlm, group_of(trajectories, [1, 0, 0, 1]), RL.model_copy(update={"temperature": 0.5}))


def test_log_probabilities_before_temperature_stop_even_a_bfloat16_run():
    """The shipped model is so sure of its tokens that the limits of a recipe for GPUs would let them pass."""
    vlm = VLM.load("data/base_model", load("recipes/smoke.yaml").model)
    encoder = Encoder(vlm)
    trajectories = roll(vlm, encoder, 4, [1, 2], SamplingParams(temperature=0.8))
    loose = parameters(max_logprob_gap=5.0, max_mean_logprob_gap=0.05)
    params = RL.model_copy(update={"temperature": 0.8, "objective": loose})
    group = group_of(trajectories, [1, 0, 0, 1])
    samples = [one.sample for one in samples_of(group, encoder, params)]
    before_temperature = iter(score(vlm, encoder, samples, PLAIN, 4096))
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


def test_single_tokens_may_differ_more_than_the_mean_may(rolled):
    vlm, trajectories = rolled
    loose = parameters(max_logprob_gap=5.0, max_mean_logprob_gap=0.05)
    params = RL.model_copy(update={"objective": loose})
    _, close = weights_after(vlm, group_of(shifted(trajectories, 0.04), [1, 0, 0, 1]), params)
    assert close.logprob_gap_mean == pytest.approx(0.04, abs=1e-4)
    with pytest.raises(TrainerMismatch, match="on average"):
        weights_after(vlm, group_of(shifted(trajectories, 0.06), [1, 0, 0, 1]), params)


def test_the_error_names_the_key_as_it_is_and_the_allowance_for_top_p(rolled):
    """A token that only one of both keeps has -ln(0.75) = 0.288 nats more."""
    vlm, trajectories = rolled
    params = RL.model_copy(update={"top_p": 0.75, "objective": parameters(max_logprob_gap=1e-3)})
    with pytest.raises(TrainerMismatch, match=r"max_logprob_gap = 1e-03 \(with rl\.top_p 2\.88e-01 more\) or"):
        weights_after(vlm, group_of(shifted(trajectories, 0.5), [1, 0, 0, 1]), params)
    plain = params.model_copy(update={"top_p": 1.0})
    with pytest.raises(TrainerMismatch, match=r"max_logprob_gap = 1e-03 or"):
        weights_after(vlm, group_of(shifted(trajectories, 0.5), [1, 0, 0, 1]), plain)


@pytest.fixture
def unseen(rolled) -> Trajectory:
    """A trajectory whose turn renders to another prompt than the one that the policy saw."""
    _, trajectories = rolled
    other = trajectories[0].turns[0].model_copy(update={"observation": observation(99)})
    return trajectories[0].model_copy(update={"turns": [other]})


def test_a_prompt_that_renders_differently_stops_the_run(rolled, unseen):
    vlm, trajectories = rolled
    with pytest.raises(TrainerMismatch, match="renders to another prompt"):
        samples_of(group_of([unseen, trajectories[1]], [1, 0]), Encoder(vlm), RL)


def test_a_prompt_that_renders_differently_stops_a_round_of_rft(rolled, unseen):
    vlm, trajectories = rolled
    params = RL.model_copy(update={"objective": parameters("rft", epochs=1)})
    with pytest.raises(TrainerMismatch, match="renders to another prompt"):
        weights_after(vlm, group_of([unseen, trajectories[1]], [1, 0]), params)


def test_a_prompt_that_renders_differently_stops_the_measurement_of_the_kl(rolled, unseen, tmp_path):
    vlm, _ = rolled
    vlm.save(tmp_path)
    with pytest.raises(TrainerMismatch, match="renders to another prompt"):
        kl_by_family(Learner.begin(copy.deepcopy(vlm), recipe_with(RL)), drawn_turns([unseen], 0), tmp_path)


def test_a_nan_is_a_mismatch(rolled):
    vlm, trajectories = rolled
    broken = copy.deepcopy(vlm)
    with torch.no_grad():
        broken.model.model.language_model.norm.weight.fill_(float("nan"))
    with pytest.warns(PackingWarning), pytest.raises(TrainerMismatch):
        weights_after(broken, group_of(trajectories, [1, 0, 0, 1]))


def test_episodes_of_a_wrong_server_are_named_and_can_be_played_again(tmp_path, monkeypatch):
    generate = rl_without_pages.generate_batch

    def wrong(*arguments):
        outputs = generate(*arguments)
        return [replace(output, logprobs=[logprob - 0.5 for logprob in output.logprobs]) for output in outputs]

    monkeypatch.setattr(rl_without_pages, "generate_batch", wrong)
    with pytest.raises(TrainerMismatch, match=rf"delete {tmp_path}/episodes-\*, whose log-probabilities it gave"):
        rl_without_pages.train(monkeypatch, tmp_path, 1)
    monkeypatch.setattr(rl_without_pages, "generate_batch", generate)
    for path in tmp_path.glob("episodes-*"):
        path.unlink()
    trained, _ = rl_without_pages.train(monkeypatch, tmp_path, 1)
    assert len(trained.figures) == 1
