"""Changes with which a refused recipe fits: no needless key, the savings that cost least, and the shortest time."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.params import RecipeError, find, read_chain
from components.params.loading import RECIPES as RECIPES_FOLDER
from components.plan import PlanOptions, parsed_bytes, plan
from components.plan.fit import _Search, recipe_with
from components.plan.hardware import device_named
from components.plan.placement import Machine, memory_plans, shortage
from components.plan.time_plan import wall_time
from components.serving_limits import all_refusals

ONE_GPU = Path("one-gpu")
RECIPES = [
    ("one-gpu", "H100", 1, "16GiB"),
    ("one-gpu", "L4", 1, "12GiB"),
    ("openwebrl-4b", "A100-40", 4, "40GiB"),
    ("smoke", None, 1, "2.5GiB"),
]


def fits(recipe: Path, changes: dict, machine: Machine) -> bool:
    """Whether the memory suffices, without the search for a remedy that a plan makes if it does not."""
    try:
        params = recipe_with(recipe, changes)
    except RecipeError:
        return False
    return not all_refusals(params) and not shortage(memory_plans(params, machine), params, machine)


@pytest.mark.every(4)
@pytest.mark.parametrize(("name", "device", "devices", "memory"), RECIPES)
def test_every_key_of_a_remedy_is_needed(name, device, devices, memory):
    recipe = Path(name)
    planned = plan(recipe, PlanOptions({}, device, devices, parsed_bytes(memory)))
    changes = planned.remedy
    assert changes
    assert fits(recipe, changes, planned.machine)
    for key in changes:
        fewer = {other: value for other, value in changes.items() if other != key}
        assert not fits(recipe, fewer, planned.machine), key


@pytest.mark.parametrize(
    ("devices", "place"), [(1, {"judge.distill.vllm": None}), (4, {"judge.distill.vllm.first_gpu": 3})]
)
def test_fewer_gpus_move_the_judges_servers_and_keep_its_reward(devices, place):
    """A model as the reward would be another method."""
    changes = plan(Path("openwebrl-4b"), PlanOptions({}, "A100-80", devices)).remedy
    assert changes is not None
    assert place.items() <= changes.items()
    assert not any(key.startswith(("judge.reward", "judge.trust")) for key in changes)


def test_browsers_are_kept_where_a_server_has_their_memory():
    changes = plan(ONE_GPU, PlanOptions({"agent.max_context_tokens": 250_000})).remedy
    assert changes is not None
    assert "browser.concurrency" not in changes


@pytest.mark.parametrize("memory", ["10GiB", "12GiB"])
def test_a_small_gpu_is_enough_with_fewer_questions_and_browsers(memory):
    changes = plan(ONE_GPU, PlanOptions(device_memory=parsed_bytes(memory))).remedy
    assert changes is not None
    assert set(changes) == {"inference.engine", "judge.distill.decoding_tokens", "browser.concurrency"}


def test_a_remedy_takes_no_longer_than_the_server_with_a_fitting_share():
    size = parsed_bytes("16GiB")
    served = plan(ONE_GPU, PlanOptions({"inference.vllm.engine": {"gpu_memory_utilization": 0.43}}, device_memory=size))
    assert served.fits
    changes = plan(ONE_GPU, PlanOptions(device_memory=size)).remedy
    assert changes is not None
    quickest = plan(ONE_GPU, PlanOptions(changes, device_memory=size))
    assert wall_time(quickest.recipe, quickest.machine) <= wall_time(served.recipe, served.machine)


def test_a_server_gets_the_share_that_the_trainer_leaves():
    # the trainer needs 8.50 of 16 GiB in an update: 1 - 0.531 = 0.469; one sequence of the server needs 6.84 GiB
    machine = Machine(device_named("H100", True, parsed_bytes("16GiB")), 1)
    search = _Search(read_chain(find(ONE_GPU), RECIPES_FOLDER), {}, machine)
    start = search.start({})  # the recipe's own layout
    assert start is not None
    assert search.options(start) == [{"inference.vllm.engine.gpu_memory_utilization": 0.46}]


def test_a_server_sleeps_where_that_alone_makes_it_fit():
    # the update needs 8.5 GiB and the rollouts 6.1, and the server has 8
    wide = {"inference.vllm.engine": {"gpu_memory_utilization": 0.5}}
    size = parsed_bytes("16GiB")
    machine = Machine(device_named(None, True, size), 1)
    assert not fits(ONE_GPU, wide, machine)
    assert fits(ONE_GPU, {**wide, "inference.vllm.sleeps": True}, machine)


@pytest.mark.parametrize("device", ["H100", "L4"])
def test_a_server_that_sleeps_is_the_remedy_where_it_is_the_fastest(device):
    # awake, the server gets 1 - 6.07 / 16 = 0.62 of the GPU: four sequences; beside an update it gets one
    size = parsed_bytes("16GiB")
    changes = plan(ONE_GPU, PlanOptions(device=device, device_memory=size)).remedy
    assert changes == {"inference.vllm.sleeps": True, "inference.vllm.engine.gpu_memory_utilization": 0.62}


def test_devices_that_train_and_serve_in_turns_spare_a_recipe_adapters():
    # one for each, as the recipe divides them, would not hold the weights and their optimiser on a single one
    changes = plan(Path("webagent-r1-4b"), PlanOptions(device="H100", devices=2)).remedy
    assert changes is not None
    assert "model.lora" not in changes
    assert (changes["training.processes"], changes["inference.vllm.servers"]) == (2, 2)
    assert changes["inference.vllm.sleeps"] is True


def test_a_recipe_for_a_long_context_gets_a_server_that_sleeps():
    changes = plan(ONE_GPU, PlanOptions({"agent.max_context_tokens": 250_000})).remedy
    assert changes is not None
    assert changes["inference.vllm.sleeps"] is True


KIND, WEIGHT = {"rl.objective.name": "m_grpo"}, {"rl.objective.kl": 0.1}


@pytest.mark.parametrize("settings", [KIND | WEIGHT, WEIGHT | KIND])
def test_a_key_of_another_kind_is_planned_in_either_order(settings):
    assert recipe_with(Path("demo"), settings).rl.objective.kl == 0.1


@pytest.mark.parametrize(
    ("settings", "worlds"),
    [
        ({"worlds.miniwob.eval_per_family": 18}, ["miniwob", "encyclopaedia"]),
        ({"worlds.encyclopaedia": None}, ["miniwob"]),
        ({"worlds": {"miniwob": {}}, "worlds.miniwob.eval_per_family": 18}, ["miniwob"]),
    ],
)
def test_a_setting_inside_a_world_leaves_the_other_worlds(tmp_path, settings, worlds):
    (tmp_path / "web.yaml").write_text("name: web\nextends: demo\nworlds: {miniwob: {}, live: {}}\n")
    recipe = tmp_path / "two.yaml"
    recipe.write_text("name: two\nextends: web\nworlds: {miniwob: {}, encyclopaedia: {}, live: null}\n")
    assert [*recipe_with(recipe, settings).worlds] == worlds


def test_a_key_inside_a_section_that_is_null_starts_from_the_defaults():
    settings = {"seed": 7, "rl.validation": None, "rl.validation.every": 2, "rl.validation.tasks": 5}
    params = recipe_with(Path("demo"), settings)
    assert (params.rl.validation.every, params.rl.validation.tasks) == (2, 5)
    assert (params.seed, params.rl.validation.heldout) == (7, 0), "the recipe has 4"


def test_a_setting_that_another_one_makes_useless_is_refused():
    settings = {"inference.vllm.max_in_flight": 7, "inference.engine": "transformers"}
    with pytest.raises(RecipeError, match=r"--set: inference\.vllm\.max_in_flight = 7: has no effect"):
        recipe_with(ONE_GPU, settings)
