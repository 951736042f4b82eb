"""What the sites say of a recipe before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from components.params import RecipeError, SitesParams, parse
from components.sites import Encyclopaedia, KiwixError, MiniWoB, require_server, require_tasks, site, world_of
from components.tasks import at_sites, load_files
from tests.samples import a_task

RECIPES = Path(__file__).parents[2] / "recipes"
NQ = RECIPES.parents[1] / "shared/data/browseragent_nq_dev.parquet"


def recipe(name: str, **changes: dict) -> dict:
    raw = yaml.safe_load((RECIPES / f"{name}.yaml").read_text())
    for section, values in changes.items():
        raw[section] |= values
    return raw


@pytest.mark.parametrize("path", sorted(RECIPES.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_shipped_recipe_names_nothing_that_does_not_exist(path):
    require_tasks(parse(yaml.safe_load(path.read_text())))


def test_an_unknown_kind_of_question_is_named_with_its_neighbours():
    asked = {"kinds": ["capitol"], "heldout_kinds": [], "train": 1, "eval": 1, "heldout": 0}
    with pytest.raises(RecipeError, match=r"tasks\.encyclopaedia\.kinds: .*'capitol'; near it: capital"):
        require_tasks(parse(recipe("browseragent-demo", tasks={"encyclopaedia": asked})))


def test_families_whose_targets_have_no_ids_are_refused_for_protocols_that_name_elements():
    with pytest.raises(RecipeError, match=r"click-link cannot be done with agent\.protocol"):
        require_tasks(parse(recipe("webagent-r1-demo", tasks={"miniwob_train": ["click-link"]})))
    require_tasks(parse(recipe("demo", tasks={"miniwob_train": ["click-link"]})))


def test_tasks_of_another_world_than_the_one_that_is_served_are_refused():
    with pytest.raises(RecipeError, match=r"serves no tasks of miniwob, such as click-test.*set sites\.world"):
        parse(recipe("browseragent-demo", tasks={"miniwob_train": ["click-test"]}))
    with pytest.raises(RecipeError, match="serves no tasks of encyclopaedia"):
        parse(recipe("browseragent-demo", sites={"world": "miniwob"}))


def test_questions_about_our_encyclopaedia_are_refused_beside_another_zim():
    with pytest.raises(RecipeError, match=r"sites\.zim is another encyclopaedia"):
        parse(recipe("browseragent-demo", sites={"zim": "wikipedia.zim"}))


def test_a_recipe_means_one_site_and_its_tasks_are_those_that_start_there(monkeypatch, tmp_path):
    miniwob, encyclopaedia = SitesParams(), SitesParams(world="encyclopaedia")
    assert isinstance(site(miniwob), MiniWoB)
    assert isinstance(site(encyclopaedia), Encyclopaedia)
    assert site(SitesParams(world="live")) is None
    assert world_of(a_task(1, start_url="http://encyclopaedia/")) == "encyclopaedia"
    assert world_of(a_task(1)) == "miniwob"
    assert world_of(a_task(1, start_url="http://encyclopaedia.evil.com/")) == "live"
    monkeypatch.setenv("PATH", str(tmp_path))
    require_server(miniwob)
    with pytest.raises(KiwixError, match="apt-get install"):
        require_server(encyclopaedia)


def test_the_scripted_teacher_is_not_sent_to_the_web():
    with pytest.raises(RecipeError, match=r"set teacher\.policy to endpoint"):
        parse(recipe("demo", sites={"world": "live"}, tasks={"miniwob_train": [], "miniwob_heldout": []}))


@pytest.mark.parametrize(
    ("start_url", "world"),
    [
        ("http://encyclopaedia", "encyclopaedia"),
        ("http://encyclopaedia/", "encyclopaedia"),
        ("http://encyclopaedia/prices/lamp", "encyclopaedia"),
        ("http://encyclopaedia |AND| http://encyclopaedia/prices/lamp", "encyclopaedia"),
        ("http://miniwob/click-test.html", "miniwob"),
        ("http://encyclopaedia.evil", "live"),
        ("http://encyclopaedia.evil/", "live"),
        ("http://encyclopaedia@evil/", "live"),
        ("http://miniwobble/", "live"),
    ],
)
def test_a_task_is_where_its_first_page_is(start_url, world):
    assert world_of(a_task(1, start_url=start_url)) == world


@pytest.mark.skipif(not NQ.exists(), reason="the published file is not here")
@pytest.mark.parametrize("address", ["http://encyclopaedia", "http://encyclopaedia/"])
def test_the_questions_of_browseragents_file_are_done_on_the_encyclopaedia(address):
    tasks = load_files([NQ]).tasks
    assert len(tasks) == 300
    assert {world_of(at_sites(task, {"wikipedia": address})) for task in tasks} == {"encyclopaedia"}
