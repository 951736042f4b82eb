"""What is read from the runs' folders, how it is compared, and the page."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml

from components.cli.main import main
from components.evaluation import EvaluationError
from components.records import Outcome, Termination, Trajectory, Verdict
from components.store import read_json, read_table, write_json, write_table
from components.study import compare, find_study, load_study, summary
from components.study.comparison import StudyResult, standing
from components.study.page import charts, write_page
from components.study.results import Measured, RunResult, read_runs
from components.study.study_file import PaperClaim
from tests.evaluation.run_records import task, trajectory, turn, verdict
from tests.study.conftest import CLAIM

ROOT = Path(__file__).parents[2]


@pytest.fixture
def result(study, finish) -> StudyResult:
    finish()
    return compare(study, read_runs(study), commit="0123456789abcdef")


def by_name(result: StudyResult) -> dict:
    return {arm.arm: arm for arm in result.arms}


def test_a_run_is_read_with_its_rates_and_the_stages_that_ran_in_it(study, finish):
    finish()
    runs = {one.run.name: one.run for one in read_runs(study)}
    assert (runs["plain-seed1"].success.rate, runs["plain-seed1"].success.n) == (21 / 40, 40)
    assert (runs["plain-seed1"].heldout.rate, runs["plain-seed1"].actions) == (4 / 8, 1.0)
    assert runs["plain-seed0"].ran == {"train_sft": 60.0}
    assert runs["worse-seed0"].ran == {}


@pytest.mark.slow
def test_a_runs_actions_are_divided_by_those_of_the_teacher(study, finish):
    """20 successes of click-test and 1 of click-link with one action each; the teacher takes 2 and 4 in those that
    succeed: 21 against 20 * 2 + 4."""
    finish()
    folder = Path(".waymark/studies/mine/plain-seed1/data/teacher")
    demonstrations = [
        (demonstration("click-test", 0, actions=1), Outcome.SUCCESS),
        (demonstration("click-test", 1, actions=3), Outcome.SUCCESS),
        (demonstration("click-link", 2, actions=4), Outcome.SUCCESS),
        (demonstration("click-link", 3, actions=9), Outcome.FAILURE),
    ]
    write_table(folder / "trajectories.parquet", Trajectory, [one for one, _ in demonstrations])
    write_table(folder / "verdicts.parquet", Verdict, [verdict(*demonstration) for demonstration in demonstrations])
    measured = read_runs(study)
    ratios = {one.run.name: one.run.actions_of_teacher for one in measured}
    assert ratios.pop("plain-seed1") == pytest.approx(21 / 44)
    assert set(ratios.values()) == {None}, "the other runs have no tables of a teacher"
    result = compare(study, measured)
    assert by_name(result)["plain"].actions_of_teacher == pytest.approx(21 / 44)
    assert '1.00 <span class="muted">× 0.48</span>' in write_page(result, Path("pages")).read_text()
    assert "; 0.48 times the teacher's actions per success" in summary(result)


def demonstration(family: str, number: int, actions: int) -> Trajectory:
    turns = [turn(index) for index in range(actions)]
    return trajectory(task(f"miniwob/train/{number}", family), turns, Termination.DONE, "teacher")


def test_curves_count_iterations_over_both_phases(study, finish):
    finish()
    run = read_runs(study)[0].run
    assert run.training.points == [(1, 0.1), (2, 0.2), (3, 0.3)]
    assert run.validation.points == [(0, 0), (1, 0.25), (2, 0.5), (3, 0.75)]


def test_the_episodes_of_rl_are_counted_over_both_phases(result):
    assert {arm.episodes for arm in result.arms} == {60}
    assert "; 60 episodes of RL" in summary(result)


def test_effects_are_the_differences_to_the_base_in_each_seed(result):
    worse = by_name(result)["worse"]
    assert worse.effect.by_seed == [pytest.approx(-12 / 40)] * 3
    assert (worse.rate, worse.sd) == (pytest.approx(9 / 40), pytest.approx(1 / 40))
    assert worse.heldout_effect.diff == pytest.approx((1 - 4) / 8)
    assert (worse.direction, by_name(result)["better"].direction) == ("lower", "higher")
    assert by_name(result)["alike"].direction == "undecided"
    assert by_name(result)["plain"].effect is None


def test_what_rl_adds_is_paired_with_the_policy_before_it(result):
    plain = by_name(result)["plain"]
    assert plain.before == 6 / 40
    assert plain.gain.by_seed == [14 / 40, 15 / 40, 16 / 40]
    assert plain.heldout_gain.diff == (4 - 1) / 8
    assert plain.gain.ci95.low > 0


def test_families_have_their_lowest_and_highest_seed(result):
    link, test = by_name(result)["plain"].families  # 20, 21 and 22 solved, of which the first 20 are of click-test
    assert (test.family, test.before, test.mean, test.lowest) == ("click-test", 6 / 20, 1.0, 1.0)
    assert (link.before, link.mean) == (0.0, pytest.approx(1 / 20))
    assert (link.lowest, link.highest) == (0.0, 2 / 20)


def test_held_out_tasks_are_the_tested_ones_if_there_are_no_others(study, finish):
    finish()
    for table in Path(".waymark/studies/mine").rglob("trajectories.parquet"):
        rows = [row for row in read_table(table, Trajectory) if row.task.split == "heldout"]
        write_table(table, Trajectory, rows)
    result = compare(study, read_runs(study))
    plain, worse = result.arms[:2]
    assert (plain.rate, plain.before, plain.heldout, plain.actions) == (4 / 8, 1 / 8, None, 1.0)
    assert [family.family for family in plain.families] == ["click-link", "click-test"]
    assert (plain.gain.diff, worse.effect.diff) == (3 / 8, (1 - 4) / 8)
    assert "not compared yet" not in summary(result)


def test_a_study_without_arms_measures_how_far_seeds_are_apart(tmp_path, study, finish):
    keys = {"question": "How far?", "recipe": "smoke", "base": "plain", "seeds": [0, 1, 2]}
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(keys))
    finish()
    alone = load_study(path)
    result = compare(alone, read_runs(alone))
    assert [arm.arm for arm in result.arms] == ["plain"]
    assert result.arms[0].sd == pytest.approx(1 / 40)
    html = write_page(result, tmp_path / "pages").read_text()
    assert "What RL adds" in html
    assert "By family" in html
    assert "Learning curves" in html
    assert "Against plain" not in html
    assert "Beside the papers" not in html
    assert (
        summary(result)
        .splitlines()[2]
        .startswith("  plain: 52.5% over 3 of 3 seeds (SD 2.5); 60 episodes of RL; RL − SFT +37.5 [")
    )


def test_our_sign_is_held_against_the_papers(result):
    arms = by_name(result)
    assert (arms["worse"].standing, arms["better"].standing, arms["alike"].standing) == (
        "agrees",
        "differs",
        "no claim",
    )
    assert standing("undecided", PaperClaim(**CLAIM)) == "undecided"
    assert standing(None, PaperClaim(**CLAIM)) == "not measured"
    assert standing("higher", PaperClaim(**CLAIM | {"sign": "mixed"})) == "undecided"


def test_only_finished_runs_are_compared(study, finish):
    finish(worse_seed2="failed", better_seed1="unfinished", better_seed2="blocked")
    result = compare(study, read_runs(study))
    arms = by_name(result)
    assert not result.complete
    assert (arms["worse"].finished, arms["worse"].effect.seeds) == (2, [0, 1])
    assert (arms["better"].effect, arms["better"].standing) == (None, "not measured")
    failed = next(run for run in result.runs if run.state == "failed")
    assert (failed.stage, failed.log, failed.success) == ("train_rl@short", "train_rl@short.log", None)


def test_runs_of_an_arm_that_was_changed_since_are_unfinished(study, finish, tmp_path):
    finish()
    keys = yaml.safe_load((tmp_path / "mine.yaml").read_text())
    keys["arms"]["worse"]["set"]["rl"]["group_size"] = 7
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(keys, sort_keys=False))
    changed = load_study(tmp_path / "mine.yaml")
    states = {run.run.name: run.run.state for run in read_runs(changed)}
    assert {name for name, state in states.items() if state == "unfinished"} == {f"worse-seed{s}" for s in range(3)}
    assert not compare(changed, read_runs(changed)).complete


@pytest.mark.parametrize(
    "removed",
    ["", "data/evaluation/rl/verdicts.parquet", "data/evaluation/sft", "reports/stages/train_rl@long.json"],
)
def test_a_run_whose_results_were_removed_is_unfinished(study, finish, removed):
    finish()
    path = Path(".waymark/studies/mine/worse-seed1", removed)
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    states = {measured.run.name: measured.run.state for measured in read_runs(study)}
    assert [name for name, state in states.items() if state == "unfinished"] == ["worse-seed1"]


@pytest.mark.parametrize(
    ("damaged", "text", "problem"),
    [
        ("runs.json", "{", "mine/runs.json is not JSON; "),
        ("runs.json", '{"plain-seed0": 3}', "mine/runs.json: plain-seed0 is no run ("),
        ("worse-seed1/data/evaluation/rl/trajectories.parquet", "PAR1", "parquet is no table of trajectories that can"),
        ("worse-seed1/data/evaluation/sft/verdicts.parquet", "PAR1", "parquet is no table of verdicts that can be"),
        ("worse-seed1/reports/stages/train_rl@long.json", "{}", "train_rl@long.json is no result of the stage ("),
    ],
)
def test_a_damaged_file_of_a_study_is_named_with_what_to_do(study, finish, capsys, damaged, text, problem):
    finish()
    Path(".waymark/studies/mine", damaged).write_text(text)
    assert main(["study", "mine.yaml", "--page"]) == 1
    error = capsys.readouterr().err
    assert f".waymark/studies/mine/{damaged}" in error
    assert problem in error
    assert "; remove it and run `waymark study mine.yaml`, which makes it again" in error


def test_a_study_of_the_project_is_named_by_its_name_in_an_error(study):
    Path("mine.yaml").rename("recipes/studies/mine.yaml")
    Path(".waymark/studies/mine").mkdir(parents=True)
    Path(".waymark/studies/mine/runs.json").write_text("{")
    with pytest.raises(EvaluationError, match="; remove it and run `waymark study mine`, which makes it again"):
        read_runs(load_study(find_study("mine")))


def test_a_study_that_has_not_begun_has_no_effects(study):
    result = compare(study, read_runs(study))
    assert {run.state for run in result.runs} == {"unfinished"}
    assert {arm.effect for arm in result.arms} == {None}
    assert charts(result) == []


def test_the_differences_between_seeds_have_their_sources(result, tmp_path):
    plain = result.arms[0].variance
    assert plain.keys() == {"success", "before", "gain", "heldout success", "heldout before", "heldout gain"}
    assert plain["success"].observed == pytest.approx(result.arms[0].sd)
    assert (plain["success"].runs, plain["success"].of_tasks, plain["heldout gain"].of_tasks) == (3, 40, 8)
    assert plain["before"].observed == 0  # every seed solves the same tasks before RL
    html = write_page(result, tmp_path / "pages").read_text()
    assert "Where the differences between seeds come from" in html
    assert "<td>new families, RL − SFT</td>" in html


def test_the_page_has_effects_curves_claims_and_what_differs(result, tmp_path):
    html = write_page(result, tmp_path / "pages").read_text()
    assert '<span class="strong">−30.0</span> <span class="muted">[' in html
    assert "lower: -5.2 points" in html
    assert "other &lt;pages&gt; there" in html, "text of a study is escaped"
    assert "Is it 1 &lt; 2?" in html
    assert html.count("<h3>Validation success</h3>") == html.count("<h3>Training reward</h3>") == 1
    assert "rl.group_size: 4" in html
    assert "Bonferroni" in html
    assert "0123456789ab" in html
    assert "<script" not in html


def test_the_page_names_a_failed_run_with_its_log(study, finish, tmp_path):
    finish(worse_seed2="failed")
    html = write_page(compare(study, read_runs(study)), tmp_path).read_text()
    assert "worse-seed2: failed at train_rl@short, log <code>train_rl@short.log</code>" in html
    assert "exit &lt;1&gt;" in html
    assert "incomplete" in html


def test_the_page_names_the_commits_at_which_runs_were_finished(study, finish, tmp_path):
    finish(worse_seed2="unfinished")
    path = Path(".waymark/studies/mine/runs.json")
    commits = {"worse-seed0": f"{'b' * 40}+{'c' * 12}", "worse-seed2": "d" * 40}  # changed files; not finished
    states = {name: state | {"commit": commits.get(name, "a" * 40)} for name, state in read_json(path).items()}
    write_json(path, states)
    html = write_page(compare(study, read_runs(study), commit="e" * 40), tmp_path).read_text()
    assert f"finished at the commits {'a' * 12}, {'b' * 12}+{'c' * 12}." in html
    assert "d" * 12 not in html
    assert "e" * 12 not in html


def test_what_rl_adds_is_shown_although_the_base_is_not_finished(study, finish, tmp_path):
    finish(plain_seed0="failed", plain_seed1="unfinished", plain_seed2="unfinished")
    html = write_page(compare(study, read_runs(study)), tmp_path).read_text()
    gains = html[html.index("What RL adds") : html.index("Where the differences between seeds")]
    assert re.findall(r"<tr><th>(\w+)</th><td>", gains) == ["worse", "better", "alike"]
    families = html[html.index("By family") : html.index("What the arms change")]
    assert re.findall(r"<tr><th>([\w-]+)</th><td>", families) == ["click-link", "click-test"]
    assert "mean before RL →" in families
    assert html.count("<th>After SFT</th>") == 2, "of the arms and of the runs"
    assert "<th>RL episodes</th>" in html


def test_the_json_beside_the_page_is_the_result(result, tmp_path):
    page = write_page(result, tmp_path)
    assert StudyResult.model_validate_json(page.with_suffix(".json").read_text()) == result


def test_the_terminal_shows_a_line_per_arm(result):
    lines = summary(result).splitlines()
    assert lines[2].startswith("  plain: 52.5% over 3 of 3 seeds (SD 2.5); 60 episodes of RL; RL − SFT +37.5 [")
    assert lines[3].startswith("  worse: 22.5% over 3 of 3 seeds (SD 2.5); 60 episodes of RL; RL − SFT +7.5 [")
    assert "; −30.0 [" in lines[3]
    assert lines[3].endswith("; the paper: lower (agrees)")


def test_six_arms_are_drawn_on_two_pairs_of_charts(result):
    worse = by_name(result)["worse"]
    more = [worse.model_copy(update={"arm": f"arm{n}"}) for n in range(6)]
    runs = [run.model_copy(update={"arm": f"arm{n}"}) for n in range(6) for run in result.runs if run.arm == "worse"]
    wide = result.model_copy(update={"arms": [result.arms[0], *more], "runs": [*result.runs, *runs]})
    assert [len(chart.series) for chart in charts(wide)] == [6, 6, 2, 2]


@pytest.mark.slow
def test_the_command_writes_the_page_and_logs_one_parent_run(study, finish, capsys, tmp_path):
    from mlflow import MlflowClient

    finish(alike_seed2="failed")
    for _ in range(2):  # a second call adds no run
        assert main(["study", "mine.yaml", "--page", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out.partition("\n}\n{")[0] + "\n}")
    assert printed == json.loads((tmp_path / "reports/studies/mine.json").read_text())
    client = MlflowClient(f"sqlite:///{tmp_path / 'mlflow/store/mlflow.db'}")
    experiment = client.get_experiment_by_name("waymark")
    runs = client.search_runs([experiment.experiment_id])
    parents = [run for run in runs if "mlflow.parentRunId" not in run.data.tags]
    children = [run for run in runs if run.data.tags.get("mlflow.parentRunId") == parents[0].info.run_id]
    assert (len(parents), len(children)) == (1, 11)
    assert parents[0].data.metrics["worse.effect.diff"] == pytest.approx(-0.3)
    assert parents[0].info.status == "FAILED", "a run of the study failed"
    assert {artifact.path for artifact in client.list_artifacts(parents[0].info.run_id)} == {"mine.html", "mine.json"}
    child = next(run for run in children if run.data.tags["waymark.study.run"] == "worse-seed1")
    assert (child.data.params["arm"], child.data.params["rl.group_size"]) == ("worse", "4")
    curve = client.get_metric_history(child.info.run_id, "validation_success")
    assert [(point.step, point.value) for point in curve] == [(0, 0.0), (1, 0.25), (2, 0.5), (3, 0.75)]


SOLVED_OF_RUN = {"plain": (18, 20), "attempts": (22, 20), "tasks": (20, 12), "both": (24, 16)}
"""Test tasks, of 40, that the runs of the first and of the second seed solve."""


def test_a_study_of_seeds_of_rl_says_what_success_depends_on(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "recipes", tmp_path / "recipes")
    arms = {"attempts": (None, 7), "tasks": (8, 8), "both": (8, 9)}
    keys = {"question": "Which?", "recipe": "smoke", "base": "plain", "seeds": [0, 1, 2]}
    keys["arms"] = {
        name: {"set": {"rl": {"task_seed": of_tasks, "sampling_seed": of_attempts}}}
        for name, (of_tasks, of_attempts) in arms.items()
    }
    Path("mine.yaml").write_text(yaml.safe_dump(keys))
    study = load_study(Path("mine.yaml"))
    measured = [
        Measured(
            run=RunResult(name=run.name, arm=run.arm, seed=run.seed, state="finished"),
            tested={f"t{n}": float(n < (*SOLVED_OF_RUN[run.arm], 30)[run.seed]) for n in range(40)},
            family_of={f"t{n}": "click-test" for n in range(40)},
        )
        for run in study.runs
    ]
    result = compare(study, measured)
    assert result.draws.keys() == {"success"}, "no task is of a family never trained on"
    success = result.draws["success"]
    assert (success.policies, success.draws_of_tasks, success.draws_of_attempts, success.of_tasks) == (3, 2, 2, 40)
    assert success.policy.sd > success.attempts.sd
    assert "What a run's success depends on" in write_page(result, tmp_path / "pages").read_text()
    assert compare(study, measured[:-1]).draws == {}, "one draw of tasks has two runs of attempts, the other has one"
    of_two = [measurement for measurement in measured if measurement.run.arm in ("plain", "tasks")]
    result = compare(study, of_two)
    assert result.draws["success"].attempts is None
    assert "RL's tasks and attempts" in write_page(result, tmp_path / "pages").read_text()


def test_a_study_with_another_arm_has_no_draws(result):
    assert result.draws == {}
