"""RL killed with SIGKILL and run again: no finished iteration is repeated, and the figures are those of a quiet run."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import random
import re
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from multiprocessing.process import BaseProcess
from pathlib import Path

import psutil
import pytest
import torch

from components.agent import EpisodeSpec, format_call, format_response
from components.model import VLM, Encoder, Sample
from components.params import OptimParams, load
from components.records import Termination, Trajectory
from components.reports.rl_validation import WatchedPhase
from components.reports.stage_results import RLIteration
from components.reports.time_spent import time_spent
from components.rollout import NothingLearnableError
from components.training.checkpoints import Checkpoints
from components.training.objectives import WeightedSample
from components.training.supervised import train
from components.training.validation import Validation
from tests.training import rl_without_pages
from tests.training.rl_child import TASKS, run
from tests.vlm import observation, picture, renderer

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["tests.training.rl_child"])
"""Forks children from a process that has imported all they need."""

TIMES = {
    *("iteration_s", "weights_s", "rollout_s", "judge_s", "waited_s", "train_s", "tokens_per_s"),
    *("episodes_s", "browser_s", "policy_s", "queue_s", "vision_s", "prefill_s", "decode_s"),
    *("encoding_s", "forward_s", "backward_s", "optimizer_s"),
}
IMAGE_WORK = {"preparations_per_image", "encodings_per_image"}
NOT_COMPARED = TIMES | IMAGE_WORK
"""A run that was killed takes other times, and prepares images again."""
ROUNDING_S = 0.02
"""Recorded times are rounded to milliseconds or less."""


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
        data.append([WeightedSample(Sample(encoder.encode(prompt), [*encoder.tokens(response), encoder.end_id]))])
    train(vlm, encoder, data, OptimParams(epochs=6, lr=1e-3, batch_size=8), 0, lambda step, steps, loss: None)
    path = tmp_path_factory.mktemp("model")
    vlm.save(path)
    return path


class Run:
    """A run of the child; `where` holds its log, its state and what it leaves."""

    def __init__(self, model: Path, where: Path, kind: str = "plain") -> None:
        where.mkdir(exist_ok=True)
        # the state's name is in the policy's version, and so in every draw: the same work has the same name
        state, self.out, self.log = where / "state", where / "out.json", where / "log"
        state.mkdir(exist_ok=True)
        self.log.touch()
        self.checkpoints = state / "checkpoints"
        self.began, self.heard = time.time(), self.log.stat().st_size
        self.process: BaseProcess = FORKS.Process(target=run, args=(model, state, self.out, kind, self.log))
        self.process.start()

    def wait_until(self, happened: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 300  # a launch of several processes takes 20 s of CPU
        while not happened():
            assert self.process.is_alive(), self.log.read_text()[-3000:]
            assert time.monotonic() < deadline, self.log.read_text()[-3000:]
            time.sleep(0.002)

    def said(self, text: str) -> bool:
        return text in self.log.read_text()

    def done(self) -> float:
        """Iterations done, the share of the one under way included, as it said last; -1 before it says anything."""
        said = re.findall(rb"^(\d+\.\d+) iteration", self.log.read_bytes()[self.heard :], re.MULTILINE)
        return float(said[-1]) if said else -1.0

    def partials(self) -> list[Path]:
        """Checkpoints that this run is writing."""
        return [path for path in self.checkpoints.glob(".*.part") if path.stat().st_mtime > self.began]

    def writes_checkpoint(self) -> bool:
        with contextlib.suppress(FileNotFoundError):  # it was renamed meanwhile
            return bool(self.partials())
        return False

    def kill(self) -> None:
        """SIGKILL the training and, as a machine that dies would, its browsers."""
        for child in psutil.Process(self.process.pid).children(recursive=True):  # a launcher's are groups of their own
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.join()
        assert self.process.exitcode == -signal.SIGKILL, "it ended before it could be killed"


@dataclass(frozen=True)
class Left:
    """What a run leaves: the figures of its iterations, and the weights by parameter."""

    figures: list[dict[str, float]]
    weights: dict[str, torch.Tensor]


def run_to_end(model: Path, where: Path, kind: str = "plain") -> Left:
    last = Run(model, where, kind)
    last.process.join(600)
    assert last.process.exitcode == 0, last.log.read_text()[-3000:]
    return Left(json.loads(last.out.read_text()), torch.load(last.out.with_suffix(".pt"), weights_only=True))


def check_same(killed: Left, quiet: Left) -> None:
    """Losses, rewards and all other figures of every iteration, and the weights at the end, to the last bit."""
    for mine, theirs in zip(killed.figures, quiet.figures, strict=True):
        assert mine.keys() == theirs.keys()
        assert {
            name: (mine[name], theirs[name]) for name in theirs.keys() - NOT_COMPARED if mine[name] != theirs[name]
        } == {}
    assert [name for name, weight in quiet.weights.items() if not torch.equal(killed.weights[name], weight)] == []


Quiet = Callable[[str], tuple[Left, Path]]


@pytest.fixture(scope="module")
def quiet_runs(model, tmp_path_factory) -> Quiet:
    """An uninterrupted run of a kind, and its folder."""

    @cache
    def quiet_run(kind: str) -> tuple[Left, Path]:
        where = tmp_path_factory.mktemp(kind)
        return run_to_end(model, where, kind), where

    return quiet_run


@pytest.fixture(scope="module")
def quiet(quiet_runs) -> Left:
    return quiet_runs("plain")[0]


def check_times(row: dict[str, float], overlaps: bool) -> None:
    """The parts of an iteration take at most as long as the whole."""
    assert row["iteration_s"] >= row["waited_s"] + row["train_s"] - ROUNDING_S
    assert overlaps or row["waited_s"] >= row["rollout_s"] + row["judge_s"] - ROUNDING_S
    assert row["train_s"] >= sum(row[f"{part}_s"] for part in ("encoding", "forward", "backward", "optimizer"))
    assert row["rollout_s"] >= row["vision_s"] + row["prefill_s"] + row["decode_s"] - ROUNDING_S
    assert row["episodes_s"] >= row["browser_s"] + row["policy_s"] + row["queue_s"] - ROUNDING_S
    assert row["policy_s"] >= row["prefill_s"] + row["decode_s"] - ROUNDING_S
    assert min(row[name] for name in TIMES - {"judge_s", "queue_s"}) > 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["plain", "async"])
def test_the_times_of_an_iteration_make_a_picture(quiet_runs, kind):
    rows = quiet_runs(kind)[0].figures
    for row in rows:
        check_times(row, overlaps=kind == "async" and row["iteration"] > 1)
    (picture,) = time_spent([RLIteration(**row | {"phase": "short"}) for row in rows], {"short": WatchedPhase()})
    iteration, policy, episodes, update = ({part.name for part in bar.parts} for bar in picture.bars)
    assert {"rollouts", "update"} <= iteration
    assert ("waiting for rollouts" in iteration) == (kind == "async")
    assert {"images", "prefill", "decode"} <= policy
    assert {"browser", "waiting for the policy"} <= episodes
    assert {"encoding", "forward", "backward", "optimiser"} <= update


@pytest.mark.slow
def test_two_runs_of_one_seed_are_the_same_to_the_last_bit(model, quiet, tmp_path):
    check_same(run_to_end(model, tmp_path), quiet)


def test_two_runs_without_pages_are_the_same_to_the_last_bit(tmp_path, monkeypatch):
    """The same without browsers, in seconds, with validations."""

    def run_phase(folder: str) -> tuple[Left, list[Validation]]:
        trained, weights = rl_without_pages.train(monkeypatch, tmp_path / folder / "state", 2, validate=2)
        return Left(trained.figures, weights), [v.model_copy(update={"seconds": 0.0}) for v in trained.validations]

    (first, validations), (second, validations_again) = run_phase("first"), run_phase("second")
    check_same(first, second)
    assert validations == validations_again
    assert all(figures["effective_groups"] and figures["steps"] for figures in first.figures), "every update counts"


@pytest.mark.slow
def test_a_run_killed_in_rollout_and_in_update_ends_as_an_undisturbed_one(model, quiet, tmp_path):
    for moment in ("iteration 1: episode 4/", "iteration 2: step 1/"):
        child = Run(model, tmp_path)
        child.wait_until(lambda moment=moment, child=child: child.said(moment))
        child.kill()
    check_same(run_to_end(model, tmp_path), quiet)
    assert (tmp_path / "log").read_text().count("iteration 1: reward") == 1, "a finished iteration was repeated"


def watched(where: Path) -> dict:
    """What a run of the kind `watched` left besides figures and weights, without the times."""
    left = json.loads((where / "out.watched").read_text())
    return {**left, "validation": [row | {"seconds": 0} for row in left["validation"]]}


@pytest.fixture(scope="module")
def quiet_and_watched(quiet_runs) -> tuple[Left, dict, Path]:
    """An uninterrupted run with validations, which goes back once."""
    left, where = quiet_runs("watched")
    return left, watched(where), where


@pytest.mark.slow
def test_a_run_that_falls_goes_back_once_and_goes_on(quiet_and_watched):
    left, seen, where = quiet_and_watched
    assert [row["iteration"] for row in seen["validation"]] == [0, 2, 4, 5]
    assert [row["success"]["rate"] for row in seen["validation"]] == [1, 1, 0, 1]
    assert seen["rollbacks"] == [{"iteration": 4, "to": 2, "by_hand": False}]
    assert [figures.get("rolled_back_to") for figures in left.figures] == [None, None, None, 2, None]
    assert [figures.get("kl_sft") is not None for figures in left.figures] == [False, True, False, True, True]
    assert left.figures[1]["kl_sft"] > 0, "one update lies between the policy and the model that it began with"
    assert seen["published"][0] == 5
    trained = dict(re.findall(r"^after (\d) (\w+)$", (where / "log").read_text(), re.MULTILINE))
    (begins,) = re.findall(r"^begins test@4~1:state (\w+)$", (where / "log").read_text(), re.MULTILINE)
    assert begins == trained["2"] != trained["4"], "the iteration after the fall rolls out with the restored weights"
    assert Checkpoints(where / "state").iterations == [5]
    by_family = {(row["iteration"], row["family"]): row for row in seen["families"]}
    assert by_family[2, "click-test"]["groups"] == left.figures[0]["sampled_groups"] + left.figures[1]["sampled_groups"]


@pytest.mark.slow
def test_a_watched_run_killed_in_validation_and_after_a_fall_ends_the_same(model, quiet_and_watched, tmp_path):
    quiet, seen, _ = quiet_and_watched
    for moment in ("iteration 2: step 1/", "iteration 2: validation 2/", "iteration 4: validation 4/", "@4~1:state"):
        child = Run(model, tmp_path, "watched")
        child.wait_until(lambda moment=moment, child=child: child.said(moment))
        child.kill()
    check_same(run_to_end(model, tmp_path, "watched"), quiet)
    assert watched(tmp_path) == seen


@pytest.mark.slow
@pytest.mark.timeout(1500)  # beside two other tests of training
@pytest.mark.parametrize(
    "kind",
    [
        "lora",
        pytest.param("staler", marks=pytest.mark.exhaustive),
        pytest.param("spread", marks=pytest.mark.exhaustive),
    ],
)  # `spread` is asynchronous, too
def test_a_killed_run_with_adapters_or_overlap_ends_as_an_undisturbed_one(model, quiet_runs, tmp_path, kind):
    child = Run(model, tmp_path, kind)
    child.wait_until(lambda: child.said(f"iteration {2 if kind == 'spread' else 3}: step 1/"))
    child.kill()
    check_same(run_to_end(model, tmp_path, kind), quiet_runs(kind)[0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "names"), [("async", ["0", "0+1", "1+1", "2+1"]), ("staler", ["0", "0+1", "0+2", "1+2"])]
)
def test_each_rollout_uses_weights_as_stale_as_the_recipe_says(quiet_runs, kind, names):
    """And each begins before the update that it does not wait for has ended."""
    _, where = quiet_runs(kind)
    said = re.findall(r"^(begins|ends|after) (\S+) (\w+)$", (where / "log").read_text(), re.MULTILINE)
    order = [(what, name.removeprefix("test@").removesuffix(":state")) for what, name, _ in said]
    weights = {one: fingerprint for one, (_, _, fingerprint) in zip(order, said, strict=True)}
    assert [name for what, name in order if what == "begins"] == names
    assert all(weights["begins", name] == weights["ends", name] for name in names)
    trained = {"0": weights["begins", "0"]} | {name: weights["after", name] for name in "1234"}
    assert len(set(trained.values())) == 5, "every update changes the weights"
    assert all(weights["begins", name] == trained[name.partition("+")[0]] for name in names)
    for number, name in enumerate(names[1:], 1):
        assert order.index(("begins", name)) < order.index(("after", str(number)))


@pytest.mark.slow
def test_a_run_killed_at_seven_moments_ends_with_the_same_figures(model, quiet, tmp_path):
    """Anywhere in rollouts and updates; and once in each iteration while its checkpoint is being written."""
    rng = random.Random(5)
    anywhere = [rng.uniform(0, 3.4) for _ in range(3)]
    for moment in sorted([*anywhere, 1.0, 2.0, 3.0, 4.0]):
        child = Run(model, tmp_path)
        if moment in anywhere:
            child.wait_until(lambda moment=moment, child=child: child.done() >= moment)
            time.sleep(rng.uniform(0, 0.1))  # an update's step takes about as long
            child.kill()
        else:
            child.wait_until(child.writes_checkpoint)
            child.kill()
            assert child.partials(), "the checkpoint was written before the kill"
    check_same(run_to_end(model, tmp_path), quiet)


@pytest.mark.slow
def test_what_was_learned_from_is_not_repeated_before_a_checkpoint(tmp_path, monkeypatch):
    """The environment ends an episode of iteration 1, and a kill in iteration 2 comes before the first checkpoint. The
    next run does not repeat the episode: it would learn something else, and iteration 2 began with what was learned."""

    def broken(spec: EpisodeSpec) -> Termination:
        is_hit = spec.policy_version.startswith("test@0:") and spec.attempt == 3
        return Termination.ENV_ERROR if is_hit else Termination.DONE

    def run_phase(folder: str, *ends: Callable[[EpisodeSpec], Termination]) -> Left:
        trained, weights = rl_without_pages.train(monkeypatch, tmp_path / folder / "state", 3, *ends, checkpoints=2)
        return Left(trained.figures, weights)

    quiet = run_phase("quiet", broken)
    with pytest.raises(rl_without_pages.Killed):
        run_phase("killed", rl_without_pages.killed_after(8 + 6, broken))
    assert quiet.figures[0]["masked_env_error"] > 0
    check_same(run_phase("killed"), quiet)


def test_a_run_goes_on_with_smaller_passes_after_it_was_out_of_memory(tmp_path, monkeypatch):
    def run_phase(folder: str, tokens: int, *ends: Callable[[EpisodeSpec], Termination]) -> Left:
        keys = {"micro_batch_tokens": tokens}
        trained, weights = rl_without_pages.train(monkeypatch, tmp_path / folder / "state", 3, *ends, keys=keys)
        return Left(trained.figures, weights)

    quiet = run_phase("quiet", 8192)
    with pytest.raises(rl_without_pages.Killed):
        run_phase("killed", 8192, rl_without_pages.killed_after(20))
    smaller = run_phase("killed", 64)
    assert [row["loss"] for row in smaller.figures] == pytest.approx([row["loss"] for row in quiet.figures], rel=1e-3)
    for name, weight in quiet.weights.items():
        torch.testing.assert_close(smaller.weights[name], weight, rtol=1e-2, atol=1e-4)


@pytest.mark.slow
def test_verdicts_that_were_learned_from_are_not_asked_for_again(tmp_path, monkeypatch):
    """A judge that was down, or that says another thing when it is asked again, would change an update whose policy has
    already played the next iteration."""
    asked_again: list[str] = []

    def other_judge(trajectory: Trajectory) -> bool:
        is_settled = trajectory.policy.startswith("test@0:")
        asked_again.extend([trajectory.trajectory_id] * is_settled)
        return rl_without_pages.even_attempts(trajectory) != is_settled

    def run_phase(folder: str, **options: object) -> Left:
        trained, weights = rl_without_pages.train(
            monkeypatch, tmp_path / folder / "state", 3, checkpoints=2, audited=lambda trajectory: False, **options
        )
        return Left(trained.figures, weights)

    quiet = run_phase("quiet")
    with pytest.raises(rl_without_pages.Killed):
        run_phase("killed", ends=rl_without_pages.killed_after(8 + 6))
    check_same(run_phase("killed", succeeds=other_judge), quiet)
    assert asked_again == []
    assert not [*(tmp_path / "killed/state").glob("episodes-*")], "a checkpoint has taken their place"


def test_an_iteration_of_which_nothing_could_be_learned_is_repeated(tmp_path, monkeypatch):
    """Otherwise every later run would end as the first one did, although the cause is removed."""
    with pytest.raises(NothingLearnableError, match="masked"):
        rl_without_pages.train(monkeypatch, tmp_path, 1, lambda spec: Termination.ENV_ERROR)
    trained, _ = rl_without_pages.train(monkeypatch, tmp_path, 1)
    assert trained.figures[0]["masked_share"] == 0


@pytest.mark.slow
def test_the_run_learns_what_is_rewarded(quiet):
    assert [figures["iteration"] for figures in quiet.figures] == [1, 2, 3, 4]
    assert all(figures["logprob_gap_max"] < 1e-3 for figures in quiet.figures)
    # the auditor believes nothing: it agrees where the judge sees a failure
    assert all(0 <= figures["judge_agreement"] < 1 for figures in quiet.figures)
    assert all(figures["judge_precision"] == 0 for figures in quiet.figures)
    assert all(abs(figures["ratio_mean"] - 1) < 0.2 for figures in quiet.figures)
