"""What the shipped recipes promise."""

from pathlib import Path

import pytest
import yaml

from components.architecture import architecture_of
from components.benchmarks.spec import load_benchmark
from components.params import load, read_chain
from components.worlds.miniwob.params import MiniWoBParams

ROOT = Path(__file__).parent.parent
RECIPES = sorted((ROOT / "recipes").glob("*.yaml"))
REPEATED: dict[str, set[str]] = {"webagent-r1-4b": {"rl.objective.tis_cap"}, "browseragent-demo": {"rl.long.max_steps"}}
"""Values of a base that a recipe says again, for a reader or because the kind of the section changed."""
MORE_THAN_ONE_TURN = {"enter-text", "click-checkboxes-transfer", "click-button-sequence", "click-tab-2"}


@pytest.mark.parametrize("name", ["demo", "demo-pixels"])
def test_demos_evaluate_200_tasks_of_8_families_and_2_never_trained_on(name):
    families = miniwob(name)
    assert len(families.train) >= 8
    assert len(families.train) * families.eval_per_family >= 200
    assert len(families.heldout) == 2


def test_the_demo_has_families_that_need_more_than_one_turn():
    assert set(miniwob("demo").train) >= MORE_THAN_ONE_TURN


def miniwob(name: str) -> MiniWoBParams:
    section = load(f"recipes/{name}.yaml").worlds["miniwob"]
    assert isinstance(section, MiniWoBParams)
    return section


def test_the_recipe_in_use_is_valid():
    load("params.yaml")


def test_the_recipe_in_use_spells_out_every_key():
    """DVC does not see defaults: were one changed in the code, no stage would become stale."""
    written = yaml.safe_load((ROOT / "params.yaml").read_text())
    assert written == load(ROOT / "params.yaml").model_dump(mode="json")


def test_shipped_recipes_say_only_what_a_reader_wants_to_know():
    files = [
        path for path in (ROOT / "recipes").rglob("*.yaml") if path.parent.name != "studies"
    ]  # those are no recipes
    lines = {path: len(path.read_text().splitlines()) for path in files}
    assert lines[ROOT / "recipes/openwebrl-8b.yaml"] <= 15
    assert sum(lines[path] for path in RECIPES) <= 600
    assert max(lines.values()) <= 80


@pytest.mark.parametrize("path", [path for path in RECIPES if read_chain(path, ROOT)[1:]], ids=lambda path: path.stem)
def test_a_recipe_repeats_no_value_of_its_base(path):
    chain = read_chain(path, ROOT)
    base, said = (load(chain[1].path).model_dump(mode="json"), chain[0].keys)
    repeated = set(flat(said)) & set(flat(base))
    assert {key for key, value in repeated} <= REPEATED.get(path.stem, set())


def flat(keys: dict, prefix: str = "") -> list[tuple[str, str]]:
    lines = []
    for key, value in keys.items():
        lines += flat(value, f"{prefix}{key}.") if isinstance(value, dict) else [(prefix + key, repr(value))]
    return lines


def test_openwebrls_recipe_has_the_numbers_of_its_table_7():
    recipe = load("recipes/openwebrl-4b.yaml")
    rl, agent = recipe.rl, recipe.agent
    objective = rl.objective
    assert (rl.effective_groups, rl.group_size, objective.ppo_epochs, rl.batch_turns) == (48, 5, 2, 256)
    assert (objective.clip_low, objective.clip_high, objective.name) == (0.2, 0.28, "mm_grpo")
    assert (rl.weight_decay, rl.temperature) == (0.1, 0.8)
    assert (rl.short.iterations, rl.short.max_steps, rl.long.max_steps) == (90, 15, 30)
    assert (agent.max_response_tokens, agent.max_context_tokens) == (1024, 32768)
    assert (recipe.observation.screenshots, recipe.judge.distill.screenshots, recipe.browser.viewport) == (
        1,
        3,
        (1280, 720),
    )
    assert (load("recipes/openwebrl-8b.yaml").rl.lr, rl.lr) == (5e-7, 1e-6)


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_for_the_web_limits_its_request_rate(path):
    recipe = load(path)
    if "live" in recipe.worlds and recipe.browser.egress.allowed_hosts == ["*"]:
        assert recipe.rollout.per_host is not None
        assert recipe.rollout.host_delay_s > 0


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_reference_answers_are_joined_to_their_questions(path):
    """Fara's 595 changed the words of 86 of WebVoyager's questions: the published answers are not to those."""
    published = [load_benchmark(one).file for one in sorted((RECIPES[0].parent / "benchmarks").glob("*.yaml"))]
    joined = {(one.name, one.answers.name) for one in published if one is not None and one.answers is not None}
    for file in load(path).tasks.files:
        assert file.answers is None or (Path(file.path).name, Path(file.answers).name) in joined


@pytest.mark.parametrize("name", ["openwebrl-4b", "openwebrl-8b", "webgym-8b", "browseragent-8b"])
def test_a_full_size_recipe_is_validated_during_rl(name):
    rl = load(ROOT / f"recipes/{name}.yaml").rl
    assert rl.validation.every
    assert rl.checkpoints.every % rl.validation.every == 0, "a validated policy has a checkpoint, too"


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_a_large_judge_that_rewards_has_servers(path):
    """In the trainer's process a model of 4B takes 54 ms for a token of 8 answers, on an H200."""
    params = load(path)
    if params.model.device == "cuda" and params.judge.reward == "distilled":
        parameters = architecture_of(params.model.judge_base).matrix_parameters
        assert parameters < 1e9 or params.judge.distill.vllm is not None


def test_webagent_r1_sets_no_training_task_aside():
    """The paper's appendix B: RL uses the 647 training tasks."""
    recipe = load(ROOT / "recipes/webagent-r1-4b.yaml")
    assert not recipe.rl.validation.every
    assert recipe.dedup.max_similar > 647


def test_webgyms_recipe_drops_no_training_task_that_the_paper_samples():
    """Section 5.3: uniform sampling from the full training set. The overlap protects the evaluation."""
    recipe = load(ROOT / "recipes/webgym-8b.yaml")
    filters, dedup = recipe.filters, recipe.dedup
    assert (filters.drop_decomposed, filters.drop_login, filters.min_tasks_per_website) == (False, False, 1)
    assert (dedup.sft_threshold, dedup.rl_threshold, dedup.embedder) == (1.01, 1.01, "minilm")
    assert filters.overlap_threshold == 0.9


@pytest.mark.parametrize("name", ["city-demo", "webagent-r1-4b"])
def test_rounding_decides_about_no_task_of_equal_words(name):
    dedup = load(ROOT / f"recipes/{name}.yaml").dedup
    assert dedup.sft_threshold == dedup.rl_threshold == 0.999


def test_the_checkpoints_of_a_4b_run_stay_below_a_terabyte():
    rl = load(ROOT / "recipes/openwebrl-4b.yaml").rl
    written = (rl.short.iterations + rl.long.iterations) / rl.checkpoints.every
    assert written * 12 * 4.0e9 < 1e12
