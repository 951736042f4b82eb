"""What the shipped recipes promise."""

from pathlib import Path

import pytest
import yaml

from components.evaluation.benchmarks import load_benchmark
from components.params import load
from components.sites import PLANS

RECIPES = sorted((Path(__file__).parent.parent / "recipes").glob("*.yaml"))
MORE_THAN_ONE_TURN = {"enter-text", "click-checkboxes-transfer", "click-button-sequence", "click-tab-2"}


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_training_and_evaluation_seeds_are_disjoint(path):
    tasks = load(path).tasks
    training = range(tasks.train_seed_start, tasks.train_seed_start + tasks.train_per_family)
    evaluation = range(
        tasks.eval_seed_start, tasks.eval_seed_start + max(tasks.eval_per_family, tasks.heldout_per_family)
    )
    assert not set(training) & set(evaluation)
    assert not set(tasks.miniwob_train) & set(tasks.miniwob_heldout)


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_the_teacher_has_a_plan_for_every_family_trained_on(path):
    assert set(load(path).tasks.miniwob_train) <= set(PLANS)


@pytest.mark.parametrize("name", ["demo", "demo-pixels"])
def test_the_demos_evaluate_at_least_200_tasks_of_8_families_and_two_never_trained_on(name):
    tasks = load(f"recipes/{name}.yaml").tasks
    assert len(tasks.miniwob_train) >= 8
    assert len(tasks.miniwob_train) * tasks.eval_per_family >= 200
    assert len(tasks.miniwob_heldout) == 2


def test_the_demo_has_families_that_need_more_than_one_turn():
    assert set(load("recipes/demo.yaml").tasks.miniwob_train) >= MORE_THAN_ONE_TURN


def test_the_recipe_in_use_is_valid():
    load("params.yaml")


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_spells_out_every_key(path):
    """DVC does not see defaults: were one changed in the code, no stage would become stale."""
    assert unspoken(load(path).model_dump(mode="json"), yaml.safe_load(path.read_text())) == []


def unspoken(complete: dict, written: dict, prefix: str = "") -> list[str]:
    missing = [prefix + key for key in complete if key not in written]
    for key, value in complete.items():
        if isinstance(value, dict) and key in written:
            missing += unspoken(value, written[key], f"{prefix}{key}.")
    return missing


def test_openwebrls_recipe_has_the_numbers_of_its_table_7():
    recipe = load("recipes/openwebrl-4b.yaml")
    rl, agent = recipe.rl, recipe.agent
    assert (rl.effective_groups, rl.group_size, rl.ppo_epochs, rl.batch_turns) == (48, 5, 2, 256)
    assert (rl.clip_low, rl.clip_high, rl.weight_decay, rl.temperature, rl.objective) == (
        0.2,
        0.28,
        0.1,
        0.8,
        "mm_grpo",
    )
    assert (rl.short.iterations, rl.short.max_steps, rl.long.max_steps) == (90, 15, 30)
    assert (agent.max_response_tokens, agent.max_context_tokens) == (1024, 32768)
    assert (recipe.observation.screenshots, recipe.judge.screenshots, recipe.browser.viewport) == (1, 3, (1280, 720))
    assert (load("recipes/openwebrl-8b.yaml").rl.lr, rl.lr) == (5e-7, 1e-6)


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_for_the_web_keeps_a_pace(path):
    recipe = load(path)
    if recipe.sites.world == "live" and recipe.browser.egress.allowed_hosts == ["*"]:
        assert recipe.rollout.per_host is not None
        assert recipe.rollout.host_delay_s > 0


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_reference_answers_are_joined_to_the_questions_that_they_were_written_for(path):
    """Fara's 595 changed the words of 86 of WebVoyager's questions: the published answers are not to those."""
    published = [load_benchmark(one).file for one in sorted((RECIPES[0].parent / "benchmarks").glob("*.yaml"))]
    joined = {(one.name, one.answers.name) for one in published if one is not None and one.answers is not None}
    for file in load(path).tasks.files:
        assert file.answers is None or (Path(file.path).name, Path(file.answers).name) in joined
