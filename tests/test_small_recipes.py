"""The protocols `browseragent` (encyclopaedia, RFT) and `webagent_r1` (text, M-GRPO) through the whole pipeline.

Their demo recipes with fewer tasks and iterations: what holds however little is learned. SFT has as many steps as it
takes until some attempts are right and some are not. All stages run in one process (`all_stages`); `test_smoke` runs
those of `openwebrl` as `make demo` does.
"""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest
import yaml

from components.agent.protocols import protocol
from components.judge import needs_judge
from components.params import Params, load
from components.records import Outcome, Record, Task, Trajectory, Verdict
from components.store import read_table
from components.tasks import level_of
from components.worlds.encyclopaedia.kiwix import INSTALL
from tests.all_stages import READS
from tests.recipe_reads import unnamed
from tests.samples import shipped
from tests.test_smoke import STAGES, copy_project, run

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive, pytest.mark.timeout(2500)]

SHRUNKEN: dict[str, dict[str, Any]] = {
    "browseragent-demo": {
        "worlds.encyclopaedia.kinds": ["capital", "calling-code"],
        "worlds.encyclopaedia.heldout_kinds": ["currency"],
        "worlds.encyclopaedia.train": 96,
        "worlds.encyclopaedia.eval": 6,
        "worlds.encyclopaedia.heldout": 1,
        "teacher.tasks": 40,
        "curate.max_trajectories": 30,
        "curate.max_per_website": 15,
        "sft.epochs": 7,
        "judge.distill.rollout_tasks": 10,
        "judge.distill.rollout_attempts": 1,
        "judge.distill.max_response_tokens": 96,
        "judge.distill.optim.epochs": 1,
        "rl.effective_groups": 12,
        "rl.max_sampled_groups": 12,
        "rl.objective.epochs": 1,
    },
    "webgym-demo": {
        "worlds.miniwob.train": ["click-button", "enter-text", "click-checkboxes"],
        "worlds.miniwob.heldout": ["focus-text"],
        "worlds.miniwob.train_per_family": 20,
        "worlds.miniwob.eval_per_family": 2,
        "worlds.miniwob.heldout_per_family": 1,
        "teacher.tasks": 32,
        "teacher.attempts": 1,
        "sft.epochs": 12,
        "judge.distill.rollout_tasks": 10,
        "judge.distill.rollout_attempts": 1,
        "judge.distill.max_response_tokens": 96,
        "judge.distill.optim.epochs": 1,
        "rl.short.iterations": 1,
        "rl.temperature": 0.5,
        "rl.effective_groups": 6,
        "rl.max_sampled_groups": 8,
        "rl.validation.tasks": 3,
        "rl.validation.heldout": 1,
    },
    "webagent-r1-demo": {
        "worlds.miniwob.train": ["click-button", "enter-text"],
        "worlds.miniwob.heldout": ["focus-text"],
        "worlds.miniwob.train_per_family": 32,
        "worlds.miniwob.eval_per_family": 3,
        "worlds.miniwob.heldout_per_family": 1,
        "teacher.tasks": 32,
        "teacher.attempts": 1,
        "curate.max_trajectories": 24,
        "curate.max_per_website": 12,
        "sft.epochs": 12,
        "judge.distill.rollout_tasks": 10,
        "judge.distill.rollout_attempts": 1,
        "judge.distill.max_response_tokens": 96,
        "judge.distill.optim.epochs": 1,
        "rl.short.iterations": 1,
        "rl.group_size": 4,
        "rl.effective_groups": 3,
        "rl.max_sampled_groups": 16,
        "rl.temperature": 1.0,
        "rl.validation.tasks": 2,
        "rl.validation.heldout": 1,
    },
}
ANYTHING = {"quality.min_positive": 0.0, "quality.max_positive": 1.0, "evaluation.bootstrap": 1000}
TEXT = {
    "browseragent": re.compile(r"^\s*\[\d+\] \w", re.MULTILINE),
    "webagent_r1": re.compile(r"<\w+ id="),
    "webgym": re.compile(r'^- \w+( "[^"]*")?', re.MULTILINE),
}
"""What the text of an observation looks like: an accessibility tree, HTML, or an element list."""


R = TypeVar("R", bound=Record)


@dataclass(frozen=True)
class Ran:
    """A finished run of a shrunken recipe, in a copy of the project."""

    where: Path
    recipe: Params

    def told(self, name: str) -> dict[str, Any]:
        return json.loads((self.where / f"reports/stages/{name}.json").read_text())

    def table(self, name: str, kind: type[R]) -> list[R]:
        return read_table(self.where / f"data/{name}.parquet", kind)


@pytest.fixture(scope="module", params=SHRUNKEN)
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    if request.param == "browseragent-demo" and shutil.which("kiwix-serve") is None:
        pytest.skip(f"no Kiwix; type `{INSTALL}`")
    where = tmp_path_factory.mktemp(request.param)
    copy_project(where)
    raw = shipped(request.param)
    for path, value in (SHRUNKEN[request.param] | ANYTHING).items():
        *sections, key = path.split(".")
        section = raw
        for name in sections:
            section = section[name]
        assert key in section, f"{path} is no key of {request.param}"
        section[key] = value
    (where / "recipes/small.yaml").write_text(yaml.safe_dump(raw, sort_keys=False))
    run(where, "-m", "components.cli.main", "use", "--force", "recipes/small.yaml")
    run(where, "-m", "tests.all_stages")
    return Ran(where, load(where / "params.yaml"))


def test_every_stage_ran_and_the_report_is_written(ran):
    report = json.loads((ran.where / f"reports/{ran.recipe.name}.json").read_text())
    assert set(report["stages"]) == STAGES
    assert all(stage["ran"] for stage in report["stages"].values())
    page = (ran.where / f"reports/{ran.recipe.name}.html").read_text()
    assert f"to the {ran.told('curate_sft')['trajectories']} that SFT learned from" in page
    assert ("Selection, iteration 1" in page) == (ran.recipe.rl.objective.name == "rft")


def test_dvc_yaml_names_the_keys_that_stages_read(ran):
    reads: dict[str, list[str]] = json.loads((ran.where / READS).read_text())
    assert set(reads) == STAGES | {"report"}
    del reads["report"]  # it shows the recipe of the results on which it depends
    assert {name: missing for name, keys in reads.items() if (missing := unnamed(name, keys))} == {}


def test_every_policy_is_scored_on_every_task(ran):
    tasks = {one.task_id for split in ("eval", "heldout") for one in ran.table(f"pools/{split}", Task)}
    for policy in ("base", "sft", "rl"):
        trajectories = ran.table(f"evaluation/{policy}/trajectories", Trajectory)
        verdicts = ran.table(f"evaluation/{policy}/verdicts", Verdict)
        assert sorted(one.task_id for one in trajectories) == sorted(tasks)
        assert all(one.termination.is_agents_doing for one in trajectories)
        assert {one.trajectory_id for one in verdicts} == {t.trajectory_id for t in trajectories if needs_judge(t)}
        assert {one.outcome for one in verdicts} <= {Outcome.SUCCESS, Outcome.FAILURE}
        told = ran.told(f"evaluate@{policy}")
        assert (told["n"], told["aborted"], told["unjudged"]) == (len(ran.table("pools/eval", Task)), 0, 0)


def test_episodes_have_the_recipes_protocol_and_world(ran):
    name, (world,) = ran.recipe.agent.protocol, ran.recipe.worlds
    for stage in ("teacher", "judge", "evaluation/base", "evaluation/sft", "evaluation/rl"):
        for one in ran.table(f"{stage}/trajectories", Trajectory):
            assert (one.protocol, one.task.source) == (name, world)
            assert one.task.start_url.startswith(f"http://{world}/")
            assert TEXT[name].search(one.turns[0].observation.text or ""), one.turns[0].observation.text


def test_demonstrations_are_the_teachers_successes_in_the_protocols_words(ran):
    outcome = {one.trajectory_id: one.outcome for one in ran.table("teacher/verdicts", Verdict)}
    chosen = ran.table("sft/trajectories", Trajectory)
    assert len(chosen) == ran.told("curate_sft")["funnel"][-1]["left"] > 0
    assert len({one.task_id for one in chosen}) == len(chosen) < len(outcome)
    for one in chosen:
        assert outcome[one.trajectory_id] is Outcome.SUCCESS
        for turn in one.turns:
            assert protocol(one.protocol).parse(turn.response).calls == turn.tool_calls != []


def test_one_iteration_changes_the_policy_and_has_its_figures(ran):
    (figures,), rl = ran.told("train_rl@short")["iterations"], ran.recipe.rl
    assert 1 <= figures["effective_groups"] <= figures["sampled_groups"] <= rl.max_sampled_groups
    assert figures["masked_share"] < 1
    assert figures["steps"] >= 1
    assert weights(ran, "sft") != weights(ran, "rl-short") == weights(ran, "rl-long")
    assert ran.told("train_rl@long")["iterations"] == []
    if rl.objective.name == "m_grpo":
        assert figures["logprob_gap_max"] < 1e-3
        assert figures["kl_mean"] > 0
    elif rl.objective.name == "filtered_bc":
        assert figures["logprob_gap_max"] < 1e-3
        levels = {level_of(task.difficulty) for task in ran.table("pools/train", Task)}
        assert levels == {"easy", "medium"}, "tasks are drawn by difficulty"
    else:
        counts = {name: count for name, count in figures.items() if name.startswith("selection_")}
        attempts, chosen = counts.pop("selection_attempts"), counts.pop("selection_chosen")
        assert attempts == rl.group_size * figures["sampled_groups"]
        assert attempts - sum(counts.values()) == chosen == figures["effective_groups"]


def weights(ran: Ran, model: str) -> bytes:
    return (ran.where / f"models/{model}/model.safetensors").read_bytes()
