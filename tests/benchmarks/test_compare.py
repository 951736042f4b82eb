"""Two results of one benchmark, task by task, from the files that `waymark evaluate` leaves."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from components.benchmarks.compare import Comparison, compare
from components.benchmarks.results import write_result
from components.cli.main import main
from components.evaluation import EvaluationError, success
from components.records import Outcome, Termination, Trajectory, Verdict
from components.store import write_table
from tests.benchmarks.test_results import a_result
from tests.evaluation.run_records import DONE, task, trajectory, turn, verdict
from tests.samples import shipped


def lay_out(where: Path, key: str, outcomes: dict[str, str], **changes: object) -> str:
    """A result and its tables: `s`uccess, `f`ailure, judge's `e`rror, `late`, a success in the third turn, or `ended`
    by the environment."""
    said = {
        "s": Outcome.SUCCESS,
        "late": Outcome.SUCCESS,
        "f": Outcome.FAILURE,
        "e": Outcome.ERROR,
        "ended": Outcome.ERROR,
    }
    of = [
        trajectory(
            task(name),
            [turn(0), turn(1), turn(2, DONE)] if what == "late" else None,
            Termination.ENV_ERROR if what == "ended" else Termination.DONE,
        )
        for name, what in outcomes.items()
    ]
    verdicts = [verdict(one, said[what]) for one, what in zip(of, outcomes.values(), strict=True)]
    fields = {"model": f"models/{key}", "model_key": key, "settings": {"decoding": "official", "max_steps": 2}}
    result = a_result(**fields | {"summary": success(of, verdicts)} | changes)
    write_result(result, where / "results")
    write_table(where / "tables" / result.name / "trajectories.parquet", Trajectory, of)
    write_table(where / "tables" / result.name / "verdicts.parquet", Verdict, verdicts)
    return result.name


def test_the_command_says_how_many_tasks_it_leaves_out(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_text(yaml.safe_dump(shipped("smoke")))
    a = lay_out(tmp_path, "a", {"t0": "s", "t1": "e", "t2": "s", "t3": "s", "t4": "f"})
    b = lay_out(tmp_path, "b", {"t0": "s", "t1": "s", "t2": "f", "t3": "e"})
    Path("reports").mkdir()
    Path("data").mkdir()
    Path("results").rename("reports/benchmarks")
    Path("tables").rename("data/benchmarked")
    assert main(["compare", a, b]) == 0
    tasks = "2 tasks; left out: 1 that only one attempted, 2 without a verdict on one side"
    assert capsys.readouterr().out.splitlines()[0] == f"shops (1 sha256:0123456789ab), judged by rules: {tasks}"


def compared(where: Path, first: str, second: str) -> Comparison:
    return compare(first, second, 2000, 0, where / "results", where / "tables")


def test_tasks_that_both_tried_are_compared_pairwise_within_the_steps(tmp_path):
    a = lay_out(tmp_path, "a", {"t0": "s", "t1": "s", "t2": "f", "t3": "f", "t4": "e", "t5": "s", "t6": "s"})
    b = lay_out(tmp_path, "b", {"t0": "s", "t1": "f", "t2": "s", "t3": "f", "t4": "s", "t5": "late", "t7": "s"})
    found = compared(tmp_path, a, b)
    # t4 is unjudged on one side, t6 and t7 were tried by one of them; t5 came after the budget of two steps
    assert (found.won, found.lost, found.same, found.unpaired, found.unjudged) == (2, 1, 2, 2, 1)
    assert (found.first.rate, found.second.rate) == (pytest.approx(3 / 5), pytest.approx(2 / 5))
    assert (found.paired.diff, found.paired.n) == (pytest.approx(1 / 5), 5)
    assert found.paired.ci95[0] < 0 < found.paired.ci95[1]
    assert (found.first.model, found.second.model) == ("models/a", "models/b")
    again = compared(tmp_path, b, a)
    assert (again.won, again.lost, again.paired.diff) == (1, 2, pytest.approx(-1 / 5))


def test_intervals_of_repeated_tasks_count_all_episodes(tmp_path):
    names = []
    for key in ("a", "b"):
        names.append(lay_out(tmp_path, key, {"t0": "s", "t1": "f"}))
        folder = tmp_path / "tables" / names[-1]
        episodes = [trajectory(task(f"t{n}"), attempt=attempt) for n in range(6) for attempt in range(4)]
        outcomes = [Outcome.SUCCESS if (n + attempt) % 2 else Outcome.FAILURE for n in range(6) for attempt in range(4)]
        outcomes[0], outcomes[4] = Outcome.SUCCESS, Outcome.FAILURE  # equal scores would say nothing of the spread
        write_table(folder / "trajectories.parquet", Trajectory, episodes)
        verdicts = [verdict(episode, outcome) for episode, outcome in zip(episodes, outcomes, strict=True)]
        write_table(folder / "verdicts.parquet", Verdict, verdicts)
    rate = compared(tmp_path, *names).first
    assert rate.n == 6
    assert rate.ci95 == success(episodes, verdicts).ci95
    assert rate.ci95[1] - rate.ci95[0] < 0.5  # of 24 episodes; six single ones would have 0.63


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"version": "2 sha256:ba9876543210"}, r"version is 1 sha256:0123456789ab and 2 sha256:ba9876543210: evaluate"),
        ({"judge": "vote"}, "judge is rules and vote"),
        ({"settings": {"decoding": "official", "max_steps": 30}}, "max_steps is 2 and 30"),
        (
            {"settings": {"decoding": "official", "max_steps": 2, "judge_versions": ["vote-gpt-4o"]}},
            "version of the judge is unknown and vote-gpt-4o",
        ),
        ({"status": "invalid", "problem": "no network"}, "shops@b is invalid and has no rate to compare: no network"),
    ],
)
def test_results_of_different_measurements_are_refused_with_the_difference(tmp_path, changes, why):
    a, b = lay_out(tmp_path, "a", {"t0": "s"}), lay_out(tmp_path, "b", {"t0": "f"}, **changes)
    with pytest.raises(EvaluationError, match=why):
        compared(tmp_path, a, b)


def test_a_run_of_fewer_tasks_may_lack_a_version_of_the_judge(tmp_path):
    settings = {"decoding": "official", "max_steps": 2}
    a, b = (
        lay_out(tmp_path, key, {"t0": "s"}, settings=settings | {"judge_versions": versions})
        for key, versions in (("a", ["rules"]), ("b", ["rules", "rules+model"]))
    )
    assert compared(tmp_path, a, b).same == 1


@pytest.mark.parametrize(
    ("file", "content", "why"),
    [
        (
            "tables/shops@b/verdicts.parquet",
            None,
            r"verdicts\.parquet is no table of verdicts .*run the evaluation again",
        ),
        (
            "tables/shops@b/verdicts.parquet",
            b"x",
            r"verdicts\.parquet is no table of verdicts .*run the evaluation again",
        ),
        ("tables/shops@b/trajectories.parquet", b"x", r"is no table of trajectories .*run the evaluation again"),
        ("results/shops@b.json", b"\xff\xfe", r"shops@b\.json is no result of a benchmark run; run the evaluation"),
        ("results/shops@b.json", b"{}", r"shops@b\.json is no result of a benchmark run; run the evaluation"),
    ],
)
def test_a_damaged_part_of_a_result_is_named(tmp_path, file, content, why):
    a, b = lay_out(tmp_path, "a", {"t0": "s"}), lay_out(tmp_path, "b", {"t0": "f"})
    if content is None:
        (tmp_path / file).unlink()
    else:
        (tmp_path / file).write_bytes(content)
    with pytest.raises(EvaluationError, match=why):
        compared(tmp_path, a, b)


def test_a_result_without_its_step_budget_is_refused(tmp_path):
    a, b = lay_out(tmp_path, "a", {"t0": "s"}), lay_out(tmp_path, "b", {"t0": "f"}, settings={"decoding": "official"})
    with pytest.raises(EvaluationError, match=r"shops@b\.json does not say its step budget, settings\.max_steps"):
        compared(tmp_path, a, b)


def test_a_missing_result_is_named_with_the_existing_ones(tmp_path):
    a, b = lay_out(tmp_path, "a", {"t0": "s"}), lay_out(tmp_path, "b", {"t1": "s"})
    (tmp_path / "results/unfinished.json").write_text("{}")
    with pytest.raises(EvaluationError, match=r"no result 'shops@c' .*; there are shops@a, shops@b"):
        compared(tmp_path, a, "shops@c")
    with pytest.raises(EvaluationError, match="shops@a and shops@b have no task in common"):
        compared(tmp_path, a, b)


def test_tasks_that_the_environment_ended_count_for_neither_model(tmp_path):
    outcomes = {f"t{index}": "s" if index < 6 else "f" for index in range(10)}
    a = lay_out(tmp_path, "a", outcomes)
    b = lay_out(tmp_path, "b", {**outcomes, "t0": "ended"})
    difference = compared(tmp_path, a, b)
    assert (difference.won, difference.lost, difference.same, difference.ended, difference.unjudged) == (0, 0, 9, 1, 0)
    assert (difference.first.rate, difference.second.rate, difference.second.n) == (5 / 9, 5 / 9, 9)


def test_two_decodings_of_one_model_are_told_apart(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_text(yaml.safe_dump(shipped("smoke")))
    a = lay_out(tmp_path, "a", {"t0": "s"}, model="m")
    b = lay_out(tmp_path, "b", {"t0": "f"}, model="m")
    Path("reports").mkdir()
    Path("data").mkdir()
    Path("results").rename("reports/benchmarks")
    Path("tables").rename("data/benchmarked")
    assert main(["compare", a, b]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines[1:3]] == [f"  A  m ({a})", f"  B  m ({b})"]
