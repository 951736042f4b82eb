"""RL killed with SIGKILL and run again: no finished iteration is repeated, and the figures are those of a quiet run."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from components.agent import format_call, format_response
from components.params import OptimParams, load
from components.policies import VLM, Encoder, Sample
from components.training.sft import Weighted, train
from tests.training.rl_child import TASKS
from tests.vlm import observation, picture, renderer

NOT_COMPARED = {"rollout_s", "judge_s", "train_s", "tokens_per_s", "logprob_gap_max", "packing_gap"}
"""Wall times; and the gap of rounding, which depends on who shared a batch with whom."""


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    """The shipped base, taught to say `done` at once, with `a` or `b` at even odds."""
    torch.manual_seed(0)
    vlm = VLM.load("data/base_model", load("recipes/smoke.yaml").model)
    encoder = Encoder(vlm)
    rng = random.Random(0)
    data = []
    for seed in range(48):
        page = observation(seed, f'- button "Click Me!" {rng.randrange(1000)} {rng.randrange(1000)}')
        page = page.model_copy(update={"url": TASKS[0].start_url, "screenshot": picture(seed, 160, 210)})
        response = format_response("x", [format_call("done", answer="ab"[seed % 2])])
        prompt = renderer().prompt(TASKS[0], [], page)
        data.append(Weighted(Sample(encoder.encode(prompt), [*encoder.tokens(response), encoder.end_id])))
    train(vlm, encoder, data, OptimParams(epochs=6, lr=1e-3, batch_size=8), 0, lambda step, steps, loss: None)
    path = tmp_path_factory.mktemp("model")
    vlm.save(path)
    return path


def start(model: Path, where: Path, *options: str) -> subprocess.Popen:
    where.mkdir(exist_ok=True)
    # the state's name is in the policy's version, and so in every draw: the same work has the same name
    state = where / "state"
    state.mkdir(exist_ok=True)
    paths = [str(model), str(state), str(where / "out.json")]
    command = [sys.executable, "-m", "tests.training.rl_child", *paths, *options]
    with (where / "log").open("a") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)


def run_to_end(model: Path, where: Path, *options: str) -> dict:
    child = start(model, where, *options)
    assert child.wait(timeout=240) == 0, (where / "log").read_text()[-3000:]
    return json.loads((where / "out.json").read_text())


def kill(child: subprocess.Popen) -> None:
    """SIGKILL the training and, as a machine that dies would, its browsers."""
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def comparable(result: dict) -> list[dict]:
    return [{k: v for k, v in figures.items() if k not in NOT_COMPARED} for figures in result["figures"]]


def check_same(killed: dict, quiet: dict) -> None:
    """Equal but for rounding: the recorded log-probabilities differ in their last bits with who shared a batch."""
    for mine, theirs in zip(comparable(killed), comparable(quiet), strict=True):
        assert mine == pytest.approx(theirs, rel=1e-5, abs=1e-6)
    assert killed["weights"] == pytest.approx(quiet["weights"], rel=1e-6)


def wait_for(where: Path, text: str, child: subprocess.Popen) -> None:
    deadline = time.monotonic() + 200
    while text not in (where / "log").read_text():
        assert child.poll() is None, (where / "log").read_text()[-3000:]
        assert time.monotonic() < deadline, f"never said {text!r}"
        time.sleep(0.01)


@pytest.fixture(scope="module")
def quiet(model, tmp_path_factory) -> dict:
    """An uninterrupted run."""
    return run_to_end(model, tmp_path_factory.mktemp("quiet"))


@pytest.mark.slow
def test_killed_in_a_rollout_and_in_an_update_it_ends_as_if_nothing_had_happened(model, quiet, tmp_path):
    where = tmp_path / "killed"
    for moment in ("iteration 1: episode 4/", "iteration 2: step 1/"):
        child = start(model, where)
        wait_for(where, moment, child)
        kill(child)
    result = run_to_end(model, where)
    check_same(result, quiet)
    log = (where / "log").read_text()
    assert log.count("iteration 1: reward") == 1, "a finished iteration was repeated"


@pytest.mark.slow
def test_adapters_are_resumed_as_if_nothing_had_happened(model, tmp_path):
    quiet, where = run_to_end(model, tmp_path / "quiet", "lora"), tmp_path / "killed"
    child = start(model, where, "lora")
    wait_for(where, "iteration 2: step 1/", child)
    kill(child)
    check_same(run_to_end(model, where, "lora"), quiet)


@pytest.mark.slow
def test_killed_at_random_moments_it_ends_as_if_nothing_had_happened(model, quiet, tmp_path):
    where = tmp_path / "killed"
    rng = random.Random(5)
    for _ in range(6):
        child = start(model, where)
        time.sleep(rng.uniform(4, 16))
        kill(child)
    check_same(run_to_end(model, where), quiet)


@pytest.mark.slow
def test_the_run_learns_what_is_rewarded(quiet):
    assert [figures["iteration"] for figures in quiet["figures"]] == [1, 2, 3]
    assert all(figures["logprob_gap_max"] < 1e-3 for figures in quiet["figures"])
    assert all(abs(figures["ratio_mean"] - 1) < 0.2 for figures in quiet["figures"])
