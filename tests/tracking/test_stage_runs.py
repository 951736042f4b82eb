"""A pipeline run has one parent and one nested run per stage, also after kills and with stages at the same time."""

from __future__ import annotations

import json
import math
import signal
import sqlite3
import subprocess
import threading
import time
from multiprocessing.context import ForkServerContext
from pathlib import Path

import numpy as np
import pytest
from mlflow import MlflowClient

from components import store
from components.params import Params
from components.tracking import stage_run
from tests.samples import recipe
from tests.tracking.conftest import DATABASE, parents, reader, runs, stages
from tests.tracking.stage_processes import STATE, log_points, train


def test_a_stage_is_a_nested_run_of_its_pipeline(params: Params, client: MlflowClient) -> None:
    with stage_run(params, "train_rl@short", "key", STATE, sections=["seed", "rl"]) as run:
        run.metrics({"reward": {"mean": 0.5, "ci95": [0.25, 0.75]}, "n": 3, "note": "text", "skipped": None}, step=7)
        run.metrics({"gap": np.float32(0.125), "ok": True, "family": {"odd@name": 1}})
        run.params({"more": {"tokens": 12}})
    nested, parent = client.get_run(run.run_id), client.get_run(run.parent_id)
    assert nested.data.metrics == {
        "reward.mean": 0.5,
        "reward.ci95.0": 0.25,
        "reward.ci95.1": 0.75,
        "n": 3,
        "gap": 0.125,
        "ok": 1,
        "family.odd_name": 1,
    }
    assert [(m.step, m.value) for m in client.get_metric_history(run.run_id, "reward.mean")] == [(7, 0.5)]
    assert nested.data.tags["mlflow.parentRunId"] == run.parent_id
    assert nested.data.tags["mlflow.runName"] == "train_rl@short"
    assert nested.data.params["rl.short.max_steps"] == "2"
    assert nested.data.params["more.tokens"] == "12"
    assert "sft.lr" not in nested.data.params
    assert parent.data.params["sft.lr"] == "0.0001"
    assert parent.data.params["worlds.miniwob.train"] == "['click-button']"
    assert parent.data.tags["waymark.recipe"] == "sample"
    assert (nested.info.status, parent.info.status) == ("FINISHED", "FINISHED")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 0.1])
def test_a_resumed_run_does_not_log_a_point_again(params: Params, client: MlflowClient, value: float) -> None:
    for _ in range(2):
        with stage_run(params, "train_rl@short", "key", STATE) as run:
            run.metrics({"clip_fraction": value}, step=1)
    assert len(client.get_metric_history(run.run_id, "clip_fraction")) == 1


def test_figures_that_a_result_lacks_have_no_value_after_another_end(params: Params, client: MlflowClient) -> None:
    with stage_run(params, "evaluate@rl", "key", STATE) as run:
        run.metrics({"loss": 0.5}, step=3)
        run.metrics({"decision": {"waymark-policy": {"promoted": True}}})
        run.result({"rate": 0.95, "terminations": {"done": 19, "env_init_error": 1}})
    with stage_run(params, "evaluate@rl", "key", STATE) as again:
        again.metrics({"judge_trust": 1.0})
        again.result({"rate": 1.0, "terminations": {"done": 20}})
    assert again.run_id == run.run_id
    metrics = client.get_run(run.run_id).data.metrics
    assert math.isnan(metrics.pop("terminations.env_init_error"))
    kept = {"loss": 0.5, "decision.waymark-policy.promoted": 1.0}
    assert metrics == {**kept, "rate": 1.0, "terminations.done": 20, "judge_trust": 1.0}


def test_the_last_value_of_a_curve_is_not_its_first_point(params: Params, client: MlflowClient) -> None:
    """A stage logs its result at its end, which may have a figure that was logged at each step."""
    with stage_run(params, "train_sft", "key", STATE) as run:
        for step, loss in ((1, 0.5), (2, 0.25)):
            run.metrics({"loss": loss}, step)
        run.metrics({"judge_trust": {"n": 3}})
        run.metrics({"loss": 0.25, "judge_trust": {"n": 3}, "turns": 8})
    with stage_run(params, "train_sft", "key", STATE) as run:
        run.metrics({"loss": 0.25, "judge_trust": {"n": 3}, "turns": 8})
    points = {
        name: [(point.step, point.value) for point in client.get_metric_history(run.run_id, name)]
        for name in ("loss", "judge_trust.n", "turns")
    }
    assert points == {"loss": [(1, 0.5), (2, 0.25)], "judge_trust.n": [(0, 3)], "turns": [(0, 8)]}


@pytest.mark.parametrize(
    "family",
    ["https://shop.example/", "a//b", "/", "..", ".", "", "x" * 300, "订单", "50% off?", "a\nb", "\ud800"],
)
def test_a_family_may_have_any_name(params: Params, client: MlflowClient, family: str) -> None:
    with stage_run(params, "evaluate@sft", "key", STATE) as run:
        run.metrics({"families": {family: {"rate": 0.5}}, family: 0.25})
    assert sorted(client.get_run(run.run_id).data.metrics.values()) == [0.25, 0.5]


def test_two_families_never_share_a_metric(params: Params, client: MlflowClient) -> None:
    with stage_run(params, "evaluate@sft", "key", STATE) as run:
        run.metrics({"families": {"c#": 0.1, "c+": 0.2, "c_": 0.3, "java": 0.4}})
    metrics = client.get_run(run.run_id).data.metrics
    assert metrics["families.c_"] == 0.3
    assert metrics["families.java"] == 0.4
    assert sorted(metrics.values()) == [0.1, 0.2, 0.3, 0.4]


def test_keys_of_a_recipe_may_have_any_names(checkout: Path, client: MlflowClient) -> None:
    limits = {"c#": 1, "c+": 2, "c_": 3, "https://shop.example/": 4}
    params = recipe(rl__objective={"name": "rft", "max_per_source": limits})
    for _ in range(2):
        with stage_run(params, "train_rl@short", "key", STATE) as run:
            pass
    logged = client.get_run(run.run_id).data.params
    of_sources = {name: value for name, value in logged.items() if "max_per_source." in name}
    assert of_sources["rl.objective.max_per_source.c_"] == "3"
    assert sorted(of_sources.values()) == ["1", "2", "3", "4"]


def test_artifacts_are_stored_beside_the_database(params: Params, client: MlflowClient, checkout: Path) -> None:
    Path("curve.csv").write_text("step,loss\n")
    with stage_run(params, "train_sft", "key", Path("state")) as run:
        run.artifact(Path("curve.csv"))
    artifacts = checkout / "mlflow" / "store" / "artifacts"
    assert client.get_run(run.run_id).info.artifact_uri.startswith(artifacts.as_uri())
    assert [p.read_text() for p in artifacts.rglob("curve.csv")] == ["step,loss\n"]


def test_stages_of_a_pipeline_share_a_parent_and_each_recipe_has_its_own(params: Params, client: MlflowClient) -> None:
    with (
        stage_run(params, "collect_tasks", "a", Path("a")) as first,
        stage_run(params, "train_sft", "b", Path("b")) as second,
    ):
        pass
    with stage_run(recipe(seed=1), "collect_tasks", "c", Path("c")) as third:
        pass
    assert first.parent_id == second.parent_id != third.parent_id
    assert len(parents(client)) == 2


def test_the_parent_has_the_git_commit_and_each_commit_has_its_own_run(params: Params, client: MlflowClient) -> None:
    commits = []
    for number in range(2):
        git = ["git", "-c", "user.name=n", "-c", "user.email=e@example.com"]
        subprocess.run([*git, "init", "-q"], check=True)
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", str(number)], check=True)
        commits.append(subprocess.check_output(["git", "rev-parse", "HEAD"], text=True).strip())
        with stage_run(params, "train_sft", "key", Path("state")) as run:
            pass
        assert client.get_run(run.parent_id).data.tags["mlflow.source.git.commit"] == commits[-1]
    assert len(parents(client)) == 2
    assert len(stages(client, "train_sft")) == 2  # it finished under the first commit; this is another run of it


def test_a_parent_is_found_again_when_its_note_is_lost(params: Params, client: MlflowClient) -> None:
    with stage_run(params, "collect_tasks", "a", Path("a")) as first:
        pass
    (note,) = (store.STATE / "state" / "pipeline").glob("*.json")
    assert json.loads(note.read_text())["run_id"] == first.parent_id
    note.unlink()
    with stage_run(params, "train_sft", "b", Path("b")) as second:
        pass
    assert second.parent_id == first.parent_id


def test_a_note_of_a_run_that_was_deleted_is_not_followed(params: Params, client: MlflowClient) -> None:
    with stage_run(params, "train_sft", "key", Path("state")) as first:
        pass
    client.delete_run(first.run_id)
    client.delete_run(first.parent_id)
    with stage_run(params, "train_sft", "key", Path("state")) as second:
        pass
    assert first.run_id != second.run_id
    assert first.parent_id != second.parent_id


def test_a_pipeline_does_not_fail_by_a_stage_that_was_mended(params: Params, client: MlflowClient) -> None:
    with pytest.raises(ValueError), stage_run(params, "collect_tasks", "damaged file", Path("a")):
        raise ValueError("damaged")
    with stage_run(params, "train_sft", "key", Path("b")) as run:
        pass
    assert client.get_run(run.parent_id).info.status == "FAILED"
    with stage_run(params, "collect_tasks", "mended file", Path("c")):
        pass
    assert client.get_run(run.parent_id).info.status == "FINISHED"
    with pytest.raises(ValueError), stage_run(params, "collect_tasks", "mended file", Path("c")):
        raise ValueError("again")
    assert client.get_run(run.parent_id).info.status == "FAILED"


def test_a_pipeline_does_not_fail_by_a_benchmark(params: Params, client: MlflowClient) -> None:
    with stage_run(params, "evaluate@rl", "key", Path("a")) as run:
        pass
    with pytest.raises(ValueError), stage_run(params, "benchmark@shops", "key", Path("b"), in_pipeline=False) as other:
        raise ValueError("no network")
    assert client.get_run(other.run_id).info.status == "FAILED"
    assert (other.parent_id, client.get_run(run.parent_id).info.status) == (run.parent_id, "FINISHED")


@pytest.mark.parametrize(("error", "status"), [(RuntimeError, "FAILED"), (KeyboardInterrupt, "KILLED")])
def test_a_failed_stage_is_marked_and_its_next_attempt_continues_the_run(
    params: Params, client: MlflowClient, error: type[BaseException], status: str
) -> None:
    with pytest.raises(error), stage_run(params, "train_sft", "key", Path("state")) as run:
        raise error
    assert client.get_run(run.run_id).info.status == status
    assert client.get_run(run.parent_id).info.status == "FAILED"
    with stage_run(params, "train_sft", "key", Path("state")) as again:
        assert client.get_run(again.parent_id).info.status == "RUNNING"
    assert again.run_id == run.run_id
    assert client.get_run(run.parent_id).info.status == "FINISHED"


def train_and_kill(forkserver: ForkServerContext, stop: int) -> None:
    """Train in another process and SIGKILL it once it has logged the iteration `stop`."""
    receiver, sender = forkserver.Pipe(duplex=False)
    child = forkserver.Process(target=train, args=(stop, sender))
    child.start()
    assert receiver.poll(60), "it has not logged"
    assert receiver.recv() == stop
    child.kill()
    child.join()
    assert child.exitcode == -signal.SIGKILL


@pytest.mark.slow
def test_a_stage_killed_mid_run_continues_its_own_run(
    checkout: Path, client: MlflowClient, forkserver: ForkServerContext
) -> None:
    for stop in (1, 3):
        train_and_kill(forkserver, stop)
        (run,) = stages(client, "train_rl@short")
        assert run.info.status == "RUNNING"
    last = forkserver.Process(target=train, args=(-1, None))
    last.start()
    last.join()
    assert last.exitcode == 0
    (run,) = stages(client, "train_rl@short")
    assert run.info.status == "FINISHED"
    assert len(runs(client)) == 2
    points = [(m.step, m.value) for m in client.get_metric_history(run.info.run_id, "reward_mean")]
    assert sorted(points) == [(i, i / 4) for i in range(6)]  # the iterations that were killed are there once


@pytest.mark.slow
def test_a_stage_killed_before_its_run_was_written_down_finds_it(
    params: Params, client: MlflowClient, forkserver: ForkServerContext
) -> None:
    train_and_kill(forkserver, 0)
    (STATE / "mlflow_run_id").unlink()
    with stage_run(params, "train_rl@short", "key", STATE) as run:
        assert run.resumed
    assert len(stages(client, "train_rl@short")) == 1


def test_a_resumed_run_says_which_parameters_changed(params: Params, client: MlflowClient) -> None:
    with pytest.raises(ValueError, match="invalid"), stage_run(params, "evaluate@rl", "key", STATE):
        raise ValueError("invalid")
    with stage_run(recipe(evaluation__max_aborted=0.5), "evaluate@rl", "key", STATE) as run:
        assert run.resumed
    (stage,) = stages(client, "evaluate@rl")
    assert json.loads(stage.data.tags["waymark.changed"])["evaluation.max_aborted"] == "0.5"


def test_a_parameter_with_its_first_value_again_is_not_changed(params: Params, client: MlflowClient) -> None:
    for limit in (0.1, 0.5):
        changed = recipe(evaluation__max_aborted=limit)
        with pytest.raises(ValueError, match="invalid"), stage_run(changed, "evaluate@rl", "key", STATE):
            raise ValueError("invalid")
    (stage,) = stages(client, "evaluate@rl")
    assert "waymark.changed" in stage.data.tags
    with stage_run(recipe(evaluation__max_aborted=0.1), "evaluate@rl", "key", STATE):
        pass
    (stage,) = stages(client, "evaluate@rl")
    assert "waymark.changed" not in stage.data.tags


def test_a_checkout_does_not_take_the_running_stage_of_another_one(params: Params, client: MlflowClient) -> None:
    with (
        stage_run(params, "train_sft", "key", Path("here")) as run,
        stage_run(params, "train_sft", "key", Path("there")),
    ):
        run.metrics({"loss": 1.0})
    first, second = stages(client, "train_sft")
    assert [len(stage.data.metrics) for stage in (first, second)].count(1) == 1, "each has a run of its own"
    assert first.data.tags["mlflow.parentRunId"] == second.data.tags["mlflow.parentRunId"]


def test_a_killed_stage_moves_to_the_pipeline_that_runs_it_again(
    params: Params, client: MlflowClient, forkserver: ForkServerContext
) -> None:
    train_and_kill(forkserver, 0)
    (left,) = parents(client)
    with stage_run(recipe(rl__lr=2e-5), "train_rl@short", "key", STATE) as run:
        pass
    (moved,) = stages(client, "train_rl@short")
    assert moved.data.tags["mlflow.parentRunId"] == run.parent_id != left.info.run_id
    assert client.get_run(left.info.run_id).info.status == "FAILED"


@pytest.mark.slow
@pytest.mark.parametrize("made", [True, False], ids=["database there", "first use"])
def test_stages_started_at_once_share_one_parent_and_lose_no_point(
    checkout: Path, made: bool, forkserver: ForkServerContext
) -> None:
    if not made:
        DATABASE.unlink()
    children = [forkserver.Process(target=log_points, args=(f"stage{number}",)) for number in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0, 0]
    client = reader()
    assert len(parents(client)) == 1
    assert len(runs(client)) == 3
    for number in range(2):
        (run,) = stages(client, f"stage{number}")
        assert len(client.get_metric_history(run.info.run_id, "loss")) == 30


def test_a_locked_database_is_waited_for(params: Params, client: MlflowClient) -> None:
    with stage_run(params, "train_sft", "key", Path("state")) as run:
        other = sqlite3.connect(DATABASE, check_same_thread=False, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        release = threading.Timer(1.0, lambda: other.execute("COMMIT"))
        release.start()
        began = time.monotonic()
        run.metrics({"loss": 1.0})
        assert time.monotonic() - began > 0.5
        release.join()
        other.close()
    assert client.get_run(run.run_id).data.metrics == {"loss": 1.0}
