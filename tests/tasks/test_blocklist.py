"""Hosts that refuse us: learned from rollouts, kept with their evidence until a day, left out by the filter."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest
import yaml

from components.cli import main
from components.params import FilterParams
from components.records import Outcome, Termination, Trajectory, Verdict
from components.store import write_json, write_table
from components.tasks import blocklist, filter_tasks
from components.tasks.blocklist import BlockedHost, Rollouts, active, host_of, is_doubtful, read, write
from tests.endpoint_server import Server, images_of
from tests.samples import a_task, a_trajectory, a_turn, a_verdict, png, raw_recipe

TODAY = dt.date(2026, 11, 20)
REFUSED, DONE = Termination.BLOCKED, Termination.DONE


@pytest.fixture
def roll(task):
    """`roll(url, terminations)`: a trajectory per termination."""

    def make(url: str, *terminations: Termination) -> list[Trajectory]:
        return [
            Trajectory(
                trajectory_id=f"{url}#{number}", task=task(f"{url}{number}", start_url=url), attempt=0, policy="p",
                protocol="openwebrl", seed=number, turns=[], termination=termination,
                diagnostics={"error": "a block page (status 403)"},
            )
            for number, termination in enumerate(terminations)
        ]  # fmt: skip

    return make


def learn(trajectories, known, today, **options) -> list[BlockedHost]:
    """From a table of today."""
    return blocklist.learn([Rollouts(today, trajectories)], known, today, **options)


def entry(host: str, until: dt.date, since: dt.date = TODAY) -> BlockedHost:
    return BlockedHost(host=host, refused=3, tried=3, evidence=["x"], since=since, until=until)


def test_a_block_that_a_model_saw_is_a_refusal_with_its_words_as_evidence(roll):
    tried = roll("https://a.org/", REFUSED, Termination.MAX_STEPS, DONE, Termination.ENV_ERROR, DONE)
    seen = {one.trajectory_id: "A puzzle  of\ntraffic lights." + "!" * 400 for one in tried[1:3]}
    assert learn(tried, [], TODAY) == []
    (found,) = learn(tried, [], TODAY, blocked_pages=seen)
    assert (found.why, found.refused, found.tried) == ("refuses", 3, 5)
    assert found.evidence[0].startswith("https://a.org/#1: max_steps: a model saw: A puzzle of traffic lights.!!!")
    assert len(found.evidence[0]) == 300


@pytest.mark.parametrize(("refused", "judged", "others"), [(1, 2, 1), (5, 6, 9)])
def test_an_entry_that_a_model_made_stays_when_no_model_is_asked(roll, refused, judged, others):
    tried = roll("https://a.org/", *[REFUSED] * refused, *[Termination.MAX_STEPS] * (judged + others))
    seen = {trajectory.trajectory_id: "A wall." for trajectory in tried[refused : refused + judged]}
    listed = learn(tried, [], TODAY, blocked_pages=seen)
    assert learn(tried, listed, TODAY) == listed
    assert learn(tried, listed, listed[0].until) == []
    assert learn(tried, listed, TODAY, blocked_pages={}) == [], "a model that sees no block any more"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, True),
        ({"termination": Termination.TASK_TIMEOUT}, True),
        ({"ended": "https://www.a.org/captcha"}, True),
        ({"began": "https://bücher.example/", "ended": "https://xn--bcher-kva.example/x"}, True),
        ({"ended": "https://b.org/"}, False),
        ({"ended": "about:blank"}, False),
        ({"began": "http://127.0.0.1/", "ended": "http://127.0.0.1/"}, False),
        ({"termination": REFUSED}, False),
        ({"termination": Termination.ENV_ERROR}, False),
        ({"termination": Termination.INFERENCE_TIMEOUT}, False),
    ],
)
def test_an_episode_is_in_doubt_if_it_ended_on_its_host_without_a_reason(changes, expected):
    assert is_doubtful(ended_on(**changes)) is expected


def ended_on(
    ended: str = "https://a.org/x",
    began: str = "https://a.org/",
    termination: Termination = DONE,
    number: int = 0,
    colour: str = "white",
) -> Trajectory:
    turn = a_turn()
    observation = turn.observation.model_copy(update={"url": ended, "screenshot": png(colour)})
    task = a_task(number, task_id=f"{began}{number}", start_url=began)
    shown = a_trajectory(task, turns=0, termination=termination)
    return shown.model_copy(update={"turns": [turn.model_copy(update={"observation": observation})]})


def test_a_host_that_refuses_repeatedly_is_listed_with_its_evidence(roll):
    init = Termination.ENV_INIT_ERROR
    found = learn(roll("https://shop.example.org/a", REFUSED, REFUSED, init, DONE), [], TODAY)
    assert [(one.host, one.refused, one.tried, one.until) for one in found] == [
        ("shop.example.org", 3, 4, dt.date(2026, 12, 4))
    ]
    assert found[0].evidence[0] == "https://shop.example.org/a#0: blocked: a block page (status 403)"


@pytest.mark.parametrize(
    "terminations",
    [
        (REFUSED, REFUSED),
        (REFUSED, REFUSED, REFUSED, DONE, DONE, DONE, DONE),
        (Termination.SANDBOX_ERROR,) * 5,
        (Termination.ENV_ERROR, REFUSED, DONE, DONE),
        (DONE,) * 3,
    ],
)
def test_few_or_rare_refusals_and_other_failures_list_no_host(roll, terminations):
    assert learn(roll("https://a.example/", *terminations), [], TODAY) == []


def test_a_host_where_operations_fail_repeatedly_is_unstable(roll):
    breaks = Termination.ENV_ERROR
    (found,) = learn(roll("https://shop.example.org/a", breaks, REFUSED, breaks, DONE), [], TODAY)
    assert (found.host, found.why, found.refused, found.tried) == ("shop.example.org", "unstable", 3, 4)
    (found,) = learn(roll("https://shop.example.org/a", *[REFUSED] * 3, breaks), [], TODAY)
    assert (found.why, found.refused) == ("refuses", 3)


def test_a_refusal_counts_for_the_host_of_the_first_of_several_tabs(roll):
    (found,) = learn(roll("https://a.org |AND| https://b.org/x", *[REFUSED] * 3), [], TODAY)
    assert found.host == "a.org"


@pytest.mark.parametrize(
    "url", ["http://miniwob/x.html", "http://127.0.0.1:80/", "http://10.0.0.1/", "http://a.localhost/"]
)
def test_our_own_hosts_are_never_listed(roll, url):
    assert host_of(url) is None
    assert learn(roll(url, *[REFUSED] * 5), [], TODAY) == []


def test_an_entry_stays_until_its_day_or_until_the_host_answers(roll):
    tomorrow = TODAY + dt.timedelta(days=1)
    known = [entry("stays.org", tomorrow), entry("over.org", TODAY), entry("answers.org", tomorrow)]
    assert [one.host for one in learn(roll("https://answers.org/", DONE), known, TODAY)] == ["stays.org"]
    assert active(known, TODAY) == {"stays.org": "refuses", "answers.org": "refuses"}


def test_a_host_listed_again_keeps_its_first_day(roll):
    earlier = dt.date(2026, 11, 1)
    found = learn(roll("https://a.org/", *[REFUSED] * 3), [entry("a.org", TODAY, since=earlier)], TODAY)
    assert (found[0].since, found[0].until) == (earlier, dt.date(2026, 12, 4))


def test_the_same_tables_read_again_prolong_no_entry(roll):
    table = Rollouts(TODAY, roll("https://a.org/", *[REFUSED] * 3))
    first = blocklist.learn([table], [], TODAY)
    for later in (1, 13):
        assert blocklist.learn([table], first, TODAY + dt.timedelta(days=later)) == first
    assert blocklist.learn([table], first, TODAY + dt.timedelta(days=14)) == []


def test_the_last_refusal_decides_the_day(roll):
    old = Rollouts(TODAY - dt.timedelta(days=5), roll("https://a.org/", REFUSED, REFUSED, Termination.ENV_ERROR))
    new = Rollouts(TODAY - dt.timedelta(days=2), roll("https://a.org/", REFUSED, DONE))
    (found,) = blocklist.learn([new, old], [], TODAY)
    assert (found.why, found.refused, found.tried, found.until) == ("refuses", 3, 5, dt.date(2026, 12, 2))
    longer = entry("a.org", dt.date(2026, 12, 3))
    all_old = old._replace(trajectories=roll("https://a.org/", *[REFUSED] * 3))
    assert (
        blocklist.learn([all_old], [longer], TODAY)[0].until == longer.until
    )  # what listed it is in no table any more


def test_the_day_of_a_table_is_that_of_its_stage(tmp_path, monkeypatch):
    """A table that DVC restores from its cache is a new file."""
    monkeypatch.chdir(tmp_path)
    folder = Path("data/evaluation/rl")
    folder.mkdir(parents=True)
    write_table(folder / "trajectories.parquet", Trajectory, [])
    assert blocklist.day_of(folder) == dt.date.today()
    Path("reports/stages").mkdir(parents=True)
    noon = dt.datetime(2026, 11, 3, 12).timestamp()
    write_json(Path("reports/stages/evaluate@rl.json"), {"spans": [[noon - 90, noon - 60], [noon - 10, noon]]})
    assert blocklist.day_of(folder) == dt.date(2026, 11, 3)


@pytest.mark.parametrize(
    ("why", "endings", "stays"),
    [
        ("refuses", [REFUSED], True),
        ("refuses", [REFUSED, DONE], False),
        ("refuses", [Termination.ENV_ERROR], False),
        ("unstable", [Termination.ENV_ERROR, REFUSED], True),
        ("unstable", [DONE], False),
        ("refuses", [REFUSED, Termination.ABORTED], True),
        ("refuses", [Termination.SANDBOX_ERROR, Termination.REQUEST_REFUSED], True),
    ],
)
def test_an_entry_stays_until_its_day_while_its_host_goes_on(roll, why, endings, stays):
    known = entry("a.org", TODAY + dt.timedelta(days=13)).model_copy(update={"why": why})
    assert learn(roll("https://a.org/", *endings), [known], TODAY) == ([known] if stays else [])


def test_the_filter_drops_tasks_of_listed_hosts_and_counts_them(task):
    train = [
        task("1", start_url="https://a.org/x"),
        task("2", start_url="https://b.org/"),
        task("3", start_url="http://miniwob/"),
        task("4", start_url="https://c.org/"),
    ]
    kept, funnel = filter_tasks(train, [], FilterParams(), {"a.org": "refuses", "c.org": "unstable"})
    assert [one.task_id for one in kept] == ["2", "3"]
    dropped = {step.step: step.examples for step in funnel.steps}
    assert (dropped["blocked hosts"], dropped["unstable hosts"]) == (["1: Do 1."], ["4: Do 4."])


def test_a_saved_list_reads_back_and_a_broken_one_is_refused(tmp_path):
    path = tmp_path / "blocklist.json"
    assert read(path) == []
    write([entry("a.org", TODAY)], path)
    assert read(path) == [entry("a.org", TODAY)]
    path.write_text('[{"host": "a.org"}]')
    with pytest.raises(ValueError, match="no list of blocked hosts"):
        read(path)
    with pytest.raises(ValueError, match=r"cannot be read \(Is a directory\); make it a file, with \[\] in it"):
        read(tmp_path)


def test_without_trajectories_there_is_nothing_to_learn(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main.main(["blocklist", "--learn"]) == 1
    assert "no trajectories in data/ to learn from" in capsys.readouterr().err


def test_the_command_learns_from_the_tables_there_are(roll, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data/teacher").mkdir(parents=True)
    write_table("data/teacher/trajectories.parquet", Trajectory, roll("https://a.org/", *[REFUSED] * 3))
    assert main.main(["blocklist"]) == 0
    assert not blocklist.PATH.exists()
    assert main.main(["blocklist", "--learn", "--days", "3"]) == 0
    assert "a.org: refused 3 of 3" in capsys.readouterr().out
    assert [one.until - one.since for one in read()] == [dt.timedelta(days=3)]
    assert main.main(["blocklist", "--days", "3"]) == 1
    assert "--days needs --learn: `waymark blocklist --learn --days 3`" in capsys.readouterr().err


@pytest.fixture
def judge(tmp_path, monkeypatch):
    """A project whose recipe names a judge, and five episodes on a.org: three failed, one did not, one was aborted."""
    monkeypatch.chdir(tmp_path)
    server = Server()
    server.reply = lambda asked: "A wall that asks for traffic lights.\nBlocked: YES"
    endpoint = {"url": server.url, "model": "m", "key_variable": None, "max_retries": 0, "usd_per_million_prompt": 1e3}
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(raw_recipe(judge__model={"endpoint": endpoint})))
    (tmp_path / "data/teacher").mkdir(parents=True)
    endings = [DONE, Termination.MAX_STEPS, Termination.TASK_TIMEOUT, DONE, Termination.ABORTED]
    rolled = [
        ended_on(termination=ending, number=number, colour=f"#0000{number}0") for number, ending in enumerate(endings)
    ]
    write_table("data/teacher/trajectories.parquet", Trajectory, rolled)
    outcomes = {0: Outcome.FAILURE, 3: Outcome.SUCCESS}
    verdicts = [a_verdict(rolled[number], outcome) for number, outcome in outcomes.items()]
    write_table("data/teacher/verdicts.parquet", Verdict, verdicts)
    yield server
    server.close()


def test_a_model_is_asked_about_failed_episodes_alone_and_never_twice(judge, capsys):
    assert main.main(["blocklist", "--learn"]) == 0
    assert read() == []
    assert main.main(["blocklist", "--learn", "--ask"]) == 0
    (found,) = read()
    assert (found.host, found.refused, found.tried) == ("a.org", 3, 4), "the aborted one says nothing of the host"
    assert "max_steps: a model saw: A wall that asks for traffic lights." in found.evidence[1]
    assert [images_of(asked) for asked in judge.asked] == [1, 1, 1]
    assert "3 last pages judged: 3 block the agent, 0 unclear; 3.0000 USD" in capsys.readouterr().out
    assert main.main(["blocklist", "--learn", "--ask"]) == 0
    assert len(judge.asked) == 3


def test_a_model_that_sees_no_block_or_is_down_lists_no_host(judge, capsys):
    judge.reply = lambda asked: "Results.\nBlocked: NO"
    judge.trouble = [503]
    assert main.main(["blocklist", "--learn", "--ask"]) == 0
    assert read() == []
    assert "3 last pages judged: 0 block the agent, 1 unclear" in capsys.readouterr().out


def test_asking_a_model_needs_an_endpoint_and_learn(judge, capsys, tmp_path):
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(raw_recipe()))
    assert main.main(["blocklist", "--learn", "--ask"]) == 1
    assert "judge.model = None" in capsys.readouterr().err
    assert main.main(["blocklist", "--ask"]) == 1
    assert "--learn --ask" in capsys.readouterr().err
    assert not blocklist.PATH.exists()
