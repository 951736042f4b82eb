"""`waymark judge run`: every record ends with a verdict or the reason why it has none; none is paid for twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from components.cli.main import main
from components.endpoint import Spent
from components.judge.judge_summary import JudgedRecord, Unjudged, summarise
from components.records import Ending, ErrorCause, Outcome, Termination, Trajectory, Verdict
from components.statistics import Interval, wilson
from components.store import read_table, write_table
from tests.endpoint_server import Server, images_of, text_of
from tests.formats.samples import online_mind2web_task, webvoyager_task
from tests.judge.test_agent_reward_bench import cleaned
from tests.judge.webarena_episodes import OURS, episode, ours, right, rows, rule_of_row
from tests.samples import VERIFIED, a_task, a_trajectory, png, shipped

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def server() -> Iterator[Server]:
    """A model that calls a task a success if its words say so."""
    running = Server()
    running.reply = lambda asked: (
        f"x\nVerdict: {'SUCCESS' if 'easy' in text_of(asked).lower() else 'NOT SUCCESS'}"
        if "garbled" not in text_of(asked)
        else "I cannot tell."
    )
    yield running
    running.close()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(shipped("demo")))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def judged(here: Path, server: Server) -> Callable[..., dict]:
    """Run the command with the server as the endpoint; returns the summary."""

    def run(path: str, *more: str, status: int = 0) -> dict:
        command = ["judge", "run", path, "--out", "out", "--url", server.url, "--model", "m", *more]
        assert main(command) == status
        return json.loads(Path("out/summary.json").read_text())

    return run


def lines() -> list[dict]:
    return [json.loads(line) for line in Path("out/verdicts.jsonl").read_text().splitlines()]


def test_results_of_another_agent_get_a_rate_with_its_interval(judged, server, capsys):
    for number in range(4):
        webvoyager_task(Path("results"), f"Amazon--{number}", f"{'Easy' if number else 'Hard'} task {number}.")
    summary = judged("results", "--judge", "webvoyager")
    assert (summary["records"], summary["judged"], summary["successes"]) == (4, 4, 3)
    assert summary["success"]["rate"] == 0.75
    assert summary["success"]["ci95"] == pytest.approx([*wilson(0.75, 4)])
    assert summary["unjudged"] == {}
    assert [images_of(asked) for asked in server.asked] == [3, 3, 3, 3], "the judge sees the screenshots"
    assert all("It is 5." in text_of(asked) for asked in server.asked)
    assert "4 of 4 records judged by webvoyager" in capsys.readouterr().out


def test_the_table_is_one_of_verdicts_and_the_lines_name_the_sources(judged):
    webvoyager_task(Path("results"), intent="Easy task.")
    online_mind2web_task(Path("other"), task="t1")
    judged("results", "--judge", "webvoyager")
    (verdict,) = read_table("out/verdicts.parquet", Verdict)
    (line,) = lines()
    assert (verdict.outcome, line["outcome"]) == (Outcome.SUCCESS, "success")
    assert line["source"] == "results/taskAmazon--0/interact_messages.json"
    assert (line["task_id"], line["trajectory_id"]) == ("Amazon--0", verdict.trajectory_id)
    assert line["unjudged"] is None


def test_what_cannot_be_judged_is_counted_with_its_reason(judged, capsys):
    results = Path("results")
    webvoyager_task(results, "A--0", "Easy task.")
    webvoyager_task(results, "A--1", "A garbled task.")
    (webvoyager_task(results, "A--2", "Easy, but blind.") / "screenshot2.png").unlink()
    (webvoyager_task(results, "A--3") / "interact_messages.json").write_text("[{")
    waiting = webvoyager_task(results, "A--4", "Easy, but the model went away.") / "interact_messages.json"
    waiting.write_text(json.dumps(json.loads(waiting.read_text())[:-1]))
    webvoyager_task(results, "A--5", "Easy, but without an answer.", answer=None)
    summary = judged("results", "--judge", "webvoyager")
    assert (summary["records"], summary["judged"], summary["successes"]) == (6, 2, 1)
    assert summary["unjudged"] == {"unparsed": 1, "missing_screenshot": 1, "damaged": 1, "environment": 1}
    assert summary["bounds"] == pytest.approx([1 / 6, 5 / 6])
    assert len(read_table("out/verdicts.parquet", Verdict)) == 6
    said = capsys.readouterr().out
    assert "results/taskA--3/interact_messages.json:1: is not JSON" in said
    assert "screenshot2.png does not exist: copy the screenshots beside the record" in said
    assert "if the others failed or succeeded: 16.7% to 83.3%" in said


def test_allow_missing_judges_by_the_screenshots_that_are_there(judged, server):
    (webvoyager_task(Path("results"), intent="Easy, but blind.") / "screenshot2.png").unlink()
    summary = judged("results", "--judge", "webvoyager", "--allow-missing")
    assert (summary["judged"], summary["judged_without_some_screenshots"]) == (1, 1)
    assert images_of(server.asked[0]) == 2
    assert "screenshot2.png" in lines()[0]["missing_screenshots"][0]


def test_several_attempts_at_a_task_are_one_task(judged):
    webvoyager_task(Path("results/monday"), "A--0", "Easy task.")
    webvoyager_task(Path("results/tuesday"), "A--0", "Easy task.")
    webvoyager_task(Path("results/tuesday"), "A--1", "Hard task.")
    summary = judged("results", "--judge", "webvoyager")
    assert (summary["judged"], summary["successes"]) == (3, 2)
    assert (summary["success"]["rate"], summary["success"]["n"]) == (0.5, 2)


def test_the_same_trajectory_twice_is_judged_once_and_said(here, judged, server):
    trajectory = a_trajectory(a_task(intent="Easy task."))
    write_table("trajectories.parquet", Trajectory, [trajectory, trajectory])
    summary = judged("trajectories.parquet")
    assert (len(server.asked), summary["unjudged"]) == (1, {"duplicate": 1})
    verdicts = read_table("out/verdicts.parquet", Verdict)
    assert len({verdict.trajectory_id for verdict in verdicts}) == 2
    assert "trajectories.parquet row 1 is the same trajectory as trajectories.parquet row 0" in verdicts[1].rationale


def test_rules_need_no_endpoint_and_say_where_there_is_no_rule(here, capsys):
    ruled = [a_trajectory(a_task(n, evaluator={"type": "qa", "answers": ["Done."]})) for n in range(2)]
    others = [a_trajectory(a_task(2)), a_trajectory(a_task(3, evaluator={"type": "webarena", "eval": {"x": 1}}))]
    write_table("trajectories.parquet", Trajectory, ruled + others)
    assert main(["judge", "run", "trajectories.parquet", "--out", "out", "--judge", "rules"]) == 0
    summary = json.loads(Path("out/summary.json").read_text())
    assert (summary["judged"], summary["successes"], summary["unjudged"]) == (2, 2, {"no_rule": 2})
    assert "the task's rule cannot be read" in capsys.readouterr().out


@pytest.mark.parametrize("is_assisted", [False, True])
def test_a_rule_without_its_evaluator_gives_no_verdict(here, server, capsys, no_verified_evaluator, is_assisted):
    evaluators = [{"type": "qa", "answers": ["Done."]}, VERIFIED]
    records = [a_trajectory(a_task(n, evaluator=evaluator)) for n, evaluator in enumerate(evaluators)]
    write_table("trajectories.parquet", Trajectory, records)
    model = ["--url", server.url, "--model", "m"] if is_assisted else []
    assert main(["judge", "run", "trajectories.parquet", "--out", "out", "--judge", "rules", *model]) == 0
    assert [line["unjudged"] for line in lines()] == [None, "no_rule"]
    assert "the task's rule cannot be applied: the evaluator of webarena-verified" in capsys.readouterr().out


def test_the_benchmarks_own_reward_judges_agent_reward_bench(here):
    folder = cleaned(Path("trajectories"))
    cleaned(folder, "webarena.8", summary_info={"cum_reward": 0.2})
    cleaned(folder, "webarena.9", valid=False)
    assert main(["judge", "run", str(folder), "--out", "out", "--judge", "functional", "--json"]) == 0
    summary = json.loads(Path("out/summary.json").read_text())
    assert (summary["judged"], summary["successes"], summary["unjudged"]) == (2, 1, {"damaged": 1})


def test_tasks_of_files_are_joined_unless_they_were_revised(here, judged, server, capsys):
    rows = [
        {"web_name": "Amazon", "id": "Amazon--0", "ques": "Easy task.", "web": "https://www.amazon.com/"},
        {"web_name": "Amazon", "id": "Amazon--1", "ques": "Another task.", "web": "https://www.amazon.com/"},
    ]
    Path("webvoyager.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for number in range(3):
        webvoyager_task(Path("results"), f"Amazon--{number}", "Easy  task" if number == 0 else f"Hard task {number}.")
    judged("results", "--judge", "webvoyager", "--tasks", "webvoyager.jsonl")
    assert [line["task_id"] for line in lines()] == ["webvoyager/Amazon--0", "Amazon--1", "Amazon--2"]
    said = capsys.readouterr().err
    assert "1 trajectories have a task of --tasks" in said
    assert "1 are on another revision of a task with the same id" in said
    assert "1 have no task there" in said


def test_reference_answers_reach_a_judge_that_reads_them(here, judged, server):
    row = {"web_name": "Amazon", "id": "Amazon--0", "ques": "Easy task.", "web": "https://www.amazon.com/"}
    Path("webvoyager.jsonl").write_text(json.dumps(row))
    answers = {"Amazon": {"notice": "", "answers": [{"id": 0, "type": "golden", "ans": "It costs 7."}]}}
    Path("answers.json").write_text(json.dumps(answers))
    webvoyager_task(Path("results"), intent="Easy task.")
    judged(
        "results", "--judge", "webvoyager_hinted", "--tasks", "webvoyager.jsonl", "--answers", "answers.json"
    )  # fmt: skip
    assert "It costs 7." in text_of(server.asked[0])


def test_a_second_run_asks_nothing_again(judged, server):
    for number in range(3):
        webvoyager_task(Path("results"), f"A--{number}", f"Easy task {number}.")
    first = judged("results", "--judge", "webvoyager")
    Path(".waymark/answers.sqlite").unlink()
    webvoyager_task(Path("results"), "A--3", "Hard task 3.")
    second = judged("results", "--judge", "webvoyager")
    assert (first["judged"], second["judged"], len(server.asked)) == (3, 4, 4)
    assert second["cost"]["requests"] == 4, "of both runs"


def test_another_judge_or_another_content_is_asked_anew(judged, server):
    place = webvoyager_task(Path("results"), intent="Easy task.")
    judged("results", "--judge", "webvoyager")
    judged("results", "--judge", "openwebrl")
    (place / "screenshot3.png").write_bytes(png("black").data)
    judged("results", "--judge", "webvoyager")
    assert len(server.asked) == 3


def test_an_outage_is_counted_and_asked_again_by_the_next_run(here, judged, server):
    raw = shipped("demo")
    endpoint = {"url": server.url, "model": "m", "key_variable": None, "max_retries": 0}
    raw["judge"]["model"] = {"endpoint": endpoint, "protocol": "webvoyager"}
    Path("params.yaml").write_text(yaml.safe_dump(raw))
    webvoyager_task(Path("results"), intent="Easy task.")
    server.trouble = [500]
    command = ["judge", "run", "results", "--out", "out"]
    assert main(command) == 1, "nothing could be judged"
    assert json.loads(Path("out/summary.json").read_text())["unjudged"] == {"endpoint": 1}
    assert main(command) == 0
    assert json.loads(Path("out/summary.json").read_text())["judged"] == 1


@pytest.mark.parametrize("status", [500, 429, 400, 0])
def test_an_outage_of_the_model_beside_rules_is_not_a_missing_rule(here, server, capsys, status):
    """An answer that only a model can compare, a task without a rule, a page that was not read, a rule that holds."""
    raw = shipped("demo")
    endpoint = {"url": server.url, "model": "m", "key_variable": None, "max_retries": 0}
    raw["judge"]["model"] = {"endpoint": endpoint}
    Path("params.yaml").write_text(yaml.safe_dump(raw))
    paged = next(row for row in rows(OURS) if rule_of_row(row).pages and not rule_of_row(row).answer)
    unread = right(paged).ending.readings[0].model_copy(update={"text": None, "error": "gone"})
    records = [
        episode(ours(6), "Round Park, 83 minutes"),
        a_trajectory(a_task(1)),
        right(paged, ending=Ending(url=right(paged).ending.url, readings=[unread, *right(paged).ending.readings[1:]])),
        a_trajectory(a_task(2, evaluator={"type": "qa", "answers": ["Done."]})),
    ]
    named = [record.model_copy(update={"trajectory_id": f"t{number}"}) for number, record in enumerate(records)]
    write_table("trajectories.parquet", Trajectory, named)
    server.trouble = [status]
    command = ["judge", "run", "trajectories.parquet", "--out", "out", "--judge", "rules"]
    assert main(command) == 0
    assert [line["unjudged"] for line in lines()] == ["endpoint", "no_rule", "no_rule", None]
    causes = [verdict.error_cause for verdict in read_table("out/verdicts.parquet", Verdict)]
    assert causes == [ErrorCause.ENDPOINT, ErrorCause.NO_RULE, ErrorCause.NO_RULE, None]
    assert json.loads(Path("out/summary.json").read_text())["unjudged"] == {"no_rule": 2, "endpoint": 1}
    assert "not judged, endpoint: 1" in capsys.readouterr().out
    server.reply = lambda asked: "The same.\nVerdict: SUCCESS"
    assert main(command) == 0
    assert [line["unjudged"] for line in lines()] == [None, "no_rule", "no_rule", None]


def test_a_spent_budget_leaves_the_rest_unjudged_and_goes_on_later(here, server):
    raw = shipped("demo")
    endpoint = {"url": server.url, "model": "m", "key_variable": None, "max_in_flight": 1, "max_usd": 0.002}
    endpoint |= {"usd_per_million_prompt": 1.0}  # 1,000 tokens of a prompt cost 0.001 USD
    raw["judge"]["model"] = {"endpoint": endpoint, "protocol": "webvoyager"}
    Path("params.yaml").write_text(yaml.safe_dump(raw))
    for number in range(9):
        webvoyager_task(Path("results"), f"A--{number}", f"Easy task {number}.")
    assert main(["judge", "run", "results", "--out", "out"]) == 0
    summary = json.loads(Path("out/summary.json").read_text())
    assert (summary["records"], summary["judged"], summary["unjudged"]) == (9, 2, {"budget": 7})
    raw["judge"]["model"]["endpoint"]["max_usd"] = 1.0
    Path("params.yaml").write_text(yaml.safe_dump(raw))
    assert main(["judge", "run", "results", "--out", "out"]) == 0
    assert json.loads(Path("out/summary.json").read_text())["judged"] == 9
    assert len(server.asked) == 9


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["nowhere"], "nowhere: no such file or folder"),
        (["empty"], "empty is in no known format (agent_reward_bench:"),
        (["results", "--format", "x"], "no format 'x': one of"),
        (["results", "--judge", "x"], "no judge 'x': judge_protocols has no 'x'; it has agenttrek"),
        (["results", "--judge", "webjudge"], "webjudge asks a model: name it in judge.model.endpoint"),
        (["results", "--url", "http://127.0.0.1:9/v1"], "--url and --model belong together"),
        (["results", "--key-variable", "KEY"], "--key-variable is of the endpoint of --url and --model"),
        (
            ["results", "--judge", "functional", "--url", "http://127.0.0.1:9/v1", "--model", "m"],
            "--judge functional asks no endpoint",
        ),
        (["results", "--judge", "rules", "--tasks", "no.jsonl"], "no.jsonl: no such file"),
        (["results", "--recipe", "no.yaml"], "no.yaml"),
        (["results", "--answers", "no.json"], "name their file with --tasks"),
    ],
)
def test_a_run_that_cannot_begin_says_what_to_change(here, capsys, arguments, why):
    webvoyager_task(Path("results"))
    Path("empty").mkdir()
    assert main(["judge", "run", *arguments, "--out", "out"]) == 1
    assert why in capsys.readouterr().err


@pytest.mark.parametrize("out", ["params.yaml", "params.yaml/verdicts"])
def test_a_file_is_no_folder_for_the_verdicts(here, capsys, out):
    webvoyager_task(Path("results"))
    assert main(["judge", "run", "results", "--judge", "rules", "--out", out]) == 1
    assert capsys.readouterr().err == f"--out {out}: params.yaml is a file; name a folder\n"


def test_verdicts_of_a_stage_are_not_replaced(here, capsys):
    webvoyager_task(Path("results"))
    Path("out").mkdir()
    Path("out/verdicts.parquet").write_text("a stage's")
    assert main(["judge", "run", "results", "--judge", "rules", "--out", "out"]) == 1
    assert "--out out has verdicts that `waymark judge run` did not write" in capsys.readouterr().err
    assert Path("out/verdicts.parquet").read_text() == "a stage's"


def journalled(pattern: str) -> int:
    return sum(path.read_bytes().count(b"\n") for path in Path("out").glob(pattern))


@pytest.mark.timeout(900)
@pytest.mark.slow
def test_a_killed_run_goes_on_and_pays_for_no_verdict_twice(here, server):
    """A real process is killed with SIGKILL while requests are in flight, and the file that keeps answers for all runs
    is deleted. An answer that came before the kill but was not judged yet is in the run's own journal of answers."""
    count = 8
    for number in range(count):
        webvoyager_task(Path("results"), f"A--{number}", f"Easy task {number}.")
    raw = shipped("demo")
    endpoint = {"url": server.url, "model": "m", "key_variable": None, "max_in_flight": 2}
    raw["judge"]["model"] = {"endpoint": endpoint, "protocol": "webvoyager"}
    Path("params.yaml").write_text(yaml.safe_dump(raw))
    server.delay_s = 0.5
    command = [sys.executable, "-m", "components.cli.main", "judge", "run", "results", "--out", "out"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, env=environment)
    deadline = time.monotonic() + 600
    while journalled("journal.jsonl") < 3 and time.monotonic() < deadline:
        assert process.poll() is None, "the run ended before it could be killed"
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    answered = journalled("*.answers.jsonl")
    assert 3 <= journalled("journal.jsonl") <= answered < count
    complete = Path("out/journal.jsonl").read_text().split("\n")[:-1]
    paid = {json.loads(line)["verdict"]["trajectory_id"] for line in complete}
    assert not Path("out/summary.json").exists(), "no half result"

    time.sleep(1)  # requests in flight reach the server
    Path(".waymark/answers.sqlite").unlink()
    before, server.delay_s = len(server.asked), 0.0
    assert subprocess.run(command, env=environment).returncode == 0
    summary = json.loads(Path("out/summary.json").read_text())
    assert (summary["records"], summary["judged"], summary["successes"]) == (count, count, count)
    assert len(server.asked) - before == count - answered, "only what had no answer was asked"
    assert paid <= {line["trajectory_id"] for line in lines()}
    questions = Counter(text_of(asked) for asked in server.asked)
    assert len(questions) == count
    assert sum(times - 1 for times in questions.values()) <= 2, "at most what was in flight was asked again"


def test_two_runs_do_not_write_into_one_folder(here, server, capsys):
    from components.journal import Journal
    from components.judge.judge_run import StoredVerdict

    webvoyager_task(Path("results"))
    with Journal(Path("out/journal.jsonl"), StoredVerdict):
        command = ["judge", "run", "results", "--out", "out", "--url", server.url, "--model", "m"]
        assert main(command) == 1
    assert "another process is writing this journal" in capsys.readouterr().err
    assert server.asked == []


def test_an_episode_that_ran_out_of_steps_fails_without_a_question(here, judged, server):
    write_table("trajectories.parquet", Trajectory, [a_trajectory(termination=Termination.MAX_STEPS, answer=None)])
    summary = judged("trajectories.parquet")
    assert (summary["judged"], summary["successes"], server.asked) == (1, 0, [])


def test_a_reward_of_an_episode_that_the_environment_ended_is_no_verdict(here):
    ended = [a_trajectory(a_task(n), termination=Termination.SANDBOX_ERROR, site_reward=float(n)) for n in range(2)]
    write_table("trajectories.parquet", Trajectory, [*ended, a_trajectory(a_task(2), site_reward=0.0)])
    assert main(["judge", "run", "trajectories.parquet", "--out", "out", "--judge", "functional"]) == 0
    summary = json.loads(Path("out/summary.json").read_text())
    assert (summary["judged"], summary["successes"], summary["unjudged"]) == (1, 0, {"environment": 2})


def test_the_commands_of_the_how_to_page_work(here, server, capsys, monkeypatch):
    """As they stand there, but for the endpoint's address."""
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    page = (ROOT / "docs/how-to/judge-trajectories.md").read_text()
    commands = [line.split()[1:] for line in page.splitlines() if line.startswith("waymark ")]
    assert len(commands) == 9
    server.reply = lambda asked: next(
        reply
        for sign, reply in {
            "numbered list": "1. The price.",
            "Score: ": "It is there.\nScore: 3",
            "Status: ": "Thoughts: yes\nStatus: success",
            "": "Yes.\nVerdict: SUCCESS",
        }.items()
        if sign in text_of(asked)
    )
    webvoyager_task(Path("results/gpt-4o"), intent="What does tea cost?")
    online_mind2web_task(Path("online_mind2web/operator"))
    cleaned(Path("trajectories"))
    row = {"web_name": "Amazon", "id": "Amazon--0", "ques": "What does tea cost?", "web": "https://www.amazon.com/"}
    published = Path("data/benchmarks")
    published.mkdir(parents=True)
    (published / "webvoyager_643.jsonl").write_text(json.dumps(row))
    answers = {"Amazon": {"notice": "", "answers": [{"id": 0, "type": "golden", "ans": "5"}]}}
    (published / "webvoyager_reference_answer.json").write_text(json.dumps(answers))
    own = [a_trajectory(a_task(evaluator={"type": "qa", "answers": ["Done."]}))]
    write_table("data/evaluation/rl/trajectories.parquet", Trajectory, own)
    for command in commands:
        assert main([server.url if part.endswith("/v1") else part for part in command]) == 0, command
    assert list(Path("exported/inspect").glob("*.json"))
    assert list(Path("exported/webvoyager").glob("task*/interact_messages.json"))
    summaries = [json.loads(file.read_text()) for file in Path("judged").glob("*/summary.json")]
    assert len(summaries) == 6
    assert all(summary["success"]["rate"] == 1.0 for summary in summaries), capsys.readouterr().out


def test_the_bounds_are_over_tasks_as_the_rate_is():
    def line(task: str, outcome: Outcome, unjudged: Unjudged | None = None) -> JudgedRecord:
        verdict = Verdict(trajectory_id="x", outcome=outcome, rationale="", judge="j", judge_version="v")
        return JudgedRecord(source="f", task_id=task, verdict=verdict, unjudged=unjudged, missing_screenshots=[])

    lines = [line("a", Outcome.SUCCESS)] * 9 + [line("b", Outcome.FAILURE)]
    lines += [line("b", Outcome.ERROR, Unjudged.ENDPOINT), line("a", Outcome.ERROR, Unjudged.DUPLICATE)]
    summary = summarise(lines, "j", "v", Spent())
    assert summary.success is not None
    assert summary.success.rate == 0.5
    assert summary.bounds == Interval(0.5, 0.75), "the outage is one of two attempts at one of two tasks"
