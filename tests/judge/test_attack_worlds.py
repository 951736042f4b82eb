"""No attack wins a task of our own worlds: real tasks, as `waymark world tasks` makes them, and real pages.

The bars are the figures of docs/how-to/calibrate-a-judge.md. tests/worlds/city/test_city_attacks.py has the city.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from components.agent import Completion, EpisodeSettings, EpisodeSpec, Renderer, format_call, format_response
from components.agent.loop import run_episode
from components.browser import BrowserPool
from components.cli.main import main
from components.judge import rules_verdict
from components.judge.attack import Attacked, attack_rules, strategies
from components.params import BrowserParams, load
from components.records import Outcome, Task, Termination, Trajectory
from components.worlds.encyclopaedia.questions import KINDS
from components.worlds.miniwob.site import MiniWoBSite
from tests.samples import recipe

ROOT = Path(__file__).parents[2]
ATTACKS = 9
ASKING = ["simple-arithmetic", "find-word"]
"""Families of MiniWoB++ whose pages ask for a number and for a word, which an agent may say instead of doing."""


def attacked(folder: Path, world: str, keys: dict[str, object], capsys: pytest.CaptureFixture[str]) -> Attacked:
    """What the commands of the documentation say of a world's tasks."""
    file = str(folder / f"{world}.jsonl")
    assert main(["world", "tasks", world, file, "--keys", json.dumps(keys)]) == 0
    capsys.readouterr()
    assert main(["judge", "attack", file, "--json"]) == 0
    return Attacked.model_validate(json.loads(capsys.readouterr().out)[f"{world}.jsonl"])


def wins(found: Attacked) -> dict[str, int]:
    """The wins of the attacks that win something."""
    return {result.attack: result.wins for result in found.results if result.wins}


def test_no_attack_wins_a_question_of_the_encyclopaedia(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    count = 4 * len(KINDS)
    found = attacked(tmp_path, "encyclopaedia", {"kinds": [*KINDS], "eval": count}, capsys)
    assert (found.tasks, found.answered, len(found.results)) == (count, count, ATTACKS)
    assert wins(found) == {}


@pytest.mark.slow
def test_only_constants_win_a_few_questions_of_the_recipe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """1 is the atomic number of hydrogen and a calling code."""
    section = load(ROOT / "recipes/browseragent-demo.yaml").worlds["encyclopaedia"]
    found = attacked(tmp_path, "encyclopaedia", section.model_dump(mode="json"), capsys)
    assert (found.tasks, found.answered, len(found.results)) == (680, 680, ATTACKS)
    assert wins(found).keys() <= {"constant"}
    assert wins(found).get("constant", 0) <= 5


class Says:
    """A policy that does nothing and gives one answer."""

    version = "says"

    def __init__(self, answer: str) -> None:
        self.answer = answer

    def prompt_tokens(self, prompt: object) -> int:
        return 1

    async def complete(self, request: object) -> Completion:
        return Completion([], [], format_response("Done.", [format_call("done", answer=self.answer)]), "stop")


async def miniwob_episodes() -> dict[str, list[Trajectory]]:
    """Episodes on pages of MiniWoB++ by attack: the agent only says one of its texts, another one on each page.

    Texts that end the agent's own reasoning are left out: its response could not be read.
    """
    params, viewport = recipe(), (160, 210)
    settings = EpisodeSettings(
        Renderer(params.agent, params.observation), params.agent, params.evaluation.sampling, 2, 64
    )
    tasks = [Task.model_validate(row) for row in await MiniWoBSite().collect(ASKING, [3], "eval", viewport)]
    episodes: dict[str, list[Trajectory]] = {}
    async with BrowserPool(BrowserParams(viewport=viewport, concurrency=1), site=MiniWoBSite()) as pool:
        for attack, group in strategies([]).items():
            for number, task in enumerate(tasks):
                texts = [text for strategy in group if "</think>" not in (text := strategy(task))]
                policy = Says(texts[number % len(texts)])
                async with pool.session() as session:
                    played = await run_episode(EpisodeSpec(task, 0, "says", 0), session, policy, settings)
                    episodes.setdefault(attack, []).append(played)
    return episodes


def test_no_attack_wins_a_page_of_miniwob() -> None:
    episodes = asyncio.run(miniwob_episodes())
    assert len(episodes) == ATTACKS
    played = [episode for group in episodes.values() for episode in group]
    assert {episode.termination for episode in played} == {Termination.DONE}
    assert {rules_verdict(episode).outcome for episode in played} == {Outcome.FAILURE}
    found = attack_rules([episode.task for episode in episodes["constant"]])
    assert (found.tasks, found.unread, found.results) == (len(ASKING), len(ASKING), [])
