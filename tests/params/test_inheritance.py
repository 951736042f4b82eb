"""A recipe is its difference from a base: what merging means, and what is said of a wrong chain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from components.params import Change, Params, RecipeError, changed_from_base, complete, load, parse
from components.params.inheritance import difference, merge
from tests.samples import raw_recipe

ENDPOINT = {"url": "http://127.0.0.1:1/v1", "model": "a/b"}
LR = st.sampled_from([1e-6, 1e-5, 1e-4])
OBJECTIVES = st.one_of(
    st.builds(lambda low: {"name": "mm_grpo", "clip_low": low}, st.sampled_from([0.1, 0.2])),
    st.builds(lambda kl: {"name": "m_grpo", "kl": kl}, st.sampled_from([0.0, 0.1])),
    st.builds(lambda drop: {"name": "filtered_bc", "drop_repeats": drop}, st.booleans()),
    st.builds(
        lambda caps: {"name": "rft", "max_per_source": caps},
        st.none() | st.dictionaries(st.sampled_from("ab"), st.integers(0, 3)),
    ),
)
TEACHERS = st.one_of(
    st.builds(lambda noise: {"policy": "scripted", "noise": noise, "tasks": 3}, st.sampled_from([0.0, 0.5])),
    st.builds(lambda t: {"policy": "endpoint", "endpoint": ENDPOINT, "temperature": t, "tasks": 3}, st.just(0.5)),
)
JUDGES = st.none() | st.builds(lambda name: {"endpoint": ENDPOINT, "protocol": name}, st.sampled_from(["webjudge"]))
WORLDS = st.dictionaries(
    st.sampled_from(["miniwob", "encyclopaedia", "live"]), st.just({}), min_size=1, max_size=3
) | st.builds(
    lambda families, count: {"miniwob": {"heldout": families, "train_per_family": count}},
    st.lists(st.sampled_from(["focus-text", "click-link"]), unique=True),
    st.integers(0, 3),
)
ROLLOUTS = st.just({}) | st.just({"executor": "ray", "ray_cpus": 2.0}) | st.just({"per_host": 2, "host_delay_s": 1.0})
INFERENCES = st.just({}) | st.builds(
    lambda vllm: {"engine": "vllm", "vllm": vllm},
    st.sampled_from([{}, {"servers": 2, "first_gpu": 1}, {"urls": ["http://gpu-3:8000"]}]),
)
REWARDS = st.sampled_from(
    [
        {},
        {"judge__reward": "distilled"},
        {"judge__reward": "distilled", "judge__distill__vllm": {"servers": 2}, "judge__trust__min_agreement": 0.8},
        {"judge__reward": "distilled", "judge__distill__vllm": {"urls": ["http://gpu-3:8000"]}},
    ]
)
RECIPES = st.builds(
    lambda lr, objective, teacher, judge, sites, worlds, rollout, inference, reward: parse(
        raw_recipe(
            rollout=rollout,
            inference=inference,
            rl__lr=lr,
            rl__objective=objective,
            teacher=teacher,
            judge__model=judge,
            tasks__sites=sites,
            worlds=worlds,
            **reward,
        )
    ).model_dump(mode="json"),
    LR,
    OBJECTIVES,
    TEACHERS,
    JUDGES,
    st.dictionaries(st.sampled_from(["shop", "map"]), st.just("http://a.example")),
    WORLDS,
    ROLLOUTS,
    INFERENCES,
    REWARDS,
)


@settings(deadline=None)
@given(base=RECIPES, whole=RECIPES)
def test_a_difference_merged_into_its_base_gives_the_whole(base: dict, whole: dict) -> None:
    change = difference(base, whole, Params)
    assert merge(base, change, Params) == whole
    assert (change == {}) == (base == whole)


@settings(deadline=None)
@given(base=RECIPES, change=RECIPES)
def test_merging_twice_changes_nothing_more(base: dict, change: dict) -> None:
    once = merge(base, change, Params)
    assert merge(once, change, Params) == once


def merged(base: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    return merge(base, change, Params)


def test_sections_merge_and_scalars_and_lists_replace() -> None:
    base = {"seed": 0, "rl": {"lr": 1e-4, "betas": [0.9, 0.98]}, "filters": {"blocked_websites": ["a", "b"]}}
    change = {"rl": {"betas": [0.8, 0.9]}, "filters": {"blocked_websites": ["c"]}}
    assert merged(base, change) == {
        "seed": 0,
        "rl": {"lr": 1e-4, "betas": [0.8, 0.9]},
        "filters": {"blocked_websites": ["c"]},
    }


def test_a_mapping_of_names_of_ones_own_replaces() -> None:
    base = {"tasks": {"sites": {"shop": "http://a", "map": "http://b"}, "files": []}}
    assert merged(base, {"tasks": {"sites": {"map": "http://c"}}})["tasks"] == {
        "sites": {"map": "http://c"},
        "files": [],
    }


def test_null_removes_a_section_and_what_follows_it_starts_anew() -> None:
    base = {"judge": {"model": {"endpoint": ENDPOINT, "protocol": "webjudge"}}}
    without = merged(base, {"judge": {"model": None}})
    assert without == {"judge": {"model": None}}
    assert merged(without, {"judge": {"model": {"endpoint": ENDPOINT}}}) == {"judge": {"model": {"endpoint": ENDPOINT}}}


def test_another_kind_keeps_none_of_the_bases_keys() -> None:
    base = {"rl": {"objective": {"name": "mm_grpo", "clip_low": 0.1, "tis_cap": 2.0}, "lr": 1e-4}}
    assert merged(base, {"rl": {"objective": {"name": "rft", "epochs": 3}}}) == {
        "rl": {"objective": {"name": "rft", "epochs": 3}, "lr": 1e-4}
    }


@pytest.mark.parametrize("base", [{"name": "mm_grpo", "clip_low": 0.1}, {"clip_low": 0.1}], ids=["named", "by default"])
@pytest.mark.parametrize("change", [{"name": "mm_grpo", "kl": 1}, {"kl": 1}], ids=["named", "inherited"])
def test_the_same_kind_keeps_the_bases_keys(base: dict, change: dict) -> None:
    objective = merged({"rl": {"objective": base}}, {"rl": {"objective": change}})["rl"]["objective"]
    assert (objective["clip_low"], objective["kl"]) == (0.1, 1)


@pytest.mark.parametrize(
    ("base", "change", "whole"),
    [
        (
            {"rl": {"shuffle": "trajectories", "lr": 1e-4}},
            {"rl": {"objective": {"name": "rft"}}},
            {"rl": {"objective": {"name": "rft"}, "lr": 1e-4}},
        ),
        (
            {"rl": {"objective": {"replay": 0.5, "replay_turns": 32}}},
            {"rl": {"objective": {"replay": 0.0}}},
            {"rl": {"objective": {"replay": 0.0}}},
        ),
        (
            {"inference": {"engine": "vllm", "vllm": {"servers": 4, "first_gpu": 4, "max_in_flight": 8}}},
            {"inference": {"vllm": {"urls": ["http://a:1"]}}},
            {"inference": {"engine": "vllm", "vllm": {"urls": ["http://a:1"], "max_in_flight": 8}}},
        ),
        (
            {"inference": {"engine": "vllm", "vllm": {"servers": 4}}},
            {"inference": {"engine": "transformers"}},
            {"inference": {"engine": "transformers"}},
        ),
        (
            {"rollout": {"per_host": 8, "host_delay_s": 1.0}},
            {"rollout": {"per_host": None}},
            {"rollout": {"per_host": None}},
        ),
        (
            {"judge": {"reward": "distilled", "distill": {"vllm": {"servers": 2}, "screenshots": 1}}},
            {"judge": {"reward": "model"}},
            {"judge": {"reward": "model", "distill": {"screenshots": 1}}},
        ),
        (
            {"judge": {"reward": "distilled", "trust": {"min_agreement": 0.8}}},
            {"judge": {"reward": "rules"}},
            {"judge": {"reward": "rules"}},
        ),
        (
            {"judge": {"reward": "distilled", "distill": {"vllm": {"servers": 2}}}},
            {"judge": {"reward": "rules", "distill": {"vllm": {"servers": 3}}}},
            {"judge": {"reward": "rules", "distill": {"vllm": {"servers": 3}}}},
        ),
    ],
    ids=["objective", "replay", "urls", "engine", "pace", "judge's servers", "trust", "its own"],
)
def test_a_key_that_loses_its_effect_is_not_inherited(base: dict, change: dict, whole: dict) -> None:
    assert merged(base, change) == whole


def test_a_key_that_the_recipe_itself_says_is_kept_and_refused_there(folder: Path) -> None:
    write("middle", {"extends": "base", "rl": {"shuffle": "trajectories"}})
    objective = {"objective": {"name": "rft"}}
    assert load(write("mine", {"extends": "middle", "rl": objective})).rl.shuffle == "turns"
    write("mine", {"extends": "middle", "rl": objective | {"shuffle": "trajectories"}})
    with pytest.raises(RecipeError, match=r"^recipes/mine\.yaml: rl\.shuffle = 'trajectories': has no effect"):
        load("recipes/mine.yaml")
    vllm = {"engine": "vllm", "vllm": {"servers": 4, "first_gpu": 4}}
    write("middle", {"extends": "base", "inference": vllm})
    write("mine", {"extends": "middle", "inference": {"engine": "transformers", "vllm": {"first_gpu": 2}}})
    with pytest.raises(RecipeError, match=r"^recipes/mine\.yaml: inference\.vllm\.first_gpu = 2: .*$") as refusal:
        load("recipes/mine.yaml")
    assert "servers" not in str(refusal.value)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose `recipes/` has `base`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recipes").mkdir()
    write("base", raw_recipe(name="base"))
    return tmp_path


def write(file: str, keys: dict) -> Path:
    path = Path(f"recipes/{file}.yaml")
    path.write_text(yaml.safe_dump(keys))
    return path


def test_a_chain_of_recipes_is_read_from_its_end(folder: Path) -> None:
    write("middle", {"extends": "base", "name": "middle", "rl": {"lr": 2e-5, "group_size": 7}})
    path = write("last", {"extends": "middle", "name": "last", "rl": {"lr": 3e-5}})
    recipe = load(path)
    assert (recipe.name, recipe.rl.lr, recipe.rl.group_size) == ("last", 3e-5, 7)
    assert changed_from_base(path) == [Change("name", "middle", "last"), Change("rl.lr", 2e-5, 3e-5)]


def test_a_recipe_elsewhere_extends_a_shipped_one_even_of_its_name(folder: Path) -> None:
    (folder / "mine").mkdir()
    (folder / "mine/base.yaml").write_text("extends: base\nseed: 5\n")
    assert load("mine/base.yaml").seed == 5


@pytest.mark.parametrize(
    ("recipes", "error"),
    [
        ({"mine": {"extends": "bass"}}, r"recipes/mine\.yaml: extends = 'bass': no such recipe; there are base$"),
        ({"mine": {"extends": ["base"]}}, r"recipes/mine\.yaml: extends = \['base'\]: give the name of one recipe"),
        ({"mine": {"extends": "mine"}}, r"recipes/mine\.yaml: extends = 'mine': .* in a circle: \S+ extends \S+$"),
        (
            {"mine": {"extends": "other"}, "other": {"extends": "mine"}},
            r"recipes/other\.yaml: extends = 'mine': .*circle: \S+mine.yaml extends \S+other.yaml extends \S+mine.yaml",
        ),
        ({"mine": {"extends": "base", "rl": {"colour": 1}}}, r"recipes/mine\.yaml: rl\.colour = 1: unknown field"),
        (
            {"mine": {"extends": "other"}, "other": {"extends": "base", "rl": {"colour": 1}}},
            r"recipes/other\.yaml: rl\.colour = 1: unknown field",
        ),
        (
            {"mine": {"extends": "other", "seed": 1}, "other": {"extends": "base", "sft": {"lr": -1}}},
            r"recipes/other\.yaml: sft\.lr = -1: .*greater than 0",
        ),
        (
            {"mine": {"extends": "other"}, "other": {"extends": "base", "rl": {"kl": 1}}},
            r"recipes/other\.yaml: rl\.kl is now rl\.objective\.kl",
        ),
        (
            {"mine": {"extends": "base", "teacher": {"policy": "endpoint", "endpoint": ENDPOINT}}},
            r"^recipes/mine\.yaml: teacher\.tasks: is missing$",
        ),
        (
            {"mine": {"extends": "base", "browser": {"viewport": [1280]}}},
            r"^recipes/mine\.yaml: browser\.viewport\.1: is missing$",
        ),
        (
            {"mine": {"extends": "other", "seed": 1}, "other": {"name": "other"}},
            r"(?m)^recipes/mine\.yaml: model: is missing$",
        ),
    ],
    ids=[
        "unknown base",
        "two bases",
        "itself",
        "circle",
        "key",
        "key of the base",
        "value of the base",
        "old key",
        "missing key of another kind",
        "missing item",
        "missing section",
    ],
)
def test_an_error_names_the_file_and_the_key(folder: Path, recipes: dict, error: str) -> None:
    for name, keys in recipes.items():
        write(name, keys)
    with pytest.raises(RecipeError, match=error):
        load("recipes/mine.yaml")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("[" * 5000 + "]" * 5000, "line 1, column 74: more than 64 levels are nested"),
        ("{a: " * 5000 + "1" + "}" * 5000, "line 1, column 260: more than 64 levels are nested"),
        ("&a [*a]", r"line 1, column 15: \*a stands inside of its own value"),
    ],
    ids=["lists", "sections", "itself"],
)
def test_a_file_that_is_nested_without_end_is_refused(folder: Path, value: str, reason: str) -> None:
    Path("recipes/mine.yaml").write_text(f"{{a: 1, b: {value}}}")
    with pytest.raises(RecipeError, match=rf"^recipes/mine.yaml: not YAML: {reason}$"):
        load("recipes/mine.yaml")


def test_a_list_of_fifty_levels_is_read(folder: Path) -> None:
    Path("recipes/mine.yaml").write_text(f"{{extends: base, seed: {'[' * 50}{']' * 50}}}")
    with pytest.raises(RecipeError, match=r"seed = .* valid integer"):
        load("recipes/mine.yaml")


def test_params_yaml_may_not_extend_since_dvc_would_miss_the_keys(folder: Path) -> None:
    Path("params.yaml").write_text("extends: base\n")
    with pytest.raises(RecipeError, match=r"params\.yaml: extends = 'base': params\.yaml has to be complete"):
        load("params.yaml")


def test_the_complete_text_has_every_key_and_says_where_it_comes_from(folder: Path) -> None:
    path = write("mine", {"extends": "base", "name": "mine", "rl": {"objective": {"name": "rft"}}})
    text = complete(path)
    assert text.startswith("# Written by `waymark use` from recipes/mine.yaml, which extends recipes/base.yaml. ")
    assert yaml.safe_load(text) == load(path).model_dump(mode="json")
    Path("params.yaml").write_text(text)
    assert load("params.yaml") == load(path)


def test_a_recipe_without_a_base_is_shown_against_the_defaults(folder: Path) -> None:
    found = changed_from_base("recipes/base.yaml")
    assert Change("observation.text", "none", "elements") in found
    assert Change("rl.lr", ..., 1e-5) in found
    assert not [change for change in found if change.key.startswith("rl.betas")]


def test_a_recipe_has_the_worlds_that_it_names_with_the_bases_keys() -> None:
    base = {"worlds": {"miniwob": {"train": ["a"], "train_per_family": 3}, "live": {}}}
    change = {"worlds": {"miniwob": {"train_per_family": 5}}}
    assert merge(base, change, Params) == {"worlds": {"miniwob": {"train": ["a"], "train_per_family": 5}}}
    assert merge(base, {"worlds": {"no_world": {}}}, Params) == {"worlds": {"no_world": {}}}


def test_null_leaves_out_a_world_of_the_base(folder: Path) -> None:
    both = {"worlds": {"miniwob": {"train_per_family": 3}, "encyclopaedia": None}}
    write("two", {"extends": "base", "worlds": {"miniwob": {}, "encyclopaedia": {}}})
    assert [*load(write("mine", {"extends": "two"} | both)).worlds] == ["miniwob"]
    assert [*load(write("again", {"extends": "mine"} | both)).worlds] == ["miniwob"], "a copy of its base's lines"


@pytest.mark.parametrize(
    ("files", "error"),
    [
        (
            {"mine": "extends: base\nworlds:\n  encyclopaedia:\n  miniwob: {}\n"},
            r"^recipes/mine\.yaml: worlds\.encyclopaedia = null: no base has this world: write `encyclopaedia: \{\}`",
        ),
        (
            {"middle": "extends: base\nworlds:\n  live:\n  miniwob: {}\n", "mine": "extends: middle\n"},
            r"^recipes/middle\.yaml: worlds\.live = null",
        ),
        (
            {"mine": "extends: base\nworlds:\n  miniwob:\n"},
            r"^recipes/mine\.yaml: worlds: miniwob = null: this leaves no world: write `miniwob: \{\}` for the base",
        ),
    ],
    ids=["no base has it", "middle", "the only one"],
)
def test_a_world_with_nothing_behind_its_name_is_refused(folder: Path, files: dict[str, str], error: str) -> None:
    for name, text in files.items():
        Path(f"recipes/{name}.yaml").write_text(text)
    with pytest.raises(RecipeError, match=error):
        load("recipes/mine.yaml")
