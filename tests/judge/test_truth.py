"""Judges against the truth of worlds with state: kinds of failure, and the share of failures called a success."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from components.cli import main
from components.judge.false_positives import false_positives
from components.judge.labels import CannotCompare
from components.judge.truth import Failure, failure_of, read_truth
from components.records import Outcome, RowChange, StateCheck, Termination, Trajectory, Verdict
from components.statistics import wilson
from components.store import write_table
from components.worlds.answers import Names, Number, Refusal
from components.worlds.effects import Added, Changed, check_changes
from tests.judge.test_calibration import verdict
from tests.samples import a_task, a_trajectory, a_verdict, shipped

S, F, U, E = Outcome.SUCCESS, Outcome.FAILURE, Outcome.UNPARSED, Outcome.ERROR


def line(quantity: int, product: int = 5) -> RowChange:
    after = {"product_id": str(product), "quantity": str(quantity)}
    return RowChange(table="basket_line", key=str(product), before=None, after=after)


WISH = RowChange(table="wishlists_line", key="1", before=None, after={"product_id": "5"})
LINE = Added("basket_line", {"product_id": 5, "quantity": 2})
TICKET = Changed("helpdesk_ticket", {"id": 3}, {"status": 4})
NAMES = Names(["Rope"], ["Rope", "Chain"])


@pytest.mark.parametrize(
    ("effects", "changes", "expected", "answer", "kind"),
    [
        ([LINE], [], None, "done", Failure.NOTHING_DONE),
        ([LINE], [line(3)], None, "done", Failure.WRONG_VALUE),
        ([LINE], [line(2, product=6)], None, "done", Failure.WRONG_VALUE),
        ([LINE, TICKET], [line(2)], None, "done", Failure.PARTIAL),
        ([LINE, TICKET], [line(2), WISH], None, "done", Failure.PARTIAL),
        ([LINE], [WISH], None, "done", Failure.WRONG_PLACE),
        ([LINE], [line(2), WISH], None, "done", Failure.SIDE_EFFECTS_ONLY),
        ([LINE], [line(2), WISH], NAMES, "Rope", Failure.SIDE_EFFECTS_ONLY),
        ([LINE], [line(2)], NAMES, "Chain", Failure.WRONG_ANSWER),
        ([], [], Number(4), "5", Failure.WRONG_ANSWER),
        ([], [], Number(4), "This is not possible.", Failure.REFUSED_WRONGLY),
        ([LINE], [], None, "I cannot find the cart.", Failure.REFUSED_WRONGLY),
        ([LINE], [line(3)], None, "I cannot find the cart.", Failure.WRONG_VALUE),
        ([], [], Refusal(("sold out",), {}), "It is in the cart.", Failure.NOT_REFUSED),
        ([], [], Refusal(("sold out",), {}), "This is not possible.", Failure.NOT_REFUSED),
        ([], [line(1)], Refusal(("sold out",), {}), "It is in the cart.", Failure.NOT_REFUSED),
    ],
)
def test_each_failure_has_its_kind(effects, changes, expected, answer, kind):
    check = check_changes(effects, [], changes, expected, answer)
    assert check.reward == 0
    assert failure_of(check, answer, isinstance(expected, Refusal)) is kind


def test_false_positives_are_counted_among_failures_alone():
    tasks = ["a", "a", "b", "b", "c", "d"]
    labels = [F, F, F, F, S, F]
    said = [S, F, F, U, S, E]
    counted = false_positives(tasks, labels, [verdict(outcome) for outcome in said])
    assert counted is not None
    assert (counted.n, counted.tasks, counted.rate.value) == (3, 2, 1 / 3), "an unparsed verdict is none"


def test_a_judge_without_false_positives_still_has_an_interval():
    counted = false_positives(["a", "b", "b"], [F, F, F], [verdict(F)] * 3)
    assert counted is not None
    assert (counted.rate.value, counted.rate.ci95) == (0, wilson(0, 2))
    assert false_positives(["a", "b"], [S, F], [verdict(S), verdict(E)]) is None


@pytest.fixture
def episodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Trajectory]:
    """Two successes, two side effects, one that did nothing, and one that never said `done`."""
    monkeypatch.chdir(tmp_path)
    done, stray, idle = [
        check_changes([LINE], [], changes, None, "done") for changes in ([line(2)], [line(2), WISH], [])
    ]
    checks: list[StateCheck] = [done, done, stray, stray, idle, idle]
    trajectories = [
        a_trajectory(a_task(number, task_id=f"t{number}"), state_check=check, site_reward=check.reward, answer="done")
        for number, check in enumerate(checks)
    ]
    trajectories[5] = trajectories[5].model_copy(update={"termination": Termination.MAX_STEPS, "answer": None})
    write_table("data/teacher/trajectories.parquet", Trajectory, trajectories)
    raw = shipped("demo")
    raw["evaluation"]["bootstrap"] = 200
    Path("params.yaml").write_text(yaml.safe_dump(raw))
    return trajectories


def test_any_judge_is_held_against_the_state(episodes, capsys):
    """A judge that takes every answer for a success, but for the episode that did nothing."""
    verdicts = [a_verdict(one, F if number == 4 else S) for number, one in enumerate(episodes)]
    write_table("mine.parquet", Verdict, verdicts)
    arguments = ["judge", "calibrate", "--labels", "state", "--trajectories", "data/teacher/trajectories.parquet"]
    arguments += ["--judges", "rules", "--verdicts", "mine=mine.parquet"]
    assert main.main([*arguments, "--json"]) == 0
    mine = json.loads(capsys.readouterr().out)[-1]
    assert mine["n"] == 5, "an episode without an answer is not judged"
    assert mine["false_positives"]["rate"]["value"] == pytest.approx(2 / 3)
    kinds = mine["false_positives_by_kind"]
    assert {kind: (part["n"], part["rate"]["value"]) for kind, part in kinds.items()} == {
        "side_effects_only": (2, 1.0),
        "nothing_done": (1, 0.0),
    }
    assert main.main(arguments) == 0
    table = capsys.readouterr().out
    assert "false-positive rate" in table
    assert table.index("side_effects_only") < table.index("nothing_done")


def test_trajectories_without_state_are_refused(episodes):
    with pytest.raises(CannotCompare, match="in a world with state: name a file of labels"):
        read_truth([a_trajectory()])
