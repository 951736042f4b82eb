"""The report of a run: the JSON that the project promises, and one small page."""

from __future__ import annotations

import io
import json
import os
import re
import shutil

import pytest
from PIL import Image as Pillow

from components.evaluation import ActionSummary, EvaluationError
from components.evaluation.actions import MeanActions
from components.evaluation.comparison import PairedDifference
from components.judge.labelled_verdicts import LabelledVerdict, LabelledVerdicts
from components.records import Image, Outcome, Trajectory, Verdict
from components.reports import build, read_episodes, read_results, read_teacher, with_plan, write_report
from components.reports.report import MAX_BYTES
from components.statistics import Interval
from components.store import read_json, read_table, write_json, write_table
from tests.evaluation.run_records import observation
from tests.reports.conftest import MEANING

TEACHER = ActionSummary(mean=2.0, n=2, families={"enter-text": MeanActions(mean=2.0, n=2)})


@pytest.fixture(scope="module")
def made(run_on_disk):
    results, evaluated = read_results(run_on_disk.stages, run_on_disk.curves), read_episodes(run_on_disk.evaluation)
    return results, evaluated, build(results, evaluated, TEACHER, 500, 0, "this")


@pytest.fixture(scope="module")
def page(run_on_disk, made, tmp_path_factory):
    results, evaluated, report = made
    path = tmp_path_factory.mktemp("page") / "demo.html"
    write_report(report, results, evaluated, run_on_disk.evaluation, "demo", path)
    return path.read_text()


def test_the_json_has_the_promised_keys(made):
    value = json.loads(json.dumps(made[2].model_dump(mode="json"), allow_nan=False))
    assert list(value) == ["wall_s", "stages", "tasks", "success", "paired", "judge", "rewarding_judge", "rl"]
    assert value["rewarding_judge"] is None, "rules rewarded"
    assert value["tasks"] == {"collected": 1132, "filtered": 864, "dedup_sft": 610, "dedup_rl": 402, "rejected": 3}
    assert list(value["success"]) == ["base", "sft", "rl"]
    success = {"rate", "n", "ci95", "rate_without_aborted", "completed", "actions", "actions_of_teacher"}
    assert {key for one in value["success"].values() for key in one} == success
    assert {name: list(one) for name, one in value["paired"].items()} == {
        "sft_minus_base": ["diff", "ci95", "n", "p_value"],
        "rl_minus_sft": ["diff", "ci95", "n", "p_value"],
    }
    judge = {"n", "accuracy", "precision", "recall", "f1", "majority_accuracy", "untrained_accuracy"}
    assert set(value["judge"]) == judge
    assert value["stages"]["train_sft"] == {"wall_s": 61.0, "ran": True, "planned_s": None}
    assert [name for name, one in value["stages"].items() if not one["ran"]] == ["collect_tasks"]


def test_planned_seconds_stand_beside_those_that_a_stage_took(run_on_disk, made, tmp_path):
    results, evaluated, report = made
    planned = with_plan(report, {"train_sft": 125.0, "another": 3.0, "evaluate@rl": 50.0}, champion_s=20.0)
    assert planned.stages["evaluate@rl"].planned_s == 70.0
    assert (planned.stages["train_sft"].wall_s, planned.stages["train_sft"].planned_s) == (61.0, 125.0)
    assert planned.stages["collect_tasks"].planned_s is None
    write_report(planned, results, evaluated, run_on_disk.evaluation, "demo", tmp_path / "demo.html")
    assert "1 min 1 s (planned 2 min 5 s)" in (tmp_path / "demo.html").read_text()


def test_held_out_families_are_compared_where_there_are_no_others(made):
    results, evaluated, _ = made
    heldout = {policy: [part for part in parts if part.split == "heldout"] for policy, parts in evaluated.items()}
    paired = build(results, heldout, TEACHER, 500, 0, "this").paired["rl_minus_sft"]
    rates = {policy: sum(bool(part.success) for part in parts) / len(parts) for policy, parts in heldout.items()}
    assert paired.diff == pytest.approx(rates["rl"] - rates["sft"])


@pytest.mark.parametrize(
    ("interval", "tag"), [((-0.3, -0.1), "below"), ((-0.3, 0.1), "reaches"), ((0.1, 0.3), "above")]
)
def test_the_page_says_on_which_side_of_0_an_interval_is(run_on_disk, made, tmp_path, interval, tag):
    results, evaluated, report = made
    pair = PairedDifference(diff=sum(interval) / 2, ci95=Interval(*interval), n=20, p_value=0.5)
    changed = report.model_copy(update={"paired": {"sft_minus_base": pair, "rl_minus_sft": pair}})
    write_report(changed, results, evaluated, run_on_disk.evaluation, "demo", tmp_path / "demo.html")
    assert (tmp_path / "demo.html").read_text().count(f"interval {tag} 0<") == 2


def test_the_page_says_what_a_success_is_and_what_it_took(made, page):
    rl = made[2].success["rl"]
    assert rl.completed == rl.rate, "no episode of this run was overdone"
    assert rl.actions_of_teacher == 1.0, "two clicks for a text, as the teacher"
    assert f"in miniwob, {MEANING}".replace("'", "&#39;") in page
    assert "× 1.00" in page


def test_the_teachers_actions_are_read_from_its_tables(run_on_disk, tmp_path):
    shutil.copytree(run_on_disk.evaluation / "rl", tmp_path / "teacher")
    made, again = read_teacher(tmp_path / "teacher"), read_results(run_on_disk.stages, run_on_disk.curves).success["rl"]
    assert made.families["enter-text"] == again.actions.families["enter-text"]


def test_wall_time_counts_parallel_stages_once_and_leaves_out_the_report(made):
    _, _, report = made
    # 9.5 + 0.4 + 21 + 31 + 61 + 88 + 2 x 300 + 38.5 + 39.5 + 40.5, and 30 of each evaluation beside the one before
    assert report.wall_s == pytest.approx(929.4 - 60)
    assert "report" not in report.stages


def test_rl_iterations_run_through_both_phases(made):
    rl = made[2].rl
    assert [one.iteration for one in rl] == list(range(1, 23))
    assert [one.phase for one in rl] == ["short"] * 14 + ["long"] * 8


def test_the_judges_reward_is_drawn_beside_the_true_success(run_on_disk, made, page, tmp_path):
    """The judge's reward rises from 0.5 by 0.02 an iteration, while the true success falls from 0.5 by 0.01."""
    results, evaluated, report = made
    assert "true success" not in page, "rules rewarded"
    audited = [
        one.model_copy(
            update={"judge_success": 0.5 + 0.02 * index, "audited_success": 0.5 - 0.01 * index}
            | {"judge_precision": 0.9 - 0.01 * index, "judge_agreement": 0.95}
        )
        for index, one in enumerate(results.iterations)
    ]
    changed = results.model_copy(update={"iterations": audited})
    write_report(report, changed, evaluated, run_on_disk.evaluation, "demo", tmp_path / "demo.html")
    text = (tmp_path / "demo.html").read_text()
    assert "Judge&#39;s reward and true success" in text
    assert "called success by the judge at 22: 0.92" in text
    assert "by the auditor at 22: 0.29" in text
    assert "precision at 22: 0.69" in text
    assert "agreement at 1: 0.95" in text


def test_held_out_tasks_without_verdicts_are_not_measured_on_the_page(run_on_disk, made, tmp_path):
    results, evaluated, report = made
    rl = results.success["rl"].model_copy(update={"heldout": None, "heldout_problems": ["none of 24 was judged"]})
    changed = results.model_copy(update={"success": results.success | {"rl": rl}})
    write_report(report, changed, evaluated, run_on_disk.evaluation, "demo", tmp_path / "demo.html")
    text = (tmp_path / "demo.html").read_text()
    assert re.search(r"RL, new families</th>[^\n]*not measured</span> none of 24 was judged", text)
    assert text.count("new families</th>") == 3
    assert "Families never trained on" not in text


def test_what_an_iteration_could_not_measure_is_null(made):
    one = made[2].rl[9]
    assert (one.ratio_mean, one.clip_fraction) == (None, None)


def test_the_paired_difference_is_that_of_the_rates(made):
    _, _, report = made
    assert report.paired["rl_minus_sft"].diff == pytest.approx(report.success["rl"].rate - report.success["sft"].rate)


def test_an_unjudged_task_is_in_no_pair_and_the_page_names_each_n(run_on_disk, made, page, tmp_path):
    """One answered task of SFT loses its verdict: SFT has 107 tasks of 108, and so has each pair."""
    lead = r'<p class="lead">([^:]+): ([^,]+),'
    assert re.search(lead, page)[1] == "Success on the same 108 tasks, none of them seen in training"
    results, evaluated, _ = made
    (first, *others) = evaluated["sft"]
    assert first.split != "heldout"
    unjudged = evaluated | {"sft": [first.model_copy(update={"success": None}), *others]}
    sft = results.success["sft"].model_copy(update={"n": 107, "unjudged": 1})
    changed = results.model_copy(update={"success": results.success | {"sft": sft}})
    report = build(changed, unjudged, TEACHER, 500, 0, "this")
    assert {name: pair.n for name, pair in report.paired.items()} == {"sft_minus_base": 107, "rl_minus_sft": 107}
    write_report(report, changed, evaluated, run_on_disk.evaluation, "demo", tmp_path / "demo.html")
    text = (tmp_path / "demo.html").read_text()
    assert re.search(lead, text)[1] == "Success on the tasks with a verdict, none of them seen in training"
    assert f"{100 * report.success['sft'].rate:.1f}% of 107 after supervised fine-tuning" in text
    assert f"{100 * report.success['rl'].rate:.1f}% of 108 after online RL" in text
    assert text.count("paired on 107 tasks") == 2


def test_families_never_trained_on_are_not_in_the_headline(made):
    results, _, report = made
    assert report.success["rl"].n == 108  # 9 families of 12; two more families are held out
    assert results.success["rl"].heldout.n == 24


def test_the_page_is_one_small_file_without_scripts_or_links(page):
    assert len(page.encode()) < MAX_BYTES
    assert "<script" not in page
    assert re.findall(r'(?:src|href)="(?!data:)', page) == []


def test_the_page_shows_what_was_measured_and_marks_what_was_published(page, made):
    _, _, report = made
    assert f"{100 * report.success['rl'].rate:.1f}%" in page
    shape, leaders = page.index("For comparison"), page.index("Leaderboard: this run")
    judges = page.index("Published: OpenWebRL, table 3")
    published = '<span class="tag">published</span>'
    assert page[shape:leaders].count(published) == 6
    assert page[page.index(">majority class<") : judges].count(published) == 2
    for word in (
        "enter-text",
        "never trained on",
        "OpenWebRL-4B-SFT",
        "Mean reward",
        "evaluation overlap",
        "taken for success",
    ):
        assert word in page


def test_the_page_compares_the_judge_with_labels_with_intervals(page):
    assert "vote of 3 samples" in page
    assert "87.3% – 97.3%" in page
    assert "Cohen&#39;s kappa" in page or "Cohen's kappa" in page


def test_the_page_shows_the_agreement_of_people_and_the_rewarding_judge(run_on_disk, tmp_path):
    """Ten labels: of four successes the judge sees three, of five failures it rewards one, and one is unreadable."""
    said = {Outcome.SUCCESS: "sssf", Outcome.FAILURE: "sffffu"}
    outcomes = {outcome.value[0]: outcome for outcome in (Outcome.SUCCESS, Outcome.FAILURE, Outcome.UNPARSED)}
    cases = [
        LabelledVerdict(
            task_id=f"{label}-{place}",
            label=label,
            verdict=Verdict(
                trajectory_id=f"{label}-{place}",
                outcome=outcomes[letter],
                rationale="",
                judge="gpt-x",
                judge_version="1",
            ),
        )
        for label, letters in said.items()
        for place, letter in enumerate(letters)
    ]
    shutil.copytree(run_on_disk.stages, tmp_path / "stages")
    path = tmp_path / "stages" / "train_rl@long.json"
    compared = LabelledVerdicts(judge="gpt-x", file="mine.csv", verdicts=cases)
    write_json(path, read_json(path) | {"judge_verdicts": compared.model_dump(mode="json")})
    results, evaluated = read_results(tmp_path / "stages", run_on_disk.curves), read_episodes(run_on_disk.evaluation)
    report = build(results, evaluated, TEACHER, 500, 0, "this")
    measured = report.rewarding_judge.calibration
    assert (measured.n, measured.accuracy.value, measured.unparsed) == (10, 0.7, 1)
    # tp 3, fp 2 with the unreadable one, tn 4, fn 1: chance agrees on (5 x 4 + 5 x 6) / 100 = 0.5, kappa is 0.2 / 0.5
    assert measured.kappa.value == pytest.approx(0.4)
    assert (measured.false_positives.rate.value, measured.false_positives.n) == (1 / 5, 5)
    write_report(report, results, evaluated, run_on_disk.evaluation, "people", tmp_path / "people.html")
    page = (tmp_path / "people.html").read_text()
    tile = page[page.index("Rewarding judge's false positives") : page.index("<h2>Success")]
    low, high = measured.false_positives.rate.ci95
    assert "20.0%" in tile
    assert f"{100 * low:.1f}% – {100 * high:.1f}%" in tile
    shown = page[page.index("The judge that rewarded") : page.index("Example trajectories")]
    assert "gpt-x on 10 trajectories of 10 tasks, beside the labels of <code>mine.csv</code>" in shown
    rows = re.findall(r"<th>labelled (\w+)</th>(.*?)</tr>", shown)
    assert [(label, re.findall(r">(\d+)<", cells)) for label, cells in rows] == [
        ("success", ["3", "1", "0"]),
        ("failure", ["1", "4", "1"]),
    ]
    assert "0.40<br>" in shown


def test_a_run_that_rules_reward_has_no_section_on_a_rewarding_judge(page):
    assert "The judge that rewarded" not in page
    assert "Rewarding judge's false positives" not in page


def test_the_page_shows_the_funnel_from_attempts_to_demonstrations(page):
    for said in ("to the 96 that SFT learned from, on 9 websites", "less: not the task", "−60", "less: website cap"):
        assert said in page
    assert "Selection, iteration" not in page, "no round of rejection fine-tuning was run"


def test_the_page_shows_what_a_round_of_rejection_fine_tuning_chose(run_on_disk, tmp_path):
    shutil.copytree(run_on_disk.stages, tmp_path / "stages")
    path = tmp_path / "stages" / "train_rl@short.json"
    written = read_json(path)
    funnel = {
        "selection_attempts": 448.0,
        "selection_masked": 2.0,
        "selection_question_never_right": 131.0,
        "selection_chosen": 315.0,
    }
    written["iterations"] = [written["iterations"][0] | funnel]
    write_json(path, written)
    results = read_results(tmp_path / "stages", run_on_disk.curves)
    assert results.iterations[0].selection == {"attempts": 448, "masked": 2, "question_never_right": 131, "chosen": 315}
    assert results.iterations[1].selection == {}
    evaluated = read_episodes(run_on_disk.evaluation)
    report = build(results, evaluated, TEACHER, 500, 0, "this")
    write_report(report, results, evaluated, run_on_disk.evaluation, "rft", tmp_path / "rft.html")
    page = (tmp_path / "rft.html").read_text()
    shown = page[page.index("Selection, iteration 1") : page.index("Where the time went")]
    assert [shown.count(text) for text in ("448", "446", "−2<", "less: question never right", "315", "−131")] == [1] * 6


def test_the_page_shows_validations_beside_training_by_family(page):
    assert "Success on validation tasks" in page
    assert "iteration 8: the last, and the best on validation (45.0%)" in page
    assert "the phase went back to iteration 4 by hand" in page
    assert "long: the phase ended early: no trajectory succeeds. Published is iteration 8" in page
    assert "2 checkpoints took 1.0 s; those kept have 36 MB" in page, "a checkpoint that was written twice counts once"
    (row,) = re.findall(r"<th>focus-text <span[^>]*>held out</span></th>(.*?)</tr>", page, re.DOTALL)
    assert row.count('class="cell"') == 4, "two validations of each phase"
    assert "20 of 48" in row
    assert re.sub("<.*?>", " ", row).count("of 4  10% – 90%") == 4, "tasks and interval are text of the cell"


def test_the_page_names_the_families_that_validations_warn_of(page):
    text = re.sub("<.*?>", "", page)
    assert "warning long, iteration 8: click-tab falls: 94% of 15 training groups at iteration 0, now 17% of 8." in text
    assert "short: no warning of a family that falls or stalls. What no warning could name: the 4 held-out" in text


@pytest.mark.parametrize("published", [True, False])
def test_a_phase_that_was_not_validated_says_how_it_ended(run_on_disk, tmp_path, published):
    shutil.copytree(run_on_disk.stages, tmp_path / "stages")
    for path in (tmp_path / "stages").glob("train_rl@*.json"):
        left_out = {"validation", "families"} | (set() if published else {"published"})
        write_json(path, {key: value for key, value in read_json(path).items() if key not in left_out})
    results, evaluated = read_results(tmp_path / "stages", run_on_disk.curves), read_episodes(run_on_disk.evaluation)
    report = build(results, evaluated, TEACHER, 500, 0, "this")
    write_report(report, results, evaluated, run_on_disk.evaluation, "demo", tmp_path / "demo.html")
    page = (tmp_path / "demo.html").read_text()
    assert "long: the phase ended early: no trajectory succeeds." in page
    assert "After iteration 7 the phase went back to iteration 4 by hand." in page
    assert "2 checkpoints took 1.0 s; those kept have 36 MB." in page
    assert page.count("is iteration 8: the last") == published
    assert "Validation during RL" not in page


def test_the_page_shows_eight_trajectories(page):
    assert page.count('<article class="example') == 8


@pytest.mark.slow
def test_a_page_of_large_screenshots_still_fits(run_on_disk, made, tmp_path):
    results, _, report = made
    noisy = Image.of(_noise())
    for policy in ("base", "sft", "rl"):
        table = run_on_disk.evaluation / policy / "trajectories.parquet"
        kept = [_enlarged(one, noisy) for one in read_table(table, Trajectory)[:9]]
        write_table(tmp_path / policy / "trajectories.parquet", Trajectory, kept)
        shutil.copy(table.with_name("verdicts.parquet"), tmp_path / policy)
    size = write_report(report, results, read_episodes(tmp_path), tmp_path, "big", tmp_path / "big.html")
    assert size < MAX_BYTES


def test_a_stage_that_never_ran_is_named_with_what_to_run(run_on_disk, tmp_path):
    shutil.copytree(run_on_disk.stages, tmp_path / "stages")
    (tmp_path / "stages" / "distill_judge.json").unlink()
    with pytest.raises(EvaluationError, match="stage distill_judge has no result yet; run `dvc repro distill_judge`"):
        read_results(tmp_path / "stages", run_on_disk.curves)


def test_a_stage_result_that_lacks_a_number_is_refused_with_its_name(run_on_disk, tmp_path):
    shutil.copytree(run_on_disk.stages, tmp_path / "stages")
    (tmp_path / "stages" / "dedup_tasks.json").write_text('{"sft": 3, "wall_s": 1}')
    with pytest.raises(EvaluationError, match=r"result of stage dedup_tasks cannot be reported \(rl: Field required\)"):
        read_results(tmp_path / "stages", run_on_disk.curves)


@pytest.mark.parametrize(("text", "problem"), [("{", "is not JSON"), ("[]", "is not a JSON object")])
def test_a_damaged_result_of_a_stage_is_named_with_what_to_run(run_on_disk, tmp_path, text, problem):
    shutil.copytree(run_on_disk.stages, tmp_path / "stages")
    (tmp_path / "stages" / "dedup_tasks.json").write_text(text)
    with pytest.raises(EvaluationError, match=rf"json {problem}; run `dvc repro --force --single-item dedup_tasks`"):
        read_results(tmp_path / "stages", run_on_disk.curves)


def test_a_policy_that_was_not_evaluated_is_named(run_on_disk, tmp_path):
    shutil.copytree(run_on_disk.evaluation, tmp_path / "evaluation")
    shutil.rmtree(tmp_path / "evaluation" / "sft")
    with pytest.raises(EvaluationError, match="run `dvc repro evaluate@sft`"):
        read_episodes(tmp_path / "evaluation")


def _noise() -> bytes:
    """A 1280 x 720 PNG that does not compress: 2.8 MB."""
    buffer = io.BytesIO()
    Pillow.frombytes("RGB", (1280, 720), os.urandom(1280 * 720 * 3)).save(buffer, "PNG")
    return buffer.getvalue()


def _enlarged(one: Trajectory, screenshot: Image) -> Trajectory:
    seen = observation(viewport=(1280, 720), screenshot=screenshot)
    return one.model_copy(update={"turns": [turn.model_copy(update={"observation": seen}) for turn in one.turns]})
