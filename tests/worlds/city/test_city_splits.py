"""Splits of the city: no task of one asks for what a task of another one asks for."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pytest

from components.worlds.city import City
from components.worlds.city.instances import Instance, suitable
from components.worlds.city.params import CityParams
from components.worlds.city.server_process import CityServer
from components.worlds.city.splits import PLAIN, Part, draw
from components.worlds.city.tasks.registry import templates

MAIL = ["mail_archive_conversation", "mail_delete_conversation"]
PARAMS = CityParams(
    train=MAIL,
    heldout=["mail_reply_to_newest"],
    train_per_template=16,
    eval_per_template=8,
    heldout_per_template=4,
    heldout_modifiers=["theme", "popup"],
)
KIND = templates()["shop_add_to_basket"]


@pytest.fixture(scope="module")
def rows(image) -> list[dict[str, Any]]:
    """All tasks, of inboxes that hardly differ from one seed to the next."""

    async def all_splits() -> list[dict[str, Any]]:
        world = City(PARAMS)
        return await world.tasks(0, (1280, 720)) + await world.validation_tasks(8, 4, (1280, 720))

    return asyncio.run(all_splits())


@pytest.fixture(scope="module")
def process(image) -> Iterator[CityServer]:
    started = CityServer(image)
    yield started
    started.stop()


def question(row: dict[str, Any]) -> tuple[str, str]:
    """The template and the facts of a task."""
    return row["website"], json.dumps(row["evaluator"]["facts"], sort_keys=True)


def test_a_site_that_is_held_out_is_on_no_page_of_the_training():
    kinds = templates()
    world = City(CityParams(train=["forum", "desk"], heldout=["shop"], train_per_template=1, heldout_per_template=1))
    trained, heldout = world._templates()
    assert {site for kind in trained for site in kind.sites} == {"forum", "desk"}
    assert {kind.name for kind in heldout} == {name for name, kind in kinds.items() if "shop" in kind.sites}
    assert any(kind.sites[0] != "shop" for kind in heldout), "tasks that begin elsewhere and lead to the shop"


@pytest.mark.exhaustive
def test_no_two_splits_have_a_template_with_the_same_facts(rows):
    splits: dict[str, set[tuple[str, str]]] = {}
    for row in rows:
        splits.setdefault(row["split"], set()).add(question(row))
    for (first, ours), (second, theirs) in combinations(splits.items(), 2):
        assert not ours & theirs, f"{first} and {second} share tasks"


def test_no_split_after_training_has_an_instance_twice(rows):
    repeated = Counter((row["split"], *question(row)) for row in rows if row["split"] != "train")
    assert set(repeated.values()) == {1}


def test_splits_have_as_many_tasks_as_the_recipe_asks_for(rows):
    assert Counter((row["split"], row["evaluator"]["variant"]) for row in rows) == {
        ("train", "plain"): 32,
        ("eval", "plain"): 16,
        ("heldout", "plain"): 4,
        ("heldout", "theme"): 8,
        ("heldout", "popup"): 8,
        ("validation", "plain"): 8,
        ("heldout_validation", "plain"): 4,
    }
    assert len({row["task_id"] for row in rows}) == len(rows)


def test_training_tasks_are_those_of_the_first_suitable_seeds(rows, process):
    kind = templates()[MAIL[0]]
    seeds = [instance.seed for instance, _ in zip(suitable(process, kind, range(1, 65)), range(16), strict=False)]
    assert [row["seed"] for row in rows if row["split"] == "train" and row["website"] == f"city/{MAIL[0]}"] == seeds


@pytest.mark.exhaustive
def test_validation_is_the_same_if_nobody_asked_for_the_tasks(rows):
    alone = asyncio.run(City(PARAMS).validation_tasks(8, 4, (1280, 720)))
    assert alone == [row for row in rows if "validation" in row["split"]]


def test_a_template_with_too_few_instances_gives_rows_with_the_reason(process):
    class OneInstance(type(KIND)):
        def facts(self, data, rng):
            return facts

    facts = next(suitable(process, KIND, range(1, 5))).facts
    kind = OneInstance()
    task, missing = draw(process, Part("eval", kind, 100, 2, PLAIN), set())
    assert task["seed"] == 100
    assert missing["error"] == (
        "shop_add_to_basket has 1 of 2 instances for eval that no earlier task has, in 8 seeds: "
        "ask for fewer tasks per template"
    )
    (missing,) = draw(process, Part("validation", kind, 200, 1, PLAIN), {Instance(kind, facts, 0).key})
    assert "0 of 1 instances for validation" in missing["error"]
