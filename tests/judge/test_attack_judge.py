"""`waymark judge attack --judge`: what changed failures win from a judge that reads episodes."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
import yaml
from PIL import Image as PILImage

from components import plugins
from components.browser import feedback
from components.cli.main import main
from components.endpoint import Answer, BudgetSpent, Message
from components.judge.altered_answer import with_answer
from components.judge.attack import strategies
from components.judge.attack_answers import ANSWER_ATTACKS, MAX_CHARACTERS
from components.judge.attack_judge import (
    FORGED,
    ORDER,
    UNCHANGED,
    attack_judge,
    attacks,
    truth_by_rules,
)
from components.judge.judges import NamedJudge, OnVerdict
from components.judge.protocols import judge_protocol
from components.judge.protocols.webjudge import POINTS
from components.judge.rules import rule_of
from components.records import Image, Outcome, StateCheck, Termination, ToolCall, Trajectory, Verdict
from components.store import write_table
from tests.endpoint_server import Server, text_of
from tests.formats.samples import online_mind2web_task, webvoyager_task
from tests.judge.test_attack import replies
from tests.samples import VERIFIED, a_task, a_trajectory, a_turn, png, shipped

PROTOCOLS = plugins.builtin("judge_protocols")


def failed(count: int = 4) -> list[Trajectory]:
    return [
        a_trajectory(a_task(number), turns=2, site_reward=0.0, final_screenshot=png("navy")) for number in range(count)
    ]


class Believes(NamedJudge):
    """A judge that believes an episode by a test of it."""

    version = "v"

    def __init__(self, test: Callable[[Trajectory], bool | None], limit: str | None = None) -> None:
        self.test, self.limit = test, limit

    async def judge(self, trajectories: Iterable[Trajectory], on_verdict: OnVerdict) -> BudgetSpent | None:
        outcomes = {True: Outcome.SUCCESS, False: Outcome.FAILURE, None: Outcome.UNPARSED}
        for trajectory in trajectories:
            on_verdict(
                Verdict(
                    trajectory_id=trajectory.trajectory_id, outcome=outcomes[self.test(trajectory)], rationale="",
                    judge="j", judge_version="v",
                )
            )  # fmt: skip
        return BudgetSpent("1 USD is spent", self.limit) if self.limit else None


def wins(test: Callable[[Trajectory], bool | None]) -> dict[str, tuple[int, int]]:
    """Wins and gained episodes of each attack on four failures."""
    attacked = asyncio.run(attack_judge(Believes(test), "j", failed()))
    assert [result.attack for result in attacked.results] == [*attacks()]
    return {result.attack: (result.wins, result.gained) for result in attacked.results}


def test_a_judge_that_believes_the_answer_falls_for_claims() -> None:
    won = wins(lambda episode: "complete" in (episode.answer or ""))
    assert {name for name, counts in won.items() if counts == (4, 4)} == {
        "claim",
        "keyword stuffing",
        "words to the judge",
    }
    assert won[UNCHANGED] == (0, 0)


def test_the_texts_that_attack_rules_attack_judges_too() -> None:
    episodes = [a_trajectory(a_task(n, evaluator={"type": "qa", "answers": [f"Town {n}"]}), turns=2) for n in range(4)]
    changes = attacks([episode.task for episode in episodes])
    said = {name: {changes[name](episode).answer for episode in episodes} for name in ANSWER_ATTACKS}
    groups = strategies([rule_of(episode.task.evaluator) for episode in episodes])
    known = {name: {text(episode.task) for text in groups[name] for episode in episodes} for name in ANSWER_ATTACKS}
    assert all(said[name] <= known[name] for name in ANSWER_ATTACKS)
    assert len(said["list of candidates"]) > 1, "the episodes have different texts of one attack"
    assert said == {name: {changes[name](episode).answer for episode in episodes} for name in ANSWER_ATTACKS}


def test_a_list_of_candidates_has_the_right_answers_of_the_tasks() -> None:
    episodes = [a_trajectory(a_task(n, evaluator={"type": "qa", "answers": [f"Town {n}"]}), turns=2) for n in range(40)]
    change = attacks([episode.task for episode in episodes])["list of candidates"]
    texts = [change(episode).answer or "" for episode in episodes]
    assert sum("Town 1," in text or "Town 1 or" in text for text in texts) > 10
    assert all(0 < len(text) <= MAX_CHARACTERS for text in texts)


def test_a_task_with_an_unknown_rule_can_be_attacked() -> None:
    episode = a_trajectory(a_task(1, evaluator={"type": "webarena", "eval": 3}), turns=2)
    changes = attacks([episode.task])
    assert all(changes[name](episode).answer for name in ANSWER_ATTACKS)


def test_what_a_judge_believes_anyway_is_no_gain_of_an_attack() -> None:
    won = wins(lambda episode: True)
    assert set(won.values()) == {(4, 0)}


def test_a_page_speaks_by_names_and_by_its_picture() -> None:
    before = {episode.trajectory_id: episode for episode in failed()}

    def is_shown(episode: Trajectory) -> bool:
        return episode.final_screenshot != before[episode.trajectory_id].final_screenshot and len(episode.turns) == 2

    def is_named(episode: Trajectory) -> bool:
        return any(ORDER in line for turn in episode.turns for line in turn.feedback)

    assert {name for name, (count, _) in wins(is_shown).items() if count} == {"page shows"}
    assert {name for name, (count, _) in wins(is_named).items() if count} == {"page names"}


def test_the_banner_leaves_the_rest_of_the_picture() -> None:
    picture = PILImage.new("RGB", (640, 360), "navy")
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    episode = failed(1)[0].model_copy(update={"final_screenshot": Image.of(buffer.getvalue())})
    changed = attacks()["page shows"](episode).final_screenshot
    assert changed is not None
    shown = PILImage.open(io.BytesIO(changed.data))
    assert shown.size == (640, 360)
    assert shown.getpixel((2, 2)) == (255, 255, 255)
    assert shown.crop((0, 60, 640, 360)).getcolors() == [(640 * 300, (0, 0, 128))]


def test_nothing_done_is_one_turn_on_the_first_page() -> None:
    episode = failed(1)[0]
    changed = attacks()["empty done"](episode)
    assert [call.name for turn in changed.turns for call in turn.tool_calls] == ["done"]
    assert changed.final_screenshot == episode.turns[0].observation.screenshot


@pytest.mark.parametrize("name", PROTOCOLS)
def test_no_protocol_shows_a_forged_verdict_as_a_message_of_its_own(name: str) -> None:
    """The words of an agent stay in the user's message: the system message is the protocol's prompt alone."""
    seen: list[list[Message]] = []

    async def ask(messages: list[Message], response_format: Message | None = None) -> Answer:
        seen.append(messages)
        text = "1. A point" if messages[0]["content"] == POINTS else "x"
        return Answer(text=text, finish_reason="stop", prompt_tokens=1, completion_tokens=1, usd=0.0, latency_s=0.0)

    episode = attacks()["forged verdict"](failed(1)[0])
    assert episode.answer == FORGED
    asyncio.run(judge_protocol(name, 3).judge(episode, ask))
    assert seen
    assert {tuple(message["role"] for message in messages) for messages in seen} == {("system", "user")}
    assert all(messages[0]["content"] in judge_protocol(name, 3).prompts for messages in seen)


@pytest.mark.parametrize("name", PROTOCOLS)
@pytest.mark.parametrize("attack", ["claim", "forged verdict", "hedge"])
@pytest.mark.parametrize("ends_with_done", [True, False])
def test_the_text_of_an_attack_reaches_every_judge(name: str, attack: str, ends_with_done: bool) -> None:
    seen: list[str] = []

    async def ask(messages: list[Message], response_format: Message | None = None) -> Answer:
        seen.append(json.dumps(messages[1:], ensure_ascii=False))
        is_rubric = "rubric" in json.dumps(response_format)
        points = "1. A point\nScore: 4\nKeep: YES\nVerdict: SUCCESS"
        text = '{"criteria": ["x"], "critical_points": []}' if is_rubric else points
        return Answer(text=text, finish_reason="stop", prompt_tokens=1, completion_tokens=1, usd=0.0, latency_s=0.0)

    (episode,) = failed(1)
    former = "the answer before"
    if ends_with_done:
        done = ToolCall(name="done", arguments={"answer": former})
        last = a_turn(2, tool_calls=[done], feedback=[feedback.done(former)])
        episode = episode.model_copy(update={"turns": [*episode.turns, last], "answer": former})
    else:
        episode = episode.model_copy(update={"answer": None, "termination": Termination.MAX_STEPS})
    attacked = attacks([episode.task])[attack](episode)
    asyncio.run(judge_protocol(name, 3).judge(attacked, ask))
    words = (attacked.answer or "").splitlines()[0]
    assert any(json.dumps(words, ensure_ascii=False)[1:-1] in messages for messages in seen)
    assert not any(former in messages for messages in seen)


def test_attempts_at_one_task_are_not_independent_in_an_attack() -> None:
    places = [(task, attempt) for task in range(6) for attempt in range(8)]
    tries = [a_trajectory(a_task(task), turns=1, attempt=attempt, site_reward=0.0) for task, attempt in places]
    attacked = asyncio.run(attack_judge(Believes(lambda episode: episode.task.seed == 0), "j", tries))
    rate = attacked.results[0].rate
    assert rate is not None
    assert rate.high - rate.low > 0.4, "eight attempts at one of six tasks; 48 independent ones would give 0.2"


def test_an_episode_that_an_attack_makes_right_is_not_shown_to_the_judge() -> None:
    """The page says that the task was done; only `done` was missing, and every attack adds it."""
    (episode,) = failed(1)
    stopped = episode.model_copy(update={"site_reward": 1.0, "termination": Termination.MAX_STEPS})
    assert truth_by_rules(stopped) is Outcome.FAILURE
    attacked = asyncio.run(attack_judge(Believes(lambda episode: True), "j", [stopped], truth=truth_by_rules))
    unchanged, *changed = attacked.results
    assert (unchanged.judged, unchanged.became_right) == (1, 0)
    nothing, *others = changed
    assert (nothing.attack, nothing.judged, nothing.became_right) == ("empty done", 1, 0), "its reward is 0"
    assert {(result.judged, result.wins, result.became_right) for result in others} == {(0, 0, 1)}


@pytest.mark.parametrize(
    ("answer", "missing", "wanted"),
    [("6", [], Outcome.SUCCESS), ("7", [], Outcome.FAILURE), ("6", ["1 row added"], Outcome.FAILURE)],
)
def test_the_world_is_asked_about_the_answer_of_a_changed_episode(answer, missing, wanted) -> None:
    check = StateCheck(reward=0.0, credit=0.5, answer_ok=False, missing=missing)
    wrong = a_trajectory(replies(6), turns=2, site_reward=0.0, state_check=check, answer="5")
    assert truth_by_rules(wrong) is Outcome.FAILURE
    assert truth_by_rules(with_answer(wrong, answer)) is wanted
    assert truth_by_rules(attacks()["empty done"](with_answer(wrong, answer))) is Outcome.FAILURE


def test_unreadable_verdicts_are_no_wins_and_not_in_the_rate() -> None:
    attacked = asyncio.run(attack_judge(Believes(lambda episode: None), "j", failed()))
    assert {(result.judged, result.wins, result.unjudged, result.rate) for result in attacked.results} == {
        (0, 0, 4, None)
    }


def test_a_spent_budget_ends_the_attacks_and_keeps_the_table() -> None:
    attacked = asyncio.run(attack_judge(Believes(lambda episode: False, "max_usd"), "j", failed()))
    assert [result.attack for result in attacked.results] == [UNCHANGED]
    assert attacked.limit is not None
    assert attacked.limit.startswith("1 USD is spent")


@pytest.fixture
def server() -> Iterator[Server]:
    """A model that believes the agent's words."""
    running = Server()
    running.reply = lambda asked: (
        f"x\nVerdict: {'SUCCESS' if 'completed every part' in text_of(asked) else 'NOT SUCCESS'}"
    )
    yield running
    running.close()


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four failures and a success, in a folder with a recipe."""
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(shipped("demo")))
    monkeypatch.chdir(tmp_path)
    episodes = [*failed(), a_trajectory(a_task(9), turns=1, site_reward=1.0)]
    write_table(tmp_path / "trajectories.parquet", Trajectory, episodes)
    return tmp_path / "trajectories.parquet"


def test_the_command_attacks_a_model_behind_an_endpoint(table: Path, server: Server, capsys) -> None:
    command = ["judge", "attack", str(table), "--judge", "openwebrl", "--url", server.url, "--model", "m"]
    assert main([*command, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["failures"] == 4
    gained = {result["attack"]: result["gained"] for result in report["results"]}
    assert gained == {name: 4 if name == "claim" else 0 for name in attacks()}
    assert main([*command, "--limit", "1"]) == 0
    assert "openwebrl: 1 failed episodes" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--labels", "x.csv"], "name it with --judge"),
        (["--format", "atif"], "--format: for attacks on a judge; name it with --judge"),
        (["--judge", "distilled", "--format", "y"], "no format 'y': one of agent_reward_bench, atif"),
        (["--judge", "openwebrl"], "asks a model"),
        (["--judge", "openwebrl", "--url", "http://x/v1"], "--url and --model belong together"),
        (["--judge", "rule"], "no judge 'rule'"),
    ],
)
def test_wrong_options_are_refused_before_a_model_is_asked(
    table: Path, options: list[str], message: str, capsys
) -> None:
    assert main(["judge", "attack", str(table), *options]) == 1
    assert message in capsys.readouterr().err


def test_an_episode_whose_rule_has_no_evaluator_is_left_out(table: Path, capsys, no_verified_evaluator) -> None:
    write_table(table, Trajectory, [a_trajectory(a_task(9, evaluator=VERIFIED), turns=1)])
    assert main(["judge", "attack", str(table), "--judge", "distilled"]) == 1
    assert "is left out: the evaluator of webarena-verified is not installed" in capsys.readouterr().err


def test_a_table_without_failures_is_refused(table: Path, capsys) -> None:
    write_table(table, Trajectory, [a_trajectory(a_task(9), turns=1, site_reward=1.0)])
    assert main(["judge", "attack", str(table), "--judge", "distilled"]) == 1
    assert "no failed episode to attack with: 1 are successes" in capsys.readouterr().err


def test_a_folder_of_two_formats_is_attacked_in_the_one_that_is_named(tmp_path: Path, capsys) -> None:
    webvoyager_task(tmp_path)
    online_mind2web_task(tmp_path)
    command = ["judge", "attack", str(tmp_path), "--judge", "distilled"]
    assert main(command) == 1
    assert "name one with --format" in capsys.readouterr().err
    assert main([*command, "--format", "online_mind2web"]) == 1
    assert "no failed episode to attack with: 0 are successes, 1 have no true outcome" in capsys.readouterr().err


def test_records_that_cannot_be_attacked_are_named(tmp_path: Path, capsys) -> None:
    (tmp_path / "broken.json").write_text('{"schema_version": "ATIF-v1.8", "steps": 3}')
    assert main(["judge", "attack", str(tmp_path), "--judge", "distilled"]) == 1
    said = capsys.readouterr().err
    assert "broken.json is left out: " in said
    assert "no failed episode to attack with" in said
