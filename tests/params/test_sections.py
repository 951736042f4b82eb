"""Keys belong to the kind that reads them; old keys are named with the new ones; what affects no result is marked."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.params import (
    TOLERANCES,
    Params,
    RecipeError,
    ScriptedTeacherParams,
    Section,
    deciding,
    parse,
)
from components.params.choice import choice_of, sections_in
from components.params.old_keys import RENAMED
from tests.samples import raw_recipe, recipe

ROOT = Path(__file__).parents[2]
ENDPOINT = {"url": "http://127.0.0.1:1/v1", "model": "a/b"}
JUDGE = raw_recipe()["judge"] | {"model": {"endpoint": ENDPOINT}}
RETRAIN = {"every": 4, "optim": {"epochs": 1, "lr": 1e-4, "batch_size": 16}}
BY_HAND = {"min_agreement": 0.8, "labels": {"file": "mine.csv"}}


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (
            {"teacher__policy": "endpoint", "teacher__endpoint": {"url": "api.openai.com/v1", "model": "m"}},
            r"teacher\.endpoint\.url = 'api\.openai\.com/v1': must begin with http:// or https://",
        ),
        (
            {"inference__vllm__sleeps": True, "rl__max_staleness": 1},
            r"inference\.vllm\.sleeps: true needs inference\.engine: vllm, model\.device: cuda, rl\.max_staleness: 0; "
            r"or set inference\.vllm\.sleeps: false",
        ),
        (
            {
                "inference": {"engine": "vllm", "vllm": {"transfer": "ipc", "first_gpu": 1}},
                "model__device": "cuda",
            },
            r"inference\.vllm\.transfer: ipc needs inference\.vllm\.first_gpu: 0; "
            r"or set inference\.vllm\.transfer: disk",
        ),
        *[
            (
                {"dedup": {"sft_threshold": threshold, "rl_threshold": 0.9}},
                r"dedup\.sft_threshold = .*: .* write 1\.01 \(no task is a duplicate\) or 0\.999 \(equal words are\)",
            )
            for threshold in (1.0, 0.99991, 1.00009)
        ],
        ({"seed": -1}, r"seed = -1: Input should be greater than or equal to 0"),
        ({"seed": 2**32}, r"seed = 4294967296: Input should be less than 4294967296"),
        *[
            ({"name": name}, r"must have at most 100 letters, digits")
            for name in ("a/b", "..", "-a", "a b", "a\n", "é")
        ],
        ({"rl__group_size": 10**9}, r"rl\.group_size = 1000000000: Input should be less than or equal to 1024"),
        ({"rl__short__iterations": 10**9}, r"iterations = 1000000000: Input should be less than or equal to 100000"),
        ({"teacher__attempts": 1025}, r"teacher\.attempts = 1025: Input should be less than or equal to 1024"),
        ({"evaluation__max_steps": 10_001}, r"max_steps = 10001: Input should be less than or equal to 10000"),
        ({"browser__concurrency": 10_001}, r"concurrency = 10001: Input should be less than or equal to 10000"),
        ({"pretrain__seed": -1}, r"pretrain\.seed = -1: Input should be greater than or equal to 0"),
        (
            {"rl__objective": {"name": "filtered_bc", "tis_cap": 2.0}},
            r"rl\.objective\.tis_cap = 2\.0: unknown field where name = filtered_bc; allowed here: drop_repeats",
        ),
        (
            {"rl__objective": {"name": "rft", "max_logprob_gap": 5.0}},
            r"unknown field where name = rft; .*max_per_source",
        ),
        (
            {"rl__objective": {"drop_repeats": True}},
            r"rl\.objective\.drop_repeats = True: unknown field where name = mm_grpo",
        ),
        ({"rl__objective": {"name": "ppo"}}, r"rl\.objective\.name = 'ppo': must be one of 'filtered_bc', 'm_grpo'"),
        ({"rl__objective": {"clip_low": 0}}, r"rl\.objective\.clip_low = 0: .*greater than 0"),
        ({"teacher__temperature": 1.0}, r"teacher\.temperature = 1\.0: unknown field where policy = scripted"),
        (
            {"teacher": {"policy": "endpoint", "endpoint": ENDPOINT, "tasks": 1, "noise": 0.2}},
            r"teacher\.noise = 0\.2: unknown field where policy = endpoint",
        ),
        (
            {"teacher": {"policy": "endpoint", "endpoint": {**ENDPOINT, "colour": 1}, "tasks": 1}},
            r"teacher\.endpoint\.colour = 1: unknown field; allowed here: extra, key_variable",
        ),
        (
            {"tasks__files": [{"path": "a", "colour": 1}]},
            r"tasks\.files\.0\.colour = 1: unknown field; .*answers, path",
        ),
        ({"judge__model": {"endpoint": ENDPOINT, "noise": 1}}, r"judge\.model\.noise = 1: unknown field; .*on_outage"),
        (
            {"rl__objective": {"name": "rft"}, "rl__shuffle": "trajectories"},
            r"^params: rl\.shuffle = 'trajectories': has no effect with rl\.objective\.name = rft: leave it out, or "
            r"change rl\.objective\.name$",
        ),
        (
            {"rl__objective": {"name": "rft"}, "rl__warmup_steps": 3, "rl__carry_optimizer": False},
            r"^params: rl\.warmup_steps = 3: .* = rft: .*\nparams: rl\.carry_optimizer = False: .* = rft: .*$",
        ),
        (
            {"judge__model": {"endpoint": ENDPOINT, "protocol": "webjudge", "screenshots": 5}},
            r"judge\.model\.screenshots = 5: .*model\.protocol = webjudge: .*judge\.model\.protocol to openwebrl",
        ),
        (
            {"inference__vllm": {"servers": 4, "first_gpu": 2}},
            r"vllm\.servers = 4: .* inference\.engine = transformers: .*\n.*vllm\.first_gpu = 2: .* = transformers: ",
        ),
        (
            {"inference": {"engine": "vllm", "vllm": {"urls": ["http://gpu-3:8000"], "first_gpu": 2}}},
            r"first_gpu = 2: has no effect with inference\.vllm\.urls = \[\"http://gpu-3:8000\"\]: leave it out, or "
            r"set inference\.vllm\.urls to \[\]",
        ),
        (
            {"judge__reward": "distilled", "judge__distill__vllm": {"urls": ["http://gpu-3:8000"], "servers": 2}},
            r"^params: judge\.distill\.vllm\.servers = 2: has no effect with judge\.distill\.vllm\.urls = [^\n]*$",
        ),
        (
            {"judge__distill__vllm": {"first_gpu": 1}},
            r"^params: judge\.distill\.vllm: has no effect with judge\.reward = rules: leave it out, or set "
            r"judge\.reward to distilled$",
        ),
        (
            {"judge__distill__retrain": RETRAIN},
            r"^params: judge\.distill\.retrain: has no effect with judge\.reward = rules: leave it out, or set "
            r"judge\.reward to distilled$",
        ),
        (
            {
                "judge__reward": "distilled",
                "judge__distill__retrain": RETRAIN,
                "judge__distill__vllm": {"urls": ["http://gpu-3:8000"]},
            },
            r"judge\.distill\.retrain changes the judge's weights, and servers keep",
        ),
        (
            {"judge__reward": "distilled", "judge__distill__retrain": RETRAIN, "rl__max_staleness": 1},
            r"rl\.max_staleness = 1 rolls out .* set it to 0, or leave out judge\.distill\.retrain",
        ),
        (
            {
                "judge": JUDGE
                | {"labels": "model", "reward": "distilled", "trust": {"audit_share": 0}}
                | {"distill": JUDGE["distill"] | {"retrain": RETRAIN}}
            },
            r"judge\.trust\.audit_share = 0 audits none: raise it, or leave out judge\.distill\.retrain",
        ),
        (
            {"judge__reward": "distilled", "judge__distill__vllm": {"sleeps": True}},
            r"judge\.distill\.vllm\.sleeps = true is for servers whose weights RL changes.*leave it out",
        ),
        (
            {"judge__reward": "distilled", "judge__distill__vllm": {"transfer": "ipc"}},
            r"judge\.distill\.vllm\.transfer = ipc is for servers",
        ),
        (
            {"judge__trust": {"min_agreement": 0.8, "audit_share": 0.2}},
            r"^params: judge\.trust\.min_agreement = 0\.8: has no effect with judge\.reward = rules: leave it out, or "
            r"change judge\.reward\nparams: judge\.trust\.audit_share = 0\.2: .* = rules: .*$",
        ),
        (
            {"judge__reward": "distilled", "judge__trust__audit_share": 0.2},
            r"judge\.trust\.audit_share = 0\.2 has no effect: rules label, .*set judge\.labels to model",
        ),
        (
            {"judge": JUDGE | {"labels": "model", "reward": "model", "trust": {"audit_share": 0.2}}},
            r"judge\.trust\.audit_share = 0\.2 has no effect: the model .*set judge\.reward to distilled",
        ),
        (
            {"judge": JUDGE | {"reward": "model", "trust": {"audit_share": 0.2}}},
            r"audit_share = 0\.2 has no effect: judge\.trust\.min_agreement = 0 .*set min_agreement above 0",
        ),
        (
            {"judge": JUDGE | {"reward": "model", "trust": BY_HAND | {"audit_share": 0.2}}},
            r"^params: judge\.trust\.audit_share = 0\.2: has no effect with judge\.trust\.labels = .*mine\.csv.*: "
            r"leave it out, or set judge\.trust\.labels to null$",
        ),
        (
            {"rollout": {"ray_address": "auto", "ray_workers": 2, "ray_cpus": 3}},
            r"ray_address = 'auto': .* rollout\.executor = local: .*executor to ray\n.*ray_workers.*\n.*ray_cpus",
        ),
        (
            {"rollout__host_delay_s": 1.0},
            r"host_delay_s = 1\.0: has no effect with rollout\.per_host = null: .*change ",
        ),
        (
            {"browser__dialog_wait_s": 5},
            r"dialog_wait_s = 5.*: has no effect with browser\.dialogs = accept: .* change browser\.dialogs",
        ),
        (
            {"inference__engine": "vllm", "inference__vllm": {"key_variable": "KEY"}},
            r"key_variable = 'KEY': has no effect with inference\.vllm\.urls = \[\]",
        ),
        (
            {"evaluation__sampling": {"temperature": 0, "top_p": 0.9, "top_k": 5}},
            r"top_p = 0\.9: has no effect with evaluation\.sampling\.temperature = 0.*\n.*top_k = 5",
        ),
        (
            {"model__train_vision": True, "model__image_cache": {"disk_gib": 1}},
            r"disk_gib = 1\.0: has no effect with model\.train_vision = true",
        ),
        ({"rl__objective": {"replay_turns": 8}}, r"replay_turns = 8: has no effect with rl\.objective\.replay = 0"),
        (
            {"agent__protocol": "webgym", "agent__feedback": False},
            r"agent\.feedback = False: has no effect with agent\.protocol = webgym: .* agent\.protocol to openwebrl",
        ),
        (
            {"rl__open_groups": 8, "rl__task_sampling": {"min_wave": 4}},
            r"rl\.task_sampling\.min_wave = 4: has no effect with rl\.open_groups = 8: .* set rl\.open_groups to null",
        ),
        (
            {"rl__validation": {"tasks": 33, "heldout": 4}},
            r"validation\.tasks = 33: has no effect with rl\.validation\.every = 0: .*\n.*heldout = 4",
        ),
        (
            {"browser__egress": {"guard": False, "allowed_hosts": ["a.example"], "blocked_hosts": ["b.example"]}},
            r"allowed_hosts = \['a\.example'\]: .* set browser\.egress\.guard to true\n.*blocked_hosts",
        ),
        (
            {"model__image_cache": {"directory": "features"}},
            r"directory = 'features': has no effect with model\.image_cache\.disk_gib = 0",
        ),
        (
            {"agent__protocol": "webagent_r1", "observation": {"text": "axtree", "screenshots": 4}},
            r"observation\.screenshots = 4 has no effect with agent\.protocol = webagent_r1, which shows none",
        ),
        (
            {"model__lora": {"rank": 8, "alpha": 16}, "inference": {"engine": "vllm", "vllm": {"transfer": "ipc"}}},
            r"transfer = ipc has no effect with model\.lora, .*: set inference\.vllm\.transfer to disk",
        ),
    ],
)
def test_a_key_that_the_chosen_kind_ignores_is_refused_by_name(change: dict, error: str) -> None:
    with pytest.raises(RecipeError, match=error):
        parse(raw_recipe(**change))


def test_an_ignored_key_may_have_its_default_as_params_yaml_has_it() -> None:
    whole = recipe(rl__objective={"name": "rft"}).model_dump(mode="json")
    assert (whole["rl"]["shuffle"], whole["inference"]["vllm"]["servers"]) == ("turns", 1)
    assert parse(whole).model_dump(mode="json") == whole


@pytest.mark.parametrize(
    "change",
    [
        {"rl__shuffle": "trajectories", "rl__warmup_steps": 3, "rl__carry_optimizer": False},
        {"judge__model": {"endpoint": ENDPOINT, "screenshots": 5}},
        {"inference": {"engine": "vllm", "vllm": {"servers": 4, "first_gpu": 2}}},
        {"rollout": {"executor": "ray", "ray_address": "auto", "ray_workers": 2, "ray_cpus": 3}},
        {"rollout": {"per_host": 2, "host_delay_s": 1.0}},
        {"browser": {"dialogs": "ask", "dialog_wait_s": 5}},
        {"rl__task_sampling": {"min_wave": 4}},
        {"rl__validation": {"every": 2, "tasks": 33, "heldout": 4}},
        {"model__image_cache": {"directory": "features", "disk_gib": 1}},
        {"observation__screenshots": 4},
        {"rl__objective": {"replay": 0.1, "replay_turns": 8}},
        {"judge__reward": "distilled", "judge__distill__vllm": {"first_gpu": 1}},
        {"judge__reward": "distilled", "judge__distill__retrain": RETRAIN},
        {"judge__reward": "distilled", "judge__trust__min_agreement": 0.8},
        {"judge": JUDGE | {"labels": "model", "reward": "distilled", "trust": {"audit_share": 0.2}}},
        {"judge": JUDGE | {"reward": "model", "trust": {"min_agreement": 0.8, "audit_share": 0.2}}},
    ],
)
def test_the_same_key_is_accepted_where_it_has_an_effect(change: dict) -> None:
    assert parse(raw_recipe(**change))


def test_servers_that_answer_nothing_take_no_gpus_from_others() -> None:
    """An unused key is refused as such, and not because its GPUs are those of the policy."""
    gpus = {"judge__distill__vllm": {"first_gpu": 0}, "model__device": "cuda"}
    with pytest.raises(RecipeError, match=r"^params: judge\.distill\.vllm: has no effect with judge\.reward = rules"):
        parse(raw_recipe(**gpus))
    with pytest.raises(RecipeError, match=r"share the GPUs \[0\]"):
        parse(raw_recipe(**gpus, judge__reward="distilled"))


def test_a_section_without_its_kind_has_the_default_one() -> None:
    params = recipe(rl__objective={"clip_low": 0.1}, rl__task_sampling={})
    assert (params.rl.objective.name, params.rl.objective.clip_low) == ("mm_grpo", 0.1)
    assert params.rl.task_sampling.name == "uniform"
    assert isinstance(params.teacher, ScriptedTeacherParams)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"rl__async": True}, r"params: rl\.async is gone: set rl\.max_staleness: 1"),
        ({"rl__async": False}, r"rl\.async is gone: leave rl\.max_staleness out, it is 0"),
        ({"rl__clip_low": 0.2}, r"rl\.clip_low is now rl\.objective\.clip_low"),
        ({"rl__objective": "rft"}, r"rl\.objective = 'rft' is now a section: rl\.objective: \{name: rft\}"),
        ({"rl__task_sampling": "adaptive"}, r"is now a section: rl\.task_sampling: \{name: adaptive\}"),
        ({"judge__endpoint": ENDPOINT}, r"judge\.endpoint is now judge\.model\.endpoint"),
        ({"judge__endpoint": None}, r"judge\.endpoint is now judge\.model\.endpoint"),
        ({"judge__trust_labels": None}, r"judge\.trust_labels is now judge\.trust\.labels"),
    ],
)
def test_an_old_key_is_refused_with_its_new_name(change: dict, error: str) -> None:
    with pytest.raises(RecipeError, match=error):
        parse(raw_recipe(**change))


def test_all_old_keys_are_named_at_once_and_lead_to_keys_that_exist() -> None:
    with pytest.raises(RecipeError) as refusal:
        parse(raw_recipe(**{key.replace(".", "__"): None for key in RENAMED}))
    assert len(str(refusal.value).splitlines()) == len(RENAMED)
    for old, new in RENAMED.items():
        path = new.split()[0].rstrip(";,:").split(".")
        assert field_exists(Params, path), new
        assert not field_exists(Params, old.split(".")), old


def field_exists(section: type[Section], path: list[str]) -> bool:
    first, *rest = path
    if first not in section.model_fields:
        return False
    inside = sections_in(section.model_fields[first])
    return not rest or any(field_exists(part, rest) for part in inside)


def test_tolerances_left_out_follow_from_the_dtype_and_may_be_given() -> None:
    assert recipe().rl.max_packing_gap is recipe().rl.objective.max_logprob_gap is None
    assert TOLERANCES["float32"] == (1e-4, 1e-4, 1e-3, 1e-4)
    assert TOLERANCES["bfloat16"] == (1.0, 0.05, 5.0, 0.05)
    assert recipe(rl__objective={"max_logprob_gap": 2.0}).rl.objective.max_logprob_gap == 2.0


def test_limits_of_endpoints_and_places_of_work_decide_nothing() -> None:
    limits = {"max_in_flight": 3, "requests_per_minute": 1, "max_retries": 0, "timeout_s": 1, "max_usd": 5}
    priced = ENDPOINT | {"usd_per_million_prompt": 1.0}
    model = {"endpoint": priced | limits, "voters": [priced | limits] * 2}
    teacher = {"policy": "endpoint", "tasks": 4}
    plain = parse(
        raw_recipe(
            judge__model={"endpoint": priced, "voters": [priced] * 2},
            teacher=teacher | {"endpoint": priced},
            inference__engine="vllm",
        )
    )
    moved = parse(
        raw_recipe(
            judge__model=model,
            teacher=teacher | {"endpoint": priced | limits},
            training__processes=8,
            rollout__executor="ray",
            browser__concurrency=3,
            rl__micro_batch_tokens=512,
            rl__objective__max_logprob_gap=7,
            sft__micro_batch_tokens=512,
            model__gradient_checkpointing=True,
            inference={
                "engine": "vllm",
                "vllm": {
                    "servers": 4,
                    "python": "python3",
                    "engine": {"gpu_memory_utilization": 0.5, "max_num_seqs": 8},
                },
            },
        )
    )
    assert deciding(plain) == deciding(moved)
    other = [
        moved.model_copy(update={"seed": 1}),
        recipe(inference={"engine": "vllm", "vllm": {"engine": {"quantization": "fp8"}}}, judge__model=model),
        recipe(inference__engine="vllm", judge__model=model | {"screenshots": 1}),
    ]
    assert deciding(recipe(inference__engine="vllm", judge__model=model)) not in [deciding(params) for params in other]


def test_a_kind_is_told_by_a_literal_of_its_own() -> None:
    for section in (Params, type(recipe().rl)):
        for field in section.model_fields.values():
            choice = choice_of(field)
            if choice is not None:
                kinds = [part.model_fields[choice.key].default for part in sections_in(field)]
                assert len(set(kinds)) == len(kinds) > 1
                assert choice.default in kinds


def test_names_and_numbers_at_the_limits_are_accepted() -> None:
    params = recipe(name="a.B_c-1", rl__group_size=1024, browser__concurrency=10_000)
    assert (params.name, params.rl.group_size, params.browser.concurrency) == ("a.B_c-1", 1024, 10_000)
    assert recipe(teacher__tasks=10**9, rl__max_sampled_groups=10**9).teacher.tasks == 10**9, "a maximum may mean all"


def test_a_limit_of_money_without_prices_is_refused() -> None:
    with pytest.raises(RecipeError, match="max_usd = 5 stops nothing without prices: set usd_per_million_prompt"):
        parse(raw_recipe(judge__model={"endpoint": ENDPOINT | {"max_usd": 5}}))
