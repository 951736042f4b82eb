"""RL with branches, in Chromium: they are trained from their turn on, and a kill in their midst repeats none."""

from __future__ import annotations

import asyncio
import random
import re
from pathlib import Path

import pytest
import torch

from components.agent import EpisodeSettings, EpisodeSpec, format_call, format_response, run_episode
from components.browser import BrowserPool
from components.model import VLM, Encoder, Sample
from components.params import OptimParams, SamplingParams, load
from components.records import Turn
from components.training.objectives import WeightedSample
from components.training.supervised import train
from components.worlds.miniwob.site import MiniWoBSite
from tests.agent.test_branching import Says
from tests.training.rl_child import TASKS
from tests.training.test_rl_resume import Left, Run, check_same, run_to_end
from tests.vlm import observation, picture, renderer

LOOK = format_response("x", [format_call("wait", seconds=0)])


def first_turn() -> Turn:
    """The record of a turn that only waits."""
    params = load("recipes/smoke.yaml")
    settings = EpisodeSettings(renderer(), params.agent, SamplingParams(), 1, 64)

    async def episode() -> Turn:
        async with BrowserPool(params.browser, site=MiniWoBSite(), text="elements") as pool, pool.session() as session:
            played = await run_episode(EpisodeSpec(TASKS[0], 0, "says", 0), session, Says(LOOK), settings)
            return played.turns[0]

    return asyncio.run(episode())


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    """The shipped base, taught to wait in its first turn and then to say `done` with `a` or `b` at even odds."""
    torch.manual_seed(0)
    vlm = VLM.load("data/base_model", load("recipes/smoke.yaml").model)
    encoder, rng, waited = Encoder(vlm), random.Random(0), first_turn()
    data = []
    for seed in range(32):
        page = observation(seed, f'- button "Click Me!" {rng.randrange(1000)} {rng.randrange(1000)}')
        page = page.model_copy(update={"url": TASKS[0].start_url, "screenshot": picture(seed, 160, 210)})
        history = [waited.model_copy(update={"token_ids": [*encoder.tokens(LOOK), encoder.end_id]})]
        ending = format_response("x", [format_call("done", answer="ab"[seed % 2])])
        for turns, response in (([], LOOK), (history, ending)):
            prompt = encoder.encode(renderer().prompt(TASKS[0], turns, page))
            data.append([WeightedSample(Sample(prompt, [*encoder.tokens(response), encoder.end_id]))])
    train(vlm, encoder, data, OptimParams(epochs=4, lr=1e-3, batch_size=8), 0, lambda step, steps, loss: None)
    path = tmp_path_factory.mktemp("model")
    vlm.save(path)
    return path


@pytest.fixture(scope="module")
def quiet(model, tmp_path_factory) -> Left:
    return run_to_end(model, tmp_path_factory.mktemp("quiet"), "branches")


@pytest.mark.slow
def test_branches_are_trained_from_their_turn_on(quiet):
    (figures,) = quiet.figures
    assert figures["branches_run"] == 4 * figures["effective_groups"] > 0, "two turns, and two branches at each"
    assert (figures["branches_dropped"], figures["branches_used"]) == (0, figures["branches_run"])
    assert 0 <= figures["branches_reward"] <= 1
    # four attempts of two turns in each effective group, and one turn of each branch; now and then one more is sampled
    further = figures["turns"] - 8 * figures["effective_groups"] - figures["branches_run"]
    assert 0 <= further < figures["branches_run"] / 2, "the turns before a branch are not trained again"
    assert figures["logprob_gap_max"] < 1e-3


@pytest.mark.slow
def test_a_run_killed_among_its_branches_goes_on_with_the_rest(model, quiet, tmp_path):
    child = Run(model, tmp_path, "branches")
    child.wait_until(lambda: child.said("iteration 1: branch 2/"))
    child.kill()
    before = len((tmp_path / "log").read_text())
    check_same(run_to_end(model, tmp_path, "branches"), quiet)
    numbers = re.findall(r"iteration 1: (\w+) (\d+)/(\d+)", (tmp_path / "log").read_text()[before:])
    (waves, branches) = ([(int(a), int(b)) for kind, a, b in numbers if kind == name] for name in ("episode", "branch"))
    assert all(done == total for done, total in waves), "every attempt was in the journal"
    assert 2 <= branches[0][0] < branches[0][1], "and so were the branches that had ended"
