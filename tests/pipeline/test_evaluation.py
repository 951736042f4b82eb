"""An evaluation that measures the environment or the judge is an error; the leaderboard says why, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.evaluation import success
from components.params import complete
from components.pipeline.evaluation import InvalidEvaluation, summarise
from components.pipeline.stage_run import stage
from components.records import Outcome, Termination, Trajectory
from components.reports.leaderboard import run_entries
from components.store import read_json
from tests.samples import a_task, a_trajectory, a_verdict

RECIPE = Path(__file__).parents[2] / "recipes/smoke.yaml"
UNJUDGED = "0 of 2 episodes were ended by the environment and 2 were not judged (evaluation.max_aborted is 0.1)"
LOST = "5 of 5 episodes of click-link were ended by the environment"


@pytest.mark.slow
def test_an_invalid_evaluation_says_why_in_the_error_and_the_leaderboard(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_text(complete(RECIPE))
    trained = evaluated(95)
    broken = [
        a_trajectory(
            a_task(100 + number, split="eval", website="click-link"),
            turns=0,
            termination=Termination.ENV_INIT_ERROR,
            answer=None,
        )
        for number in range(5)
    ]
    apart = [a_trajectory(a_task(200 + number, split="heldout")) for number in range(2)]
    verdicts = [a_verdict(one) for one in trained] + [a_verdict(one, Outcome.ERROR) for one in apart]
    trajectories = [*trained, *broken, *apart]
    with pytest.raises(InvalidEvaluation) as raised, stage("evaluate@rl") as run:
        summarise(run, trajectories, verdicts)
    assert f"evaluate@rl: {LOST}: {{'done': 95, 'env_init_error': 5}}" in str(raised.value)
    entry, new_families = run_entries("smoke", "miniwob", "rl", success(trajectories, verdicts))
    assert (entry.rate, entry.note, new_families.rate) == (None, LOST, None)


@pytest.mark.slow
def test_held_out_tasks_without_verdicts_do_not_stop_the_stage(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_text(complete(RECIPE))
    trained, apart = evaluated(4), [a_trajectory(a_task(200 + number, split="heldout")) for number in range(2)]
    verdicts = [a_verdict(one) for one in trained] + [a_verdict(one, Outcome.ERROR) for one in apart]
    with stage("evaluate@rl") as run:
        summarise(run, [*trained, *apart], verdicts)
        logged = run.tracker.backend.client.get_run(run.tracker.run_id)
    result = read_json(Path("reports/stages/evaluate@rl.json"))
    assert (result["rate"], result["n"], result["valid"], result["problems"]) == (1.0, 4, True, [])
    assert (result.get("heldout"), result["heldout_unjudged"], result["heldout_problems"]) == (None, 2, [UNJUDGED])
    assert logged.data.tags["waymark.heldout"] == f"not measured: {UNJUDGED}"
    assert not [name for name in logged.data.metrics if name.startswith("heldout.")], "no rate, and no 0"
    assert "evaluate@rl: the held-out tasks are not measured: 0 of 2" in capsys.readouterr().out
    entry, new_families = run_entries("smoke", "miniwob", "rl", success([*trained, *apart], verdicts))
    assert (entry.rate, entry.note) == (1.0, "")
    assert (new_families.rate, new_families.n, new_families.note) == (None, None, UNJUDGED)
    with stage("evaluate@rl") as again:
        summarise(again, [*trained, *apart], [a_verdict(trajectory) for trajectory in [*trained, *apart]])
    measured = again.tracker.backend.client.get_run(again.tracker.run_id)
    assert again.tracker.run_id == run.tracker.run_id
    assert ("waymark.heldout" in measured.data.tags, measured.data.metrics["heldout.rate"]) == (False, 1.0)


def evaluated(count: int) -> list[Trajectory]:
    return [a_trajectory(a_task(number, split="eval")) for number in range(count)]
