"""The teacher's rollouts on a live world, end to end: several hosts, each at its pace, one down, one that dies."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from components.judge import reward
from components.pipeline.stage_run import WORLD_SETTINGS
from components.records import Outcome, Task, Termination, Trajectory, Verdict
from components.stages import label_trajectories, teacher_rollouts
from components.store import read_json, read_table, write_json, write_table
from tests.benchmarks.price_shops import PRICES, Shop, answer, task_row
from tests.endpoint_server import Server, text_of
from tests.samples import shipped

ROOT = Path(__file__).parents[2]
DELAY_S = 1.0


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Shop]]:
    """Two shops that stay; a project whose teacher visits them, one that closes once it is seen, and a closed one."""
    monkeypatch.chdir(tmp_path)
    shops = [Shop(f"127.0.0.{number}") for number in (2, 3, 4, 5)]
    first, second, dies, down = shops
    down.close()
    model = Server()

    closed: list[Shop] = []

    def reply(asked: dict) -> str:
        if dies.origin in text_of(asked) and not closed:
            closed.append(dies)
            dies.close()
        return answer(asked)

    model.reply = reply
    recipe = shipped("smoke")
    recipe["worlds"] = {"live": {"independent_episodes": True}}
    recipe["browser"]["egress"]["private_hosts"] = [f"{shop.host}:{shop.port}" for shop in shops]
    recipe["browser"]["navigation_retries"] = 0
    recipe["rollout"] |= {"per_host": 1, "host_delay_s": DELAY_S}
    endpoint = {"url": model.url, "model": "a/model", "key_variable": None, "max_retries": 0}
    recipe["teacher"] = {"policy": "endpoint", "endpoint": endpoint, "tasks": 12, "attempts": 2, "max_steps": 4}
    Path("params.yaml").write_text(yaml.safe_dump(recipe))
    write_json(WORLD_SETTINGS, {"live": {}})
    rows = [task_row(first, "lamp"), task_row(second, "chair"), task_row(second, "table")]
    rows += [task_row(dies, "lamp"), task_row(down, "lamp")]
    write_table(
        teacher_rollouts.POOL, Task, [Task.model_validate(row | {"split": "train", "source": "shops"}) for row in rows]
    )
    yield [first, second]
    for one in (first, second, model):
        one.close()


@pytest.mark.slow
def test_live_rollouts_keep_the_pace_and_an_outage_is_masked_and_never_0(world):
    shops = world
    teacher_rollouts.main()
    label_trajectories.main()

    trajectories = read_table(teacher_rollouts.OUT, Trajectory)
    verdicts = {one.trajectory_id: one for one in read_table("data/teacher/verdicts.parquet", Verdict)}
    found = {
        host: [(one, verdicts[one.trajectory_id]) for one in trajectories if one.task.website == f"127.0.0.{host}"]
        for host in (2, 3, 4, 5)
    }
    assert {host: len(of) for host, of in found.items()} == {2: 2, 3: 4, 4: 2, 5: 2}
    for one, verdict in found[2] + found[3]:
        is_known = one.answer != PRICES["table"]  # the table's page says another price than the task expects
        assert verdict.outcome is (Outcome.SUCCESS if is_known else Outcome.FAILURE)
        assert not reward(one, verdict).masked

    # the shop that closed under an agent's click, before the second attempt; and the one that was closed all the time
    endings = [one.termination for one, _ in found[4]]
    assert sorted(endings) == [Termination.ENV_ERROR, Termination.ENV_INIT_ERROR]
    assert {one.termination for one, _ in found[5]} == {Termination.ENV_INIT_ERROR}
    for one, verdict in found[4] + found[5]:
        assert verdict.outcome is Outcome.ERROR
        assert reward(one, verdict).masked
    assert read_json("reports/stages/teacher_rollouts.json")["terminations"] == {
        "done": 6, "env_error": 1, "env_init_error": 3
    }  # fmt: skip

    for shop, visits in zip(shops, (2, 4), strict=True):
        times = sorted(at for at, _ in shop.visits.opened)
        assert len(times) == visits
        # a page is opened a moment after its episode's start is counted
        assert all(later - earlier > DELAY_S - 0.5 for earlier, later in itertools.pairwise(times))
