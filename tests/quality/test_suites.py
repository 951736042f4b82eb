"""Every rule of every suite: a good table passes, and one that breaks only this rule does not."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from components.quality import QualityError, check, task_frame, trajectory_frame, verdict_frame
from components.records import ErrorCause, Outcome, Termination, Trajectory, Verdict
from tests.samples import a_task, a_trajectory, a_verdict

ROOT = Path(__file__).parent.parent.parent
TASKS = [*(a_task(n) for n in range(3)), a_task(100, split="eval"), a_task(200, split="heldout", website="login-user")]
TRAJECTORIES = [a_trajectory(a_task(n)) for n in range(4)]
VERDICTS = [a_verdict(t, o) for t, o in zip(TRAJECTORIES, [Outcome.SUCCESS, *[Outcome.FAILURE] * 3], strict=True)]
EVALUATION = task_frame(TASKS[3:])
LIMITS = {"min_positive": 0.2, "max_positive": 0.6, "max_unanswered": 0.25}


def changed(frame: pd.DataFrame, row: int, **cells: object) -> pd.DataFrame:
    frame = frame.copy()
    for column, value in cells.items():
        frame.loc[frame.index[row], column] = value
    return frame


def failed(trajectory: Trajectory, cause: ErrorCause) -> Verdict:
    return a_verdict(trajectory, Outcome.ERROR, error_cause=cause)


def refusal(tmp_path: Path, suite: str, frame: pd.DataFrame, **context: object) -> str:
    with pytest.raises(QualityError) as error:
        check(suite, frame, docs_dir=tmp_path, **context)
    return str(error.value)


@pytest.mark.slow
def test_good_tables_pass_and_write_nothing(tmp_path: Path) -> None:
    frame = trajectory_frame(TRAJECTORIES)
    check("tasks", task_frame(TASKS), docs_dir=tmp_path)
    check("trajectories", frame, docs_dir=tmp_path, expected=4)
    limits = {"min_positive": 0.25, "max_positive": 0.5, "max_unanswered": 0.0}
    check("verdicts", verdict_frame(VERDICTS), docs_dir=tmp_path, trajectories=frame, **limits)
    check("training", frame, docs_dir=tmp_path, evaluation=EVALUATION, max_rows=4)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (task_frame([]), "expect_table_row_count_to_be_between {'min_value': 1}: observed 0"),
        (
            changed(task_frame(TASKS), 0, task_id=TASKS[1].task_id),
            "expect_column_values_to_be_unique task_id: observed 2 of 5 rows, such as miniwob/click-button/1",
        ),
        (changed(task_frame(TASKS), 0, task_id=None), "expect_column_values_to_not_be_null task_id: observed 1 of 5"),
        (changed(task_frame(TASKS), 0, intent=" "), "expect_column_values_to_match_regex intent"),
        (changed(task_frame(TASKS), 0, intent=None), "expect_column_values_to_not_be_null intent"),
        (changed(task_frame(TASKS), 0, start_url=""), "expect_column_values_to_match_regex start_url"),
        (
            changed(task_frame(TASKS), 0, split="test"),
            "expect_column_values_to_be_in_set split {'value_set': ['train', 'rl', 'eval', 'heldout', "
            "'validation', 'heldout_validation']}: observed 1 of 5 "
            "rows, such as test",
        ),
        (
            task_frame([*TASKS, a_task(1, task_id="another", split="eval")]),
            "expect_column_values_to_be_null also_trained_on: observed 1 of 6 rows, such as another",
        ),
        (
            task_frame([*TASKS, a_task(1, seed=None, website="other.com", split="eval")]),
            "expect_column_values_to_be_null also_trained_on: observed 1 of 6 rows, such as miniwob/click-button/1",
        ),
    ],
)
def test_a_broken_promise_about_tasks_is_named(tmp_path: Path, frame: pd.DataFrame, said: str) -> None:
    assert said in refusal(tmp_path, "tasks", frame)


def test_a_table_without_training_tasks_is_refused_where_they_are_needed(tmp_path: Path) -> None:
    check("tasks", task_frame(TASKS), docs_dir=tmp_path, min_training=3)
    said = refusal(tmp_path, "tasks", EVALUATION, min_training=1)
    assert "expect_column_sum_to_be_between training_tasks {'min_value': 1.0}: observed 0" in said
    check("tasks", EVALUATION, docs_dir=tmp_path)


def test_an_overlap_is_no_error_before_training_tasks_are_dropped(tmp_path: Path) -> None:
    overlapping = task_frame([*TASKS, a_task(1, task_id="another", split="eval")])
    check("tasks", overlapping, docs_dir=tmp_path, may_overlap=True)
    assert "also_trained_on" in refusal(tmp_path, "tasks", overlapping)


def test_seeds_beside_empty_ones_keep_all_their_digits() -> None:
    seeds = [None, 2**60 + 1, 2**60 + 2]
    frame = task_frame([a_task(n).model_copy(update={"seed": seed}) for n, seed in enumerate(seeds)])
    assert [None if pd.isna(seed) else seed for seed in frame["seed"]] == seeds


def test_tasks_without_a_seed_overlap_only_by_their_id(tmp_path: Path) -> None:
    same_site = [a_task(n, website="example.com", seed=None, split=split) for n, split in enumerate(["train", "eval"])]
    check("tasks", task_frame(same_site), docs_dir=tmp_path)


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (trajectory_frame(TRAJECTORIES[:3]), "expect_table_row_count_to_equal {'value': 4}: observed 3"),
        (trajectory_frame([*TRAJECTORIES[:3], TRAJECTORIES[0]]), "expect_column_values_to_be_unique trajectory_id"),
        (
            changed(trajectory_frame(TRAJECTORIES), 2, termination="bored"),
            "expect_column_values_to_be_in_set termination",
        ),
        (
            changed(trajectory_frame(TRAJECTORIES), 2, termination=None),
            "expect_column_values_to_not_be_null termination",
        ),
        (changed(trajectory_frame(TRAJECTORIES), 2, turns=-1), "expect_column_values_to_be_between turns"),
        (changed(trajectory_frame(TRAJECTORIES), 2, turns=None), "expect_column_values_to_not_be_null turns"),
    ],
)
def test_a_broken_promise_about_trajectories_is_named(tmp_path: Path, frame: pd.DataFrame, said: str) -> None:
    assert said in refusal(tmp_path, "trajectories", frame, expected=4)


def test_every_termination_is_known_and_an_episode_may_have_no_turn(tmp_path: Path) -> None:
    rollouts = [a_trajectory(a_task(n), turns=0, termination=ending) for n, ending in enumerate(Termination)]
    check("trajectories", trajectory_frame(rollouts), docs_dir=tmp_path, expected=len(Termination))


def test_rollouts_that_the_environment_mostly_ended_are_refused(tmp_path: Path) -> None:
    ended = [a_trajectory(a_task(n), turns=0, termination=Termination.ENV_INIT_ERROR) for n in range(4, 6)]
    frame = trajectory_frame([*TRAJECTORIES, *ended])
    check("trajectories", frame, docs_dir=tmp_path, expected=6, max_aborted=0.34)
    said = refusal(tmp_path, "trajectories", frame, expected=6, max_aborted=0.25)
    assert "expect_column_mean_to_be_between aborted {'max_value': 0.25}: observed 0.33" in said
    assert "most often by env_init_error: fix the cause and run again" in said
    check("trajectories", trajectory_frame(TRAJECTORIES), docs_dir=tmp_path, expected=4, max_aborted=0.0)


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        (VERDICTS[:3], "expect_table_row_count_to_equal {'value': 4}: observed 3"),
        ([*VERDICTS[:3], VERDICTS[0]], "expect_column_values_to_be_unique trajectory_id"),
        (
            [*VERDICTS[:3], VERDICTS[3].model_copy(update={"trajectory_id": "stranger"})],
            "expect_column_values_to_be_null no_such_trajectory: observed 1 of 4 rows, such as stranger",
        ),
        (
            [a_verdict(t, Outcome.FAILURE) for t in TRAJECTORIES],
            "expect_column_mean_to_be_between positive {'min_value': 0.2, 'max_value': 0.6}: observed 0.0",
        ),
        (
            # 2 of the 3 that have a label, though 2 of 4 rows
            [a_verdict(t, o) for t, o in zip(TRAJECTORIES, ["success", "success", "failure", "error"], strict=True)],
            "expect_column_mean_to_be_between positive {'min_value': 0.2, 'max_value': 0.6}: observed 0.66",
        ),
        (
            [a_verdict(t, Outcome.UNPARSED) for t in TRAJECTORIES],
            "expect_column_mean_to_be_between positive {'min_value': 0.2, 'max_value': 0.6}: observed None",
        ),
    ],
)
def test_a_broken_promise_about_verdicts_is_named(tmp_path: Path, verdicts: list, said: str) -> None:
    context = {"trajectories": trajectory_frame(TRAJECTORIES), **LIMITS}
    assert said in refusal(tmp_path, "verdicts", verdict_frame(verdicts), **context)


@pytest.mark.parametrize(
    ("suite", "frame", "context", "fix"),
    [
        (
            "verdicts",
            verdict_frame(a_verdict(trajectory) for trajectory in TRAJECTORIES),
            {},
            r"expect_column_mean_to_be_between positive .*: observed 1\.0\n    too many .*raise quality\.max_positive",
        ),
        (
            "verdicts",
            verdict_frame(a_verdict(trajectory, Outcome.FAILURE) for trajectory in TRAJECTORIES),
            {},
            r"observed 0\.0\n    too few attempts succeed: .*lower quality\.min_positive",
        ),
        (
            "verdicts",
            verdict_frame(a_verdict(trajectory, Outcome.UNPARSED) for trajectory in TRAJECTORIES),
            {},
            r"observed None\n    no trajectory is judged .*judge\.labels",
        ),
        (
            "verdicts",
            verdict_frame([*VERDICTS[:2], *(failed(one, ErrorCause.ENDPOINT) for one in TRAJECTORIES[2:])]),
            {},
            r"observed 0\.5\n    the judge's endpoint gave too few answers: .*raise quality\.max_unanswered",
        ),
        ("tasks", EVALUATION, {"min_training": 1}, r"observed 0\n    too few training tasks are left: .*tasks\.files"),
        ("training", trajectory_frame([]), {}, r"observed 0\n    nothing is left to train on: .*curate"),
        (
            "training",
            trajectory_frame([a_trajectory(TASKS[3])]),
            {},
            r"\n    the model is evaluated on these tasks: .*curate\.demonstrations",
        ),
    ],
    ids=["too many", "too few", "no label", "outage", "no training task", "no trajectory", "evaluated"],
)
def test_a_failed_expectation_says_what_to_change(
    tmp_path: Path, suite: str, frame: pd.DataFrame, context: dict, fix: str
) -> None:
    contexts: dict[str, dict] = {
        "verdicts": {"trajectories": trajectory_frame(TRAJECTORIES), **LIMITS},
        "training": {"evaluation": EVALUATION, "max_rows": 4},
    }
    assert re.search(fix, refusal(tmp_path, suite, frame, **contexts.get(suite, {}), **context))


def test_an_unknown_outcome_is_named(tmp_path: Path) -> None:
    frame = changed(verdict_frame(VERDICTS), 0, outcome="maybe", positive=0.0)
    context = {"trajectories": trajectory_frame(TRAJECTORIES), **LIMITS, "min_positive": 0.0}
    assert "expect_column_values_to_be_in_set outcome" in refusal(tmp_path, "verdicts", frame, **context)


def test_labels_are_refused_where_the_judge_often_did_not_answer(tmp_path: Path) -> None:
    unanswered = [failed(trajectory, ErrorCause.ENDPOINT) for trajectory in TRAJECTORIES[2:]]
    context = {"trajectories": trajectory_frame(TRAJECTORIES), **LIMITS, "min_positive": 0.0, "max_positive": 1.0}
    said = refusal(tmp_path, "verdicts", verdict_frame([*VERDICTS[:2], *unanswered]), **context)
    assert "expect_column_mean_to_be_between unanswered {'max_value': 0.25}: observed 0.5" in said
    check("verdicts", verdict_frame([*VERDICTS[:3], unanswered[1]]), docs_dir=tmp_path, **context)


def test_labels_are_refused_where_many_answers_could_not_be_read(tmp_path: Path) -> None:
    unread = [a_verdict(trajectory, Outcome.UNPARSED) for trajectory in TRAJECTORIES[2:]]
    context = {"trajectories": trajectory_frame(TRAJECTORIES), **LIMITS}
    said = refusal(tmp_path, "verdicts", verdict_frame([*VERDICTS[:2], *unread]), **context)
    assert "expect_column_mean_to_be_between unanswered {'max_value': 0.25}: observed 0.5" in said
    assert "raise judge.model.max_answer_tokens" in said
    check("verdicts", verdict_frame([*VERDICTS[:3], unread[1]]), docs_dir=tmp_path, **context)


def test_answers_count_only_for_trajectories_that_a_judge_can_decide(tmp_path: Path) -> None:
    cut = [a_trajectory(a_task(n), termination=Termination.MAX_STEPS) for n in range(10, 20)]
    lost = [a_trajectory(a_task(n), termination=Termination.ENV_ERROR) for n in range(20, 30)]
    frame = trajectory_frame([*TRAJECTORIES, *cut, *lost])
    ended = [*(a_verdict(t, Outcome.FAILURE) for t in cut), *(failed(t, ErrorCause.ENVIRONMENT) for t in lost)]
    context = {"trajectories": frame, **LIMITS, "min_positive": 0.0, "max_positive": 1.0}
    by_design = [*VERDICTS[:1], *(failed(trajectory, ErrorCause.NO_RULE) for trajectory in TRAJECTORIES[1:])]
    check("verdicts", verdict_frame([*by_design, *ended]), docs_dir=tmp_path, **context)
    unanswered = [*VERDICTS[:2], *(failed(trajectory, ErrorCause.ENDPOINT) for trajectory in TRAJECTORIES[2:])]
    assert "unanswered {'max_value': 0.25}: observed 0.5" in refusal(
        tmp_path, "verdicts", verdict_frame([*unanswered, *ended]), **context
    )


def test_failures_without_an_answer_need_no_judge_that_answers(tmp_path: Path) -> None:
    cut = [a_trajectory(a_task(n), termination=Termination.MAX_STEPS) for n in range(3)]
    context = {"trajectories": trajectory_frame(cut), **LIMITS, "min_positive": 0.0}
    failures = verdict_frame(a_verdict(trajectory, Outcome.FAILURE) for trajectory in cut)
    check("verdicts", failures, docs_dir=tmp_path, **context)


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (trajectory_frame([]), "expect_table_row_count_to_be_between {'min_value': 1, 'max_value': 4}: observed 0"),
        (
            trajectory_frame([a_trajectory(a_task(n)) for n in range(5)]),
            "expect_table_row_count_to_be_between {'min_value': 1, 'max_value': 4}: observed 5",
        ),
        (trajectory_frame([TRAJECTORIES[0]] * 2), "expect_column_values_to_be_unique trajectory_id"),
        (
            trajectory_frame([a_trajectory(TASKS[3])]),
            "expect_column_values_to_be_null evaluated_on: observed 1 of 1 rows, such as miniwob/click-button/100",
        ),
        (
            trajectory_frame([a_trajectory(a_task(100, task_id="renamed"))]),
            "expect_column_values_to_be_null evaluated_on: observed 1 of 1 rows, such as renamed",
        ),
        (
            trajectory_frame([a_trajectory(turns=0)]),
            "between response_characters {'min_value': 1.0}: observed 1 of 1 rows, such as 0",
        ),
    ],
)
def test_a_broken_promise_about_training_tables_is_named(tmp_path: Path, frame: pd.DataFrame, said: str) -> None:
    assert said in refusal(tmp_path, "training", frame, evaluation=EVALUATION, max_rows=4)


def test_a_judge_may_learn_from_a_failure_without_a_response(tmp_path: Path) -> None:
    frame = trajectory_frame([*TRAJECTORIES[:3], a_trajectory(TASKS[3], turns=0, termination="context_length")])
    context = {"evaluation": EVALUATION.iloc[1:], "max_rows": 4}
    check("training", frame, docs_dir=tmp_path, **context, learns_responses=False)
    assert "response_characters" in refusal(tmp_path, "training", frame, **context)


def test_the_refusal_names_a_page_that_exists_and_a_later_pass_removes_it(tmp_path: Path) -> None:
    message = refusal(tmp_path / "reports", "trajectories", trajectory_frame(TRAJECTORIES), expected=5)
    page = Path(message.splitlines()[-1].removeprefix("see "))
    assert page == tmp_path / "reports" / "trajectories" / "index.html"
    (validation,) = (page.parent / "validations").rglob("*.html")
    assert "Must have exactly" in validation.read_text()
    check("trajectories", trajectory_frame(TRAJECTORIES), docs_dir=tmp_path / "reports", expected=4)
    assert not page.exists()


def test_an_error_about_an_unknown_suite_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no suite 'models'; there are tasks, trajectories, verdicts, training"):
        check("models", task_frame(TASKS), docs_dir=tmp_path)


OFFLINE = """
import sys
def refuse(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
        print("NETWORK", event, args, flush=True)
sys.addaudithook(refuse)
import components.quality
assert "great_expectations" not in sys.modules, "imported too early"
from pathlib import Path
from tests.samples import a_task, a_trajectory
frame = components.quality.trajectory_frame([a_trajectory()])
for expected in (1, 2):
    try:
        components.quality.check("trajectories", frame, docs_dir=Path(sys.argv[1]), expected=expected)
    except components.quality.QualityError:
        print("refused")
"""


@pytest.mark.slow
def test_nothing_is_sent_over_the_network_and_nothing_else_is_printed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", OFFLINE, str(tmp_path)]
    child = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    assert child.stdout == "refused\n"
    assert child.stderr == ""


def test_a_stage_that_removes_tasks_is_refused_if_it_ends_with_more(tmp_path: Path) -> None:
    check("tasks", task_frame(TASKS), docs_dir=tmp_path, max_rows=len(TASKS))
    said = refusal(tmp_path, "tasks", task_frame(TASKS), max_rows=len(TASKS) - 1)
    assert "expect_table_row_count_to_be_between" in said
