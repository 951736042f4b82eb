"""A bad recipe is refused before anything starts, with the field, the value and what is allowed."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from components.params import RecipeError, load, parse
from components.params.recipe_file import RecipeLoader, syntax_problem
from tests.samples import RECIPE, raw_recipe, recipe

SHIPPED = sorted((Path(__file__).parent.parent / "recipes").glob("*.yaml"))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_every_shipped_recipe_parses_and_has_the_name_of_its_file(path: Path) -> None:
    assert load(path).name == path.stem


@pytest.mark.parametrize(
    ("training_s", "evaluation_s", "limit"), [(30, None, 120), (300, None, 300), (30, 60, 60), (300, 60, 60)]
)
def test_evaluation_has_its_own_limits(training_s: float, evaluation_s: float | None, limit: float) -> None:
    agent = {"max_response_tokens": 64, "max_context_tokens": 8192, "inference_timeout_s": training_s}
    made = recipe(agent=agent, evaluation__inference_timeout_s=evaluation_s, evaluation__max_response_tokens=4096)
    assert (made.evaluation_agent.inference_timeout_s, made.evaluation_agent.max_response_tokens) == (limit, 4096)
    assert made.agent.inference_timeout_s == training_s


def test_recipes_are_shipped() -> None:
    assert "demo" in [path.stem for path in SHIPPED]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"rl__lr": -1}, ["rl.lr = -1", "greater than 0"]),
        ({"rl__lr": "fast"}, ["rl.lr = 'fast'", "valid number"]),
        ({"seed": True}, ["seed = True: must be a number, and YAML reads yes, no, on, off, true and false as"]),
        ({"rl__format_error": False}, ["rl.format_error = False: must be a number"]),
        ({"rollout__per_host": True}, ["rollout.per_host = True: must be a number"]),
        ({"inference__vllm": {"engine": {"a": [1]}}}, ["inference.vllm.engine: a = [1] must be a text, a number"]),
        ({"teacher": None}, ["teacher = None: must be a section"]),
        ({"teacher": "scripted"}, ["teacher = 'scripted': must be a section"]),
        ({"rl__lr": float("nan")}, ["rl.lr = nan", "finite"]),
        ({"evaluation__sampling": {"temperature": float("inf")}}, ["evaluation.sampling.temperature = inf", "finite"]),
        ({"rl__short__iterations": 1.5}, ["rl.short.iterations = 1.5", "valid integer"]),
        ({"rl__group_size": 1}, ["rl.group_size = 1", "greater than or equal to 2"]),
        ({"rl__steps": 7}, ["rl.steps = 7: unknown field", "group_size"]),
        ({"rl__short__horizon": 9}, ["rl.short.horizon = 9: unknown field", "iterations, max_steps"]),
        ({"relf": {}}, ["relf = {}: unknown field", "evaluation, filters"]),
        ({"rl__lr": ...}, ["rl.lr: is missing"]),
        ({"judge": ...}, ["judge: is missing"]),
        ({"evaluation__max_response_tokens": 1024}, ["evaluation.max_response_tokens = 1024 must be smaller than"]),
        (
            {"observation__text": "pdf"},
            ["observation.text = 'pdf'", "'none', 'elements', 'elements_with_owners', 'axtree' or 'html'"],
        ),
        ({"agent__protocol": "browseragent"}, ["browseragent acts on element ids", "axtree or html, not"]),
        ({"model__device": "tpu"}, ["model.device = 'tpu'", "'cpu' or 'cuda'"]),
        ({"model__lora": {"rank": 0, "alpha": 8}}, ["model.lora.rank = 0", "greater than 0"]),
        ({"model__lora": {"rank": 4}}, ["model.lora.alpha: is missing"]),
        ({"model__lora": {"rank": 4, "alpha": 8, "bias": 1}}, ["lora.bias = 1: unknown field", "alpha, dropout, rank"]),
        ({"judge__reward": "gpt"}, ["judge.reward = 'gpt'", "'rules', 'distilled' or 'model'"]),
        ({"judge__distill__holdout_share": 1}, ["judge.distill.holdout_share = 1", "less than 1"]),
        ({"browser__viewport": [160]}, ["browser.viewport.1: is missing"]),
        ({"sft": 3}, ["sft = 3", "must be a section, which is a mapping of its keys"]),
    ],
)
def test_a_wrong_field_is_named_with_its_value_and_what_is_allowed(change: dict, said: list[str]) -> None:
    with pytest.raises(RecipeError) as refusal:
        parse(raw_recipe(**change), "params.yaml")
    assert str(refusal.value).startswith("params.yaml: ")
    for part in said:
        assert part in str(refusal.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"worlds__miniwob__eval_seed_start": 3},
            r"eval_seed_start = 3 must be at least train_seed_start \+ train_per_family = 4",
        ),
        ({"worlds__miniwob__heldout": ["click-button"]}, r"\['click-button'\] are both trained on and held out"),
        (
            {"worlds__miniwob__rl": ["click-button"]},
            r"\['click-button'\] are in train and in rl: RL trains on those of",
        ),
        ({"dedup__rl_threshold": 1.01}, "rl_threshold = 1.01 must not exceed sft_threshold = 0.99"),
        ({"rl__max_sampled_groups": 1}, "max_sampled_groups = 1 must be at least effective_groups = 2"),
        ({"agent__max_response_tokens": 1024}, "max_response_tokens = 1024 must be smaller than .* = 1024"),
        (
            {"model__lora": {"rank": 4, "alpha": 8}, "model__train_vision": True},
            "set model.train_vision to false, or model.lora to null",
        ),
        (
            {"judge__trust__min_precision": 0.8},
            r"min_precision = 0.8 compares .* judge.reward = rules leaves none: set it to 0",
        ),
        (
            {"judge__trust__min_precision": 0.8, "judge__reward": "distilled", "rl__validation__every": 0},
            r"min_precision = 0.8 ends a phase with the best policy on validation: set rl.validation.every above 0",
        ),
        ({"teacher__policy": "openai"}, "teacher.policy = 'openai': must be one of 'scripted', 'endpoint'"),
        (
            {"quality__min_positive": 0.9, "quality__max_positive": 0.1},
            "min_positive = 0.9 must not exceed max_positive = 0.1",
        ),
    ],
)
def test_a_combination_that_cannot_work_is_refused_with_its_values(change: dict, said: str) -> None:
    with pytest.raises(RecipeError, match=said):
        parse(raw_recipe(**change))


def test_all_wrong_fields_are_named_at_once() -> None:
    with pytest.raises(RecipeError) as refusal:
        parse(raw_recipe(rl__lr=0, curate__max_trajectories=0, model__colour="red"))
    assert len(str(refusal.value).splitlines()) == 3


def test_a_learning_rate_may_be_written_as_yaml_reads_it_as_text() -> None:
    raw = yaml.safe_load(yaml.safe_dump(RECIPE).replace("lr: 1.0e-05", "lr: 1e-5"))
    assert raw["rl"]["lr"] == "1e-5"
    assert parse(raw).rl.lr == 1e-5


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- a\n- b\n", "a recipe is a mapping of sections, this is a list"),
        ("", "this file is empty"),
        ("? [a, b]\n: 1\n", r"not YAML: line 1, column 3: \['a', 'b'\] is no name of a key"),
        ("rl: [", "not YAML: line 1, column 6: expected the node content, but found '<stream end>'$"),
        ("name: \x07", "not YAML: unacceptable character #x0007: special characters are not allowed"),
        ("name: ''", "name = '': must have at most 100 letters, digits"),
        ("name: leaderboard", "name = 'leaderboard': Waymark writes reports/leaderboard.html itself: choose another"),
        ("name: calibration", "name = 'calibration': Waymark writes reports/calibration.json itself: choose another"),
        (yaml.safe_dump(RECIPE) + "\nrl: {}\n", "found 'rl' twice"),
        ("sft:\n  lr: 1\n  lr: 2\n", "found 'lr' twice"),
    ],
)
def test_a_file_that_is_no_recipe_is_refused_by_its_name(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(RecipeError, match=said) as refusal:
        load(path)
    assert str(path) in str(refusal.value)


MERGED = """
extends: base
rl:
  long: {max_steps: 3}
  short: {<<: &steps {iterations: 7, max_steps: 4}, max_steps: 8}
evaluation: {sampling: {<<: [{temperature: 0.5}, {temperature: 0.6, top_p: 0.9}]}}
"""


def test_merge_keys_of_yaml_are_read(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(yaml.safe_dump(RECIPE))
    (tmp_path / "mine.yaml").write_text(MERGED)
    made = load(tmp_path / "mine.yaml")
    assert (made.rl.short.iterations, made.rl.short.max_steps) == (7, 8)
    assert (made.evaluation.sampling.temperature, made.evaluation.sampling.top_p) == (0.5, 0.9)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: &a {x: 1}\np: {b: &b {<<: *a, x: 2}}\nc: {<<: *b}\n", None),
        ("a: &a {x: 1, x: 2}\nc: {<<: *a}\n", "line 1, column 14: found 'x' twice"),
        ("a: &a {x: 1}\nc: {<<: *a, y: 1, y: 2}\n", "line 2, column 19: found 'y' twice"),
    ],
    ids=["merged before it is read", "in the merged one", "beside the merged one"],
)
def test_a_key_may_be_merged_and_beside_the_merge_but_not_twice_in_either(text: str, said: str | None) -> None:
    if said is None:
        assert yaml.load(text, RecipeLoader) == {"a": {"x": 1}, "p": {"b": {"x": 2}}, "c": {"x": 2}}
        return
    with pytest.raises(yaml.YAMLError) as refused:
        yaml.load(text, RecipeLoader)
    assert syntax_problem(refused.value) == said


def test_a_missing_recipe_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"waymark use recipes/demo.yaml"):
        load(tmp_path / "params.yaml")


def test_a_name_without_a_recipe_is_answered_with_the_names_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RecipeError, match=r"dem: no such recipe; recipes/ has none either: go to the folder"):
        load("dem")
    (tmp_path / "recipes").mkdir()
    (tmp_path / "recipes/demo.yaml").touch()
    (tmp_path / "recipes/mine.yaml").touch()
    with pytest.raises(RecipeError, match=r"dem: no such recipe; there are demo, mine in recipes/; name one of them"):
        load("dem")


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_bytes(b"\xff\xfe\x00name")
    with pytest.raises(RecipeError, match="not YAML: byte 0 is not UTF-8: save the file as UTF-8"):
        load(tmp_path / "params.yaml")


@pytest.mark.parametrize(
    ("urls", "message"),
    [
        (["gpu-3:8000"], "write http://HOST:PORT without a password"),
        (["http://:8000"], "write http://HOST:PORT without a password"),
        (["http://user:secret@gpu-3:8000"], r"user:\*\*\*@.*write http://HOST:PORT without a password"),
        (["http://gpu-3:8000/v1"], "write the server's address alone, http://gpu-3:8000"),
        (["http://gpu-3:8000", "http://gpu-3:8000/"], "name each once"),
    ],
)
def test_addresses_of_servers_are_checked(urls, message):
    with pytest.raises(RecipeError, match=message) as refused:
        parse(raw_recipe(inference__engine="vllm", inference__vllm__urls=urls))
    assert "secret" not in str(refused.value)


def test_servers_by_url_are_for_the_engine_vllm():
    with pytest.raises(
        RecipeError, match=r"vllm\.urls = .* with inference\.engine = transformers: .* set inference\.engine to vllm"
    ):
        parse(raw_recipe(inference__vllm__urls=["http://gpu-3:8000"]))
    served = parse(raw_recipe(inference__engine="vllm", inference__vllm__urls=["http://gpu-3:8000/", "https://a:1"]))
    assert served.inference.vllm.urls == ["http://gpu-3:8000", "https://a:1"]
    assert served.inference.vllm.count == 2


def test_only_servers_sample_from_what_is_spread_over_processes():
    with pytest.raises(RecipeError, match=r"inference\.engine = transformers samples from: set it to vllm"):
        parse(raw_recipe(training__shard=True))
    served = {"training__shard": True, "inference__engine": "vllm", "rl__max_staleness": 1}
    for model in ({"model__lora": {"rank": 4, "alpha": 8}}, {"model__train_vision": True}):
        assert parse(raw_recipe(**served, **model)).training.shard


@pytest.mark.parametrize(
    "name", ["demo", "demo-judge", "demo-pixels", "webgym-demo", "webagent-r1-demo", "browseragent-demo", "city-demo"]
)
def test_small_recipes_have_no_scroll_bars_as_their_bases_saw_none(name: str) -> None:
    assert not load(Path(__file__).parent.parent / f"recipes/{name}.yaml").browser.scroll_bars


@pytest.mark.parametrize(("name", "bars"), [("one-gpu", True), ("openwebrl-4b", False)])
def test_large_models_see_scroll_bars_unless_the_authors_agent_saw_none(name: str, bars: bool) -> None:
    assert load(Path(__file__).parent.parent / f"recipes/{name}.yaml").browser.scroll_bars == bars


@pytest.mark.parametrize(("name", "dialogs"), [("openwebrl-4b", "ask"), ("webgym-8b", "ask"), ("demo", "accept")])
def test_recipes_for_the_live_web_let_the_agent_answer_dialogs(name: str, dialogs: str) -> None:
    assert load(Path(__file__).parent.parent / f"recipes/{name}.yaml").browser.dialogs == dialogs
