"""A study whose runs are finished on disk: real tables of episodes, and what the stages of RL wrote."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from components.records import Outcome, Termination, Trajectory, Verdict
from components.store import write_json, write_table
from components.study import Run, Study, load_study
from tests.evaluation.run_records import task, trajectory, turn, verdict

ROOT = Path(__file__).parents[2]
CLAIM = {"source": "OpenWebRL, table 4", "sign": "lower", "effect": "-5.2 points", "differs": "other <pages> there"}
ARMS = {
    "worse": {"set": {"rl": {"group_size": 4}}, "paper": CLAIM},
    "better": {"set": {"rl": {"group_size": 5}}, "paper": CLAIM},
    "alike": {"set": {"rl": {"group_size": 6}}, "about": "nearly nothing"},
}
SOLVED = {"plain": 20, "worse": 8, "better": 32, "alike": 21}
"""Of 40 tasks in each seed; each further seed solves one more."""
SOLVED_BEFORE = 6
"""Before RL, in every arm and seed."""
TASKS, HELDOUT = 40, 8


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    """A study of three arms in an empty project, with the recipes."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "recipes", tmp_path / "recipes")
    path = tmp_path / "mine.yaml"
    keys = {"question": "Is it 1 < 2?", "recipe": "smoke", "base": "plain", "arms": ARMS, "seeds": [0, 1, 2]}
    path.write_text(yaml.safe_dump(keys, sort_keys=False))
    return load_study(path)


@pytest.fixture(scope="session")
def results_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Run], Path]:
    """A folder with the results of a run, which is written once."""
    written: dict[tuple[str, int], Path] = {}

    def folder(run: Run) -> Path:
        key = run.arm, run.seed
        if key not in written:
            written[key] = tmp_path_factory.mktemp(run.name)
            _results(written[key], run)
        return written[key]

    return folder


@pytest.fixture
def finish(study: Study, results_of: Callable[[Run], Path]) -> Callable[..., None]:
    """Write the results of the runs; those in `states` have another state and no results."""

    def write(**states: str) -> None:
        by_name = {name.replace("_", "-"): state for name, state in states.items()}
        folder = Path(".waymark/studies/mine")
        for run in study.runs:
            if run.name not in by_name:
                shutil.copytree(results_of(run), folder / run.name, dirs_exist_ok=True)
        named = {run.name: by_name.get(run.name, "finished") for run in study.runs}
        details = {"stage": "train_rl@short", "log": "train_rl@short.log", "error": "exit <1>"}
        write_json(
            folder / "runs.json",
            {
                run.name: {
                    "state": named[run.name],
                    "recipe": run.recipe_digest,
                    **(details if named[run.name] == "failed" else {}),
                }
                for run in study.runs
            },
        )
        (folder / "events.jsonl").write_text(
            '{"run": "plain-seed0", "stage": "train_sft", "outcome": "ran", "seconds": 60.0}\n'
            '{"run": "worse-seed0", "stage": "train_sft", "outcome": "restored", "seconds": 1.0}\n'
            '{"run": "worse-se'
        )

    return write


def _results(folder: Path, run: Run) -> None:
    """The first tasks are solved, so that better arms solve all that worse ones do, and RL all that SFT does."""
    _evaluation(folder / "data/evaluation/rl", run, SOLVED[run.arm] + run.seed, SOLVED[run.arm] // 5)
    _evaluation(folder / "data/evaluation/sft", run, SOLVED_BEFORE, 1)
    for phase, first, count in (("short", 0, 2), ("long", 2, 1)):
        iterations = [
            {"effective_groups": 2, "sampled_groups": 4, "episodes": 20, "pool_reward": (first + index + 1) / 10}
            for index in range(count)
        ]
        rows = [
            {"iteration": at, "success": (first + at) / 4, "success_low": 0, "success_high": 1, "n": 4, "seconds": 1.0}
            for at in range(count + 1)
        ]
        result = {"iterations": iterations, "validation": rows, "wall_s": 60.0 if phase == "short" else 90.0}
        write_json(folder / f"reports/stages/train_rl@{phase}.json", result)


def _evaluation(evaluated: Path, run: Run, solved_tasks: int, solved_heldout: int) -> None:
    """Half of the test tasks are of either family; those of `click-test` come first."""
    trajectories, verdicts, turns = [], [], [turn()]
    for split, count, solved in (("eval", TASKS, solved_tasks), ("heldout", HELDOUT, solved_heldout)):
        for index in range(count):
            family = "click-test" if index < count / 2 else "click-link"
            subject = task(f"miniwob/{split}/{index}", family, split=split)
            one = trajectory(subject, turns, Termination.DONE, run.name, site_reward=float(index < solved))
            trajectories.append(one)
            verdicts.append(verdict(one, Outcome.SUCCESS if index < solved else Outcome.FAILURE))
    write_table(evaluated / "trajectories.parquet", Trajectory, trajectories)
    write_table(evaluated / "verdicts.parquet", Verdict, verdicts)
