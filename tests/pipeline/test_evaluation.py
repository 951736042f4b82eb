"""An evaluation that measures the environment or the judge is an error; the leaderboard says why, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.evaluation import success
from components.params import complete
from components.pipeline.evaluation import InvalidEvaluation, summarise
from components.pipeline.stage_run import stage
from components.records import Outcome, Termination
from components.reports.leaderboard import run_entries
from tests.samples import a_task, a_trajectory, a_verdict

RECIPE = Path(__file__).parents[2] / "recipes/smoke.yaml"
UNJUDGED = (
    "of the held-out tasks, 0 of 2 episodes were ended by the environment and 2 were not judged "
    "(evaluation.max_aborted is 0.1)"
)
LOST = "5 of 5 episodes of click-link were ended by the environment"


@pytest.mark.slow
def test_an_invalid_evaluation_says_why_in_the_error_and_the_leaderboard(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_text(complete(RECIPE))
    trained = [a_trajectory(a_task(number, split="eval")) for number in range(95)]
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
    assert f"evaluate@rl: {LOST}; {UNJUDGED}: {{'done': 95, 'env_init_error': 5}}" in str(raised.value)
    (entry,) = run_entries("smoke", "miniwob", "rl", success(trajectories, verdicts))
    assert (entry.rate, entry.note) == (None, f"{LOST}; {UNJUDGED}")
