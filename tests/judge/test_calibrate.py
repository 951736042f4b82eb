"""`waymark judge calibrate`: judges against labels, on tables of ours and on AgentRewardBench's files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from components.cli import main
from components.formats import format_named
from components.judge.calibration_run import calibrate_judges
from components.judge.labels import CannotCompare, read_labels
from components.params import Params
from components.records import Outcome, Trajectory, Verdict
from components.store import read_table, write_table
from tests.endpoint_server import Server, text_of
from tests.formats.samples import webvoyager_task
from tests.judge.test_agent_reward_bench import AGENT, annotations, cleaned
from tests.judge.webarena_episodes import ours, task_of
from tests.samples import a_task, a_trajectory, a_verdict, recipe, shipped

ROOT = Path(__file__).resolve().parents[2]
S, F = Outcome.SUCCESS, Outcome.FAILURE


@pytest.fixture
def server() -> Iterator[Server]:
    """A model that calls every task with an even number a success, whatever the protocol."""
    running = Server()

    def reply(asked: dict) -> str:
        even = any(f"Task {number}." in text_of(asked) for number in (0, 2, 4, 6, 8))
        text = text_of(asked)
        if "JSON object" in text:
            return json.dumps({"thought": "x", "verdict": "SUCCESS" if even else "NOT SUCCESS"})
        return (
            f"x\nVerdict: {'SUCCESS' if even else 'NOT SUCCESS'}" if "Verdict: SUCCESS" in text else "Status: success"
        )

    running.reply = reply
    yield running
    running.close()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with ten labelled trajectories, every even one a success but for number 8."""
    trajectories = [
        a_trajectory(a_task(n, intent=f"Task {n}.", task_id=f"t{n}"), site_reward=float(n % 2 == 0)) for n in range(10)
    ]
    labels = [a_verdict(one, S if n % 2 == 0 and n != 8 else F) for n, one in enumerate(trajectories)]
    write_table(tmp_path / "data/judge/trajectories.parquet", Trajectory, trajectories)
    write_table(tmp_path / "data/judge/verdicts.parquet", Verdict, labels)
    raw = shipped("demo")
    raw["evaluation"]["bootstrap"] = 200
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(raw))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def with_model(here: Path, server: Server) -> None:
    raw = yaml.safe_load((here / "params.yaml").read_text())
    raw["judge"]["model"] = {"endpoint": {"url": server.url, "model": "m", "key_variable": None}}
    (here / "params.yaml").write_text(yaml.safe_dump(raw))


class Said(NamedTuple):
    """What a command left."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def waymark(here: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """The command `waymark judge calibrate`."""

    def run(*arguments: str) -> Said:
        status = main.main(["judge", "calibrate", *arguments])
        return Said(status, *capsys.readouterr())

    return run


def test_rules_protocols_and_their_vote_are_in_one_table(here, server, waymark):
    with_model(here, server)
    done = waymark(
        "--judges", "rules,openwebrl,deepshop,agenttrek,vote", "--json"
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = {one["judge"]: one for one in json.loads(done.stdout)}
    assert list(found) == ["rules", "openwebrl", "deepshop", "agenttrek", "vote"]
    assert found["rules"]["said_by_label"]["failure"] == {"success": 1, "failure": 5, "unparsed": 0}
    assert found["openwebrl"]["accuracy"]["value"] == found["deepshop"]["accuracy"]["value"] == 0.9
    assert found["agenttrek"]["said_by_label"]["failure"]["success"] == 6
    # of number 8 all say success; of the odd ones only one does
    assert found["vote"]["accuracy"]["value"] == 0.9
    assert len(server.asked) == 30
    again = waymark("--judges", "openwebrl,deepshop,agenttrek")
    assert "OpenWebRL, table 3: Agreement with GPT-4.1" in again.stdout
    assert "OpenWebRL, table 9: " in again.stdout
    assert again.stdout.count("OpenWebRL-Judge-8B") == 2
    assert "90.0 [" in again.stdout
    assert len(server.asked) == 30, "what was answered is kept"


def test_a_trajectory_counts_once_and_repeated_ones_are_named(here, waymark):
    table = Path("data/judge/trajectories.parquet")
    first = list(read_table(table, Trajectory))
    repeated = [one.model_copy(update={"site_reward": 1.0 - (one.site_reward or 0.0)}) for one in first[:2]]
    whole = waymark("--judges", "functional", "--json")
    write_table(table, Trajectory, [*first, *repeated])
    done = waymark("--judges", "functional", "--json")
    assert json.loads(done.stdout)[0] == json.loads(whole.stdout)[0]
    assert "2 labelled trajectories have the id of an earlier one and are left out" in done.stderr


def test_existing_verdicts_take_part_by_name_and_may_vote(here, server, waymark):
    with_model(here, server)
    saved = "saved=data/judge/verdicts.parquet"
    done = waymark("--judges", "openwebrl,deepshop,vote", "--verdicts", saved, "--json")
    found = {one["judge"]: one["accuracy"]["value"] for one in json.loads(done.stdout)}
    assert found == {"openwebrl": 0.9, "deepshop": 0.9, "saved": 1.0, "vote": 0.9}
    assert waymark("--judges", "openwebrl,deepshop,agenttrek,vote", "--verdicts", saved).returncode == 1, (
        "four may be equal"
    )


@pytest.mark.parametrize("content", [b"trajectory_id,outcome\n", b""])
def test_tables_of_verdicts_are_read_before_a_model_is_asked(here, server, waymark, content):
    with_model(here, server)
    Path("old.csv").write_bytes(content)
    done = waymark("--judges", "openwebrl", "--verdicts", "old=old.csv")
    assert done.returncode == 1
    assert "old.csv is no table of verdicts that can be read" in done.stderr
    assert "name a verdicts.parquet" in done.stderr
    assert server.asked == []


def test_a_table_without_a_verdict_does_not_stop_the_others(here, waymark):
    write_table(Path("other.parquet"), Verdict, [a_verdict(a_trajectory(a_task(99, task_id="elsewhere")), S)])
    done = waymark("--judges", "rules", "--verdicts", "other=other.parquet", "--json")
    assert [one["judge"] for one in json.loads(done.stdout)] == ["rules"]
    assert "other gave no verdict on any of these trajectories and is in no table" in done.stderr


def test_a_table_with_two_different_verdicts_on_a_trajectory_is_refused(here, waymark):
    trajectory = a_trajectory(a_task(0, task_id="t0"))
    write_table(Path("old.parquet"), Verdict, [a_verdict(trajectory, F), a_verdict(trajectory, S)])
    done = waymark("--judges", "rules", "--verdicts", "old=old.parquet")
    assert done.returncode == 1
    assert f"old.parquet has different verdicts on {trajectory.trajectory_id}: leave one of them" in done.stderr


def test_judges_are_named_once_whatever_the_spaces_between_them(here, waymark):
    done = waymark("--judges", "rules, functional, rules", "--json")
    assert [one["judge"] for one in json.loads(done.stdout)] == ["rules", "functional"]


def test_a_label_without_a_trajectory_id_is_left_out(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("trajectory_id,outcome\n  ,success\na,failure\n")
    assert read_labels(path).outcomes == {"a": F}


def test_rules_and_the_configured_model_take_part_by_default(here, server, waymark):
    assert [one["judge"] for one in json.loads(waymark("--json").stdout)] == ["rules"]
    with_model(here, server)
    assert [one["judge"] for one in json.loads(waymark("--json").stdout)] == ["rules", "openwebrl"]


def test_humans_label_in_a_csv_file(here, waymark):
    ids = [a_trajectory(a_task(n, task_id=f"t{n}")).trajectory_id for n in range(3)]
    Path("labels.csv").write_text("trajectory_id,outcome\n" + "".join(f"{key},Success\n" for key in ids))
    (one,) = json.loads(waymark("--labels", "labels.csv", "--json").stdout)
    assert (one["n"], one["recall"]["value"]) == (3, pytest.approx(2 / 3))


def test_agent_reward_bench_is_judged_as_published(here, server, waymark):
    with_model(here, server)
    cleaned(here / "trajectories", "webarena.7")
    cleaned(here / "trajectories", "webarena.8", goal="What does coffee cost?", summary_info={"cum_reward": 0.0})
    path = annotations(here / "a.csv", ("A", "webarena.7", "Unsuccessful"), ("A", "webarena.8", "Successful"))
    done = waymark("--trajectories", "trajectories", "--labels", str(path), "--judges", "openwebrl,rules", "--json")
    assert done.returncode == 0, done.stderr
    whole = json.loads(done.stdout)
    model, rules = whole["overall"]
    assert [part["counts"] for part in whole["aspects"]] == [{"No": 2}, {"2. Suboptimal": 2}, {"No": 2}]
    assert (model["n"], model["said_by_label"]["success"]["failure"]) == (2, 1)
    assert rules["outages"] + rules["n"] == 2
    assert AGENT in str(next((here / "trajectories/cleaned").rglob("*.json")))


def test_agent_reward_bench_has_splits_benchmarks_thresholds_and_a_ceiling(here, waymark):
    half = {"cum_reward": 0.6}
    cleaned(here / "trajectories", "webarena.7", summary_info=half)
    cleaned(here / "trajectories", "webarena.8", summary_info={"cum_reward": 0.0})
    cleaned(here / "trajectories", "workarena.a-l2", benchmark="workarena")
    rows = [("A", "webarena.7", "Successful"), ("B", "webarena.7", "Successful"), ("A", "webarena.8", "Unsuccessful")]
    path = annotations(here / "a.csv", *rows, ("A", "webarena.9", "Successful"))
    of_workarena = annotations(here / "w.csv", ("A", "workarena.a-l2", "Successful")).read_text().splitlines()[1]
    path.write_text(path.read_text() + of_workarena.replace("A,webarena", "A,workarena") + "\n")
    asked = ("--trajectories", "trajectories", "--labels", "a.csv", "--by", "benchmark", "--json")
    done = waymark(*asked)
    assert "1 labels of a.csv have no trajectory" in done.stderr
    whole = json.loads(done.stdout)
    found = {one["judge"]: one for one in whole["overall"]}
    assert list(found) == ["rules", "functional", "second expert"]
    assert (found["rules"]["recall"]["value"], found["functional"]["recall"]["value"]) == (0.5, 1.0)
    assert (found["second expert"]["n"], found["second expert"]["accuracy"]["value"]) == (1, 1.0)
    assert {group: members[0]["n"] for group, members in whole["by"].items()} == {"webarena": 2, "workarena++": 1}
    Path("splits.csv").write_text("task_id,split\nwebarena.7,dev\nwebarena.8,test\nworkarena.a-l2,test\n")
    of_dev = json.loads(waymark(*asked, "--split", "dev").stdout)
    assert [one["n"] for one in of_dev["overall"]] == [1, 1, 1]
    assert list(of_dev["by"]) == ["webarena"]
    table = waymark(*asked[:-1], "--split", "test").stdout
    assert "\nworkarena++\n" in table
    assert "the experts on other aspects\nside_effect" in table
    assert waymark("--split", "dev").returncode == 1, "a split is of AgentRewardBench alone"


def test_results_of_another_agent_are_compared_with_labels_of_their_ids(here, server, waymark):
    with_model(here, server)
    for number in (0, 1):
        webvoyager_task(here / "results", f"Amazon--{number}", f"Task {number}.")
    found = [record.trajectory for record in format_named("webvoyager").read(here / "results")]
    outcomes = {trajectory.trajectory_id: "Task 0." in trajectory.task.intent for trajectory in found}
    lines = [f"{key},{'success' if is_done else 'failure'}\n" for key, is_done in outcomes.items()]
    Path("labels.csv").write_text("trajectory_id,outcome\n" + "".join(lines))
    done = waymark("--trajectories", "results", "--labels", "labels.csv", "--judges", "openwebrl", "--json")
    assert done.returncode == 0, done.stderr
    (figures,) = json.loads(done.stdout)
    assert (figures["n"], figures["accuracy"]["value"]) == (2, 1.0)


def test_labels_that_do_not_count_are_said(here, waymark):
    ids = [a_trajectory(a_task(n, task_id=f"t{n}")).trajectory_id for n in range(4)]
    lines = [f"{ids[0]},success", f"{ids[1]},Failure", f"{ids[1]},failure", f"{ids[2]},success", f"{ids[2]},failure",
             f"{ids[3]}", f"{ids[3]},success,x", f"{ids[3]},maybe", "other,success"]  # fmt: skip
    Path("labels.csv").write_text("\ufefftrajectory_id,outcome\n" + "\n".join(lines) + "\n")
    done = waymark("--labels", "labels.csv", "--json")
    (one,) = json.loads(done.stdout)
    assert one["n"] == 2
    assert "4 labels of labels.csv are left out: labels.csv:7: the row has not the 2 values" in done.stderr
    assert "1 labels of labels.csv have no trajectory" in done.stderr
    assert read_labels(Path("labels.csv")).left_out[-1].endswith(f"{ids[2]} is labelled success and failure")


@pytest.mark.parametrize("outcome", [Outcome.ERROR, Outcome.UNPARSED])
def test_a_row_without_a_verdict_is_said_with_its_place(here, outcome):
    Path("labels.csv").write_text(f"trajectory_id,outcome\na,success\nb,{outcome}\n")
    known = read_labels(Path("labels.csv"))
    assert known == ({"a": S}, [f"labels.csv:3: outcome is '{outcome}', not success or failure"])
    verdicts = [a_verdict(a_trajectory(attempt=n), label) for n, label in enumerate([S, outcome])]
    write_table("labels.parquet", Verdict, verdicts)
    known = read_labels(Path("labels.parquet"))
    assert known.left_out == [f"labels.parquet row 1: outcome is '{outcome}', not success or failure"]


def test_a_row_that_is_no_verdict_is_said_with_its_place(here):
    write_table("labels.parquet", Verdict, [a_verdict(a_trajectory(attempt=n), S) for n in range(3)])
    rows = pq.read_table("labels.parquet").to_pylist()
    rows[1]["outcome"] = "perhaps"
    pq.write_table(pa.Table.from_pylist(rows, pq.read_schema("labels.parquet")), "labels.parquet")
    known = read_labels(Path("labels.parquet"))
    assert len(known.outcomes) == 2
    assert known.left_out[0].startswith("labels.parquet row 1 is no verdict (outcome: Input should be 'success'")


@pytest.mark.parametrize(
    "content",
    [
        b"trajectory_id,outcome\n\xff,success\n",
        b"\x00\x01",
        b"trajectory_id,outcome\na," + b"x" * 200_000,
        b"trajectory_id,outcome,outcome\na,success,failure\n",
        b'trajectory_id,outcome\na,success\n"b,failure\nc,success\nd,failure\n',
    ],
)
def test_label_files_that_cannot_be_read_are_refused_by_name(here, content):
    Path("labels.csv").write_bytes(content)
    with pytest.raises(CannotCompare, match=r"labels\.csv"):
        read_labels(Path("labels.csv"))
    Path("labels.parquet").write_bytes(content)
    with pytest.raises(CannotCompare, match=r"labels\.parquet"):
        read_labels(Path("labels.parquet"))
    Path("folder").mkdir()
    with pytest.raises(CannotCompare, match=r"folder cannot be read \(Is a directory\): name a CSV file"):
        read_labels(Path("folder"))


def test_rules_ask_the_endpoint_where_only_a_model_can_tell(here, server, waymark):
    rollouts = [a_trajectory(task_of(ours(5)), attempt=n, answer=f"{n} minutes by car") for n in range(4)]
    rollouts.append(a_trajectory(task_of(ours(5)), attempt=4, answer="N/A"))
    write_table(here / "data/judge/trajectories.parquet", Trajectory, rollouts)
    labels = [a_verdict(one, S if n == 0 else F) for n, one in enumerate(rollouts)]
    write_table(here / "data/judge/verdicts.parquet", Verdict, labels)
    (alone,) = json.loads(waymark("--judges", "rules", "--json").stdout)
    assert (alone["n"], alone["outages"]) == (1, 4)
    with_model(here, server)
    server.reply = lambda asked: f"Verdict: {'SUCCESS' if '0 minutes' in text_of(asked) else 'NOT SUCCESS'}"
    (asked,) = json.loads(waymark("--judges", "rules", "--json").stdout)
    assert (asked["n"], asked["outages"], asked["accuracy"]["value"]) == (5, 0, 1.0)
    assert len(server.asked) == 4


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--judges", "gpt"], "no judge 'gpt': judge_protocols has no 'gpt'"),
        (["--judges", "distilled"], "`dvc repro distill_judge` makes it"),
        (["--judges", "webjudge"], "judge.model.endpoint"),
        (["--judges", "rules,vote"], "a vote needs 3 judges beside it"),
        (["--verdicts", "data/judge/verdicts.parquet"], "write NAME=FILE"),
        (["--trajectories", "nowhere.parquet"], "no such file; correct --trajectories or --labels"),
        (["--labels", "params.yaml"], "no labels"),
        (["--labels", "data"], "data cannot be read (Is a directory): name a CSV file"),
        (["--labels", "data/judge/trajectories.parquet"], "trajectories.parquet row 0 is no verdict"),
        (["--trajectories", "data/judge/verdicts.parquet"], "is no table of trajectories that can be read"),
        (["--trajectories", "params.yaml", "--labels", "data/judge/verdicts.parquet"], "name a trajectories.parquet"),
        (["--verdicts", "rules=data/judge/verdicts.parquet"], "rules is the name of a judge; give the table another"),
        (["--verdicts", "=data/judge/verdicts.parquet"], "write NAME=FILE"),
        (
            ["--verdicts", "old=data/judge/verdicts.parquet", "--verdicts", "old=data/judge/verdicts.parquet"],
            "two tables have one name",
        ),
    ],
)
def test_contradictory_options_are_refused_with_the_correct_ones(here, arguments, said, waymark):
    done = waymark(*arguments)
    assert done.returncode == 1
    assert said in done.stderr


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "data/judge/trajectories.parquet, data/judge/verdicts.parquet: no such file; `dvc repro judge_rollouts`"),
        (["--labels", "mine.csv"], "data/judge/trajectories.parquet: no such file; `dvc repro judge_rollouts`"),
        (["--labels", "nope.csv"], "nope.csv: no such file; correct --trajectories or --labels"),
    ],
)
def test_files_of_the_stage_alone_are_what_the_stage_makes(tmp_path, monkeypatch, capsys, arguments, problem):
    monkeypatch.chdir(tmp_path)
    Path("mine.csv").touch()
    assert main.main(["judge", "calibrate", *arguments]) == 1
    assert problem in capsys.readouterr().err


def test_labels_of_other_trajectories_or_unknown_outcomes_are_refused(here, tmp_path):
    Path("labels.csv").write_text("trajectory_id,outcome\nother,failure\n")
    known = read_labels(Path("labels.csv")).outcomes
    with pytest.raises(CannotCompare, match="none of the 1 labels"):
        calibrate_judges(lambda: [a_trajectory()], known, ["rules"], {}, a_recipe(), tmp_path)
    Path("labels.csv").write_text("trajectory_id,outcome\nother,perhaps\n")
    with pytest.raises(CannotCompare, match=r"labels\.csv:2: outcome is 'perhaps'"):
        read_labels(Path("labels.csv"))
    Path("labels.csv").write_text("trajectory_id,outcome\nother,unparsed\n")
    with pytest.raises(CannotCompare, match="nothing is labelled"):
        read_labels(Path("labels.csv"))


def a_recipe() -> Params:
    return recipe()
