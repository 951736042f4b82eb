"""The city's tasks as benchmarks: the same rows for everybody, or a refusal."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest
import yaml

from components.benchmarks.spec import load_benchmark
from components.worlds import WorldError
from components.worlds.city import City
from components.worlds.city.params import CityParams, PinnedInstances
from components.worlds.city.splits import parts
from components.worlds.city.tasks.registry import templates
from components.worlds.city.world import pinned_rows, rows_sha256, select

ROOT = Path(__file__).parents[3]
VIEWPORT = (1280, 720)


def pinned(name: str) -> PinnedInstances:
    pages = load_benchmark(ROOT / f"recipes/benchmarks/{name}.yaml").pages
    assert pages is not None
    assert isinstance(pages.pinned, PinnedInstances)
    return pages.pinned


def rows_of(pages: PinnedInstances) -> list[dict]:
    return asyncio.run(City(CityParams()).pinned_tasks(pages, VIEWPORT))


@pytest.mark.parametrize(("name", "count"), [("city", 320), ("city-new-sites", 112)])
def test_a_benchmark_has_the_tasks_that_it_pins(image, name, count):
    pages = pinned(name)
    rows = rows_of(pages)
    assert len({row["task_id"] for row in rows}) == len(rows) == count
    assert {*Counter(row["website"] for row in rows).values()} == {pages.per_template}
    table = (ROOT / "docs/reference/benchmarks.md").read_text()
    assert f"| `{name}` | tasks of the city | {count} | {count} | 0 | `{pages.sha256[:12]}` |" in table


def test_all_templates_are_in_the_benchmark_of_the_city():
    assert select(pinned("city").templates or [kind.sites[0] for kind in templates().values()]) == [
        *templates().values()
    ]


def test_no_task_of_the_new_sites_is_on_a_site_of_the_training():
    recipe = yaml.safe_load((ROOT / "recipes/city-demo.yaml").read_text())
    trained = {templates()[name].sites[0] for name in recipe["worlds"]["city"]["train"]}
    assert not trained & {*(pinned("city-new-sites").templates or [])}


@pytest.mark.parametrize("name", ["city", "city-new-sites"])
def test_no_recipe_uses_the_seeds_of_a_benchmark(name):
    params = CityParams.model_validate(yaml.safe_load((ROOT / "recipes/city-demo.yaml").read_text())["worlds"]["city"])
    last = max(part.first_seed + 4 * part.count for part in parts(params, select(params.train), select(params.heldout)))
    assert max(last, params.validation_seed_start + 4 * 1000) <= pinned(name).first_seed


def test_modifiers_take_turns(image):
    pages = PinnedInstances(
        sha256="0" * 64, templates=["forum_vote"], first_seed=5, per_template=4, modifiers=["popup", "theme"]
    )
    modifiers = [row["evaluator"]["modifiers"] for row in pinned_rows(pages)]
    assert Counter(name for names in modifiers for name in names) == {"popup": 2, "theme": 2}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"sha256": "0" * 64}, "results could not be compared: check out the version of Waymark"),
        ({"templates": ["forum_votes"]}, "there is no template or site 'forum_votes'"),
        ({"modifiers": ["popups"]}, "there is no modifier 'popups'"),
    ],
)
def test_other_tasks_are_refused(image, changes, reason):
    with pytest.raises(WorldError, match=reason):
        rows_of(pinned("city-new-sites").model_copy(update={"per_template": 1} | changes))


def test_a_checksum_does_not_depend_on_the_order_of_keys(image):
    pages = PinnedInstances(sha256="0" * 64, templates=["forum_vote"], first_seed=5, per_template=1)
    (row,) = pinned_rows(pages)
    assert rows_sha256([row]) == rows_sha256([dict(reversed(row.items()))])
