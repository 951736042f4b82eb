"""The worlds of a recipe: found by name, checked before work starts, and told apart by start page."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from pydantic import Field

from components import plugins
from components.browser.site import sites_of
from components.params import Params, RecipeError, Section, load, parse
from components.tasks import at_sites, load_files
from components.worlds import NotSupportedError, State, World, WorldError, Worlds, world_class, worlds_of
from components.worlds.encyclopaedia import Encyclopaedia
from components.worlds.encyclopaedia.site import EncyclopaediaSite
from components.worlds.live import Live
from components.worlds.miniwob import MiniWoB
from components.worlds.miniwob.site import MiniWoBSite
from tests.samples import a_task, raw_recipe

RECIPES = Path(__file__).parents[2] / "recipes"
NQ = RECIPES.parents[1] / "shared/data/browseragent_nq_dev.parquet"
BROWSERAGENT = {"agent__protocol": "browseragent", "observation__text": "axtree"}


def with_worlds(worlds: dict, **changes: object) -> Params:
    return parse(raw_recipe(worlds=worlds, **changes))


def check(recipe: Params) -> None:
    worlds_of(recipe).require_possible(recipe)


@pytest.mark.parametrize("path", sorted(RECIPES.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_shipped_recipe_names_nothing_that_does_not_exist(path):
    check(load(path))


@pytest.mark.parametrize(("name", "kind"), [("miniwob", MiniWoB), ("encyclopaedia", Encyclopaedia), ("live", Live)])
def test_a_built_in_world_is_found_by_its_name(name, kind):
    assert world_class(name) is kind


@pytest.mark.parametrize("path", ["components.worlds.live", "components.worlds.live.world:Live"])
def test_a_world_is_found_by_its_dotted_path(path):
    assert world_class(path) is Live


def test_an_unknown_world_is_refused_with_its_neighbour():
    with pytest.raises(RecipeError, match=r"worlds has no 'minwob'; .*did you mean miniwob\?"):
        with_worlds({"minwob": {}})
    with pytest.raises(RecipeError, match=r"'no_such\.module' .* cannot be imported: ModuleNotFoundError"):
        with_worlds({"no_such.module": {}})


def test_what_is_no_world_is_refused():
    with pytest.raises(plugins.UnknownKindError, match="no subclass of"):
        world_class("components.records:Task")


def test_an_unknown_key_of_a_world_is_named_with_those_it_takes():
    with pytest.raises(RecipeError, match=r"worlds\.miniwob: trian = \['x'\]: unknown field; allowed here: .*train"):
        with_worlds({"miniwob": {"trian": ["x"]}})


def test_a_recipe_without_a_world_is_refused_and_null_leaves_one_out():
    with pytest.raises(RecipeError, match="worlds"):
        with_worlds({})
    assert [*with_worlds({"live": {}, "miniwob": None}, teacher__policy="scripted").worlds] == ["live"]


def test_a_recipe_is_the_same_after_it_was_written_and_read():
    recipe = load(RECIPES / "browseragent-demo.yaml")
    assert parse(recipe.model_dump(mode="json")) == recipe


def test_an_unknown_kind_of_question_is_named_with_its_neighbours():
    with pytest.raises(RecipeError, match=r"worlds\.encyclopaedia\.kinds: .*'capitol'; near it: capital"):
        check(with_worlds({"encyclopaedia": {"kinds": ["capitol"], "train": 1, "eval": 1}}))


def test_an_unknown_kind_near_no_other_is_named_with_all_there_are():
    with pytest.raises(RecipeError, match=r"no questions of kind 'xyzzy'; there are capital, currency"):
        check(with_worlds({"encyclopaedia": {"kinds": ["xyzzy"], "train": 1, "eval": 1}}))


def test_families_without_ids_are_refused_for_element_protocols():
    worlds = {"miniwob": {"train": ["click-link"]}}
    with pytest.raises(RecipeError, match=r"click-link cannot be done with agent\.protocol"):
        check(with_worlds(worlds, **BROWSERAGENT))
    check(with_worlds(worlds))


def test_questions_are_refused_beside_another_zim():
    with pytest.raises(RecipeError, match="zim is another encyclopaedia"):
        with_worlds({"encyclopaedia": {"kinds": ["capital"], "zim": "wikipedia.zim"}})


def test_the_scripted_teacher_is_not_sent_to_the_web():
    with pytest.raises(RecipeError, match=r"worlds\.live: .*set teacher\.policy to endpoint"):
        check(with_worlds({"live": {}}))


class PagesParams(Section):
    families: list[str] = Field(default_factory=lambda: ["read"])
    train_per_family: int = 0


class Pages(World):
    """A world without a teacher, whose section has no key `train`."""

    name = "pages"
    Params = PagesParams
    origins = ("http://pages",)
    independent_episodes = True

    async def tasks(self, seed, viewport):
        return [{"split": "train"} for _ in self.params.families for _ in range(self.params.train_per_family)]


def test_the_scripted_teacher_is_not_sent_to_a_world_without_one():
    recipe = with_worlds({f"{__name__}:Pages": {"train_per_family": 2}})
    with pytest.raises(RecipeError, match=r"this world has no scripted teacher: set teacher\.policy to endpoint"):
        check(recipe)
    check(with_worlds({f"{__name__}:Pages": {}}))


def test_each_world_of_a_run_serves_its_own_pages(monkeypatch, tmp_path):
    worlds = worlds_of(with_worlds({"miniwob": {}, "encyclopaedia": {}, "live": {}}))
    first, second, third = worlds.sites()
    assert isinstance(first, MiniWoBSite)
    assert isinstance(second, EncyclopaediaSite)
    assert third is None
    monkeypatch.setenv("PATH", str(tmp_path))
    Worlds([MiniWoB(MiniWoB.Params())]).require_installed()
    with pytest.raises(WorldError, match="apt-get install"):
        worlds.require_installed()


@pytest.mark.parametrize(
    ("start_url", "indices"),
    [("http://miniwob/click-test.html", [0]), ("http://desk.test/tickets/1/", [1, 2]), ("https://example.org", [3])],
)
def test_a_task_goes_to_all_processes_of_its_world(start_url, indices):
    sites = worlds_of(with_worlds({"miniwob": {}, "city": {"processes": 2}, "live": {}})).sites()
    assert sites_of(sites, a_task(start_url=start_url)) == indices


def test_a_task_that_no_site_serves_is_refused():
    with pytest.raises(ValueError, match="which no site of this run serves"):
        sites_of(worlds_of(with_worlds({"miniwob": {}})).sites(), a_task(start_url="http://desk.test/"))


@pytest.mark.parametrize(
    ("start_url", "name"),
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
def test_a_task_belongs_to_the_world_of_its_first_page(start_url, name):
    task = a_task(1, start_url=start_url)
    worlds = worlds_of(with_worlds({"miniwob": {}}))
    assert worlds.name_of(task) == name
    assert worlds.is_live(task) == (name == "live")
    assert (worlds.find(task) is not None) == (name == "miniwob")


def test_tasks_of_a_world_that_the_run_lacks_are_refused_by_name():
    worlds = worlds_of(with_worlds({"miniwob": {}}))
    worlds.require([a_task(1), a_task(2)])
    live = a_task(3, task_id="webvoyager/7", start_url="https://example.com/")
    with pytest.raises(ValueError, match=r"are on live.*webvoyager/7.*add `live: \{\}` to worlds.*tasks\.files"):
        worlds.require([a_task(1), live])
    with pytest.raises(ValueError, match="are on live"):
        worlds.of(a_task(4, start_url="http://miniwob.evil.com/"))


@pytest.mark.skipif(not NQ.exists(), reason="the published file is not here")
@pytest.mark.parametrize("address", ["http://encyclopaedia", "http://encyclopaedia/"])
def test_browseragents_questions_are_done_on_the_encyclopaedia(address):
    tasks = load_files([NQ]).tasks
    worlds = worlds_of(with_worlds({"encyclopaedia": {}}))
    assert len(tasks) == 300
    assert {worlds.name_of(at_sites(task, {"wikipedia": address})) for task in tasks} == {"encyclopaedia"}


def test_a_world_without_state_refuses_all_that_needs_one():
    world: World = Live(Live.Params())
    state = State(world="live", key="1")
    calls = {
        "reset": world.reset(0),
        "snapshot": world.snapshot(state),
        "fork": world.fork(state),
        "diff": world.diff(state, state),
        "query": world.query(state, "SELECT 1"),
        "drop": world.drop(state),
    }
    for name, call in calls.items():
        message = (
            rf"the world live does not support `{name}`: .*live\.world\.Live keeps no state.*implement `World\.{name}`"
        )
        with pytest.raises(NotSupportedError, match=message):
            asyncio.run(call)


def test_a_world_without_a_teacher_says_who_can_teach():
    with pytest.raises(NotSupportedError, match=r"set teacher\.policy to endpoint"):
        Live(Live.Params()).teacher(a_task(1))
