"""Memory of devices: sums by hand, refusals with a remedy that works, and more memory that never hurts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.cli.main import main
from components.params import OnlineParams, RecipeError
from components.plan import PlanOptions, parsed_bytes, plan
from components.plan.fit import parsed_setting, recipe_with
from components.plan.hardware import GIB, device_named
from components.plan.memory import REFERENCE_ROOT, Training, trainer_parts
from components.plan.placement import SLEEPING_SERVER, Machine, memory_plans
from components.plan.rates import default_rates
from components.plan.setting import Setting
from components.plan.stages import iteration_time

SMALL = Path("recipes/demo.yaml")
LARGE = Path("recipes/openwebrl-4b.yaml")


def parts(recipe: Path, stage: str, role: str = "trainer", **changed) -> dict[str, float]:
    planned = plan(recipe, PlanOptions(settings={key.replace("__", "."): value for key, value in changed.items()}))
    item = next(item for item in planned.memory if (item.stage, item.role) == (stage, role))
    return {part.name: part.bytes for part in item.parts}


def test_state_of_a_sharded_bfloat16_training_is_as_by_hand():
    # 4,022,468,096 parameters of the language model on 4 processes, 415,347,712 of the frozen tower on each
    sizes = parts(LARGE, "train_sft, update")
    assert sizes["weights"] == 4 * 4_022_468_096 / 4
    assert sizes["gradients"] == 4 * 4_022_468_096 / 4
    assert sizes["optimiser"] == 8 * 4_022_468_096 / 4
    assert sizes["frozen vision tower"] == 4 * 415_347_712
    assert sizes["layer inputs"] == 32_768 * 36 * 4 * 2560


def test_fsdp_keeps_the_root_and_some_layers_whole():
    sizes = parts(LARGE, "train_sft, update")
    root = 151_936 * 2560 + 2560  # embeddings that are the output layer, too, and the last norm
    assert sizes["root, gathered"] == 4 * root == pytest.approx(1.449 * GIB, rel=1e-3)
    # a layer: q, o: 4096 wide; k, v: 1024; gate, up, down: 9728; norms of 2560 twice and of 128 twice
    assert sizes["layers, gathered"] == 2 * 4 * (2560 * (2 * 4096 + 2 * 1024 + 3 * 9728) + 2 * 2560 + 2 * 128)
    assert sizes["output layer's gradient"] == 4 * 151_936 * 2560
    judge = parts(LARGE, "distill_judge, update")
    assert judge["root, gathered"] == 4 * (2 * 151_936 * 4096 + 4096) == pytest.approx(4.637 * GIB, rel=1e-3)


def test_episodes_need_as_much_as_their_world_says():
    small = parts(SMALL, "train_rl, rollouts", browser__concurrency=12)
    assert small["browsers"] == 12 * 80 * 2**20  # MiniWoB++'s pages
    shop = parts(Path("recipes/city-demo.yaml"), "train_rl, update", browser__concurrency=4)
    assert shop["browsers"] == 4 * 256 * 2**20
    assert "browsers" not in parts(SMALL, "train_sft, update")
    assert "browsers" not in parts(LARGE, "train_rl, rollouts")  # GPUs have memory of their own


@pytest.mark.parametrize(("browsers", "rows"), [(8, 8), (12, 16), (96, 128)])
def test_the_policy_in_the_trainer_has_space_for_a_power_of_two_of_rows(browsers, rows):
    # 2 × 4 layers × 96 wide, in float32
    sizes = parts(SMALL, "train_rl, rollouts", browser__concurrency=browsers)
    assert sizes["KV cache"] == rows * 4096 * 2 * 4 * 96 * 4


def test_without_shards_nothing_is_gathered():
    alone = parts(LARGE, "train_sft, update", training={"processes": 1, "shard": False})
    assert not {name for name in alone if "gathered" in name}


def test_a_reference_keeps_its_root_between_updates():
    anchored = {"name": "mm_grpo", "kl": 0.1}
    for stage in ("train_rl, update", "train_rl, rollouts"):
        sizes = parts(LARGE, stage, rl__objective=anchored)
        assert sizes["reference policy's root"] == 4 * (151_936 * 2560 + 2560)
    assert "reference policy's root" not in parts(LARGE, "train_rl, update")


def test_recipes_for_a_node_of_h100_fit_on_it():
    for name in ("openwebrl-4b", "webgym-8b", "webagent-r1-4b", "browseragent-8b"):
        planned = plan(Path(name), PlanOptions(device="H100", devices=8))
        assert planned.fits, (name, planned.reasons)
    assert plan(Path("openwebrl-8b"), PlanOptions(device="H200")).fits


def test_adapters_leave_bfloat16_weights_and_a_small_optimiser():
    sizes = parts(LARGE, "train_sft, update", model__lora={"rank": 16, "alpha": 32})
    assert sizes["weights"] == 2 * 4_022_468_096 / 4
    # per layer: q, o: 2 × (2560 + 4096); k, v: 2 × (2560 + 1024); gate, up, down: 3 × (2560 + 9728)
    adapters = 36 * 16 * (2 * 6656 + 2 * 3584 + 3 * 12288)
    assert sizes["adapters"] == sizes["gradients"] == 4 * adapters / 4
    assert sizes["optimiser"] == 8 * adapters / 4


def test_a_trained_tower_has_gradients_too():
    sizes = parts(LARGE, "train_rl, update", model__train_vision=True)
    assert sizes["optimiser"] == 8 * (4_022_468_096 + 415_347_712) / 4
    assert "frozen vision tower" not in sizes


def test_a_server_keeps_144_kib_of_keys_and_values_per_token():
    sizes = parts(LARGE, "rollouts", "server")
    per_token = 2 * 36 * 8 * 128 * 2
    assert per_token == 144 * 1024
    assert sizes["KV cache"] % (per_token * 32_768) == 0


def test_a_reference_policy_is_counted_if_the_objective_has_a_kl():
    name = "train_rl, update"
    without = parts(SMALL, name, rl__objective={"name": "mm_grpo", "kl": 0.0})
    with_kl = parts(SMALL, name, rl__objective={"name": "mm_grpo", "kl": 0.1})
    assert "reference policy" not in without
    assert with_kl["reference policy"] > 0
    to_sft = parts(SMALL, name, rl__objective={"name": "mm_grpo", "kl": 0.1, "reference": "sft"})
    assert to_sft["reference policy"] == to_sft["weights"] + to_sft["frozen vision tower"], "a model of its own"


@pytest.mark.parametrize("stage", ["train_rl, update", "train_rl, rollouts"])
def test_the_sft_policy_beside_the_own_one_is_another_model_in_all_parts(stage):
    objective = {"name": "mm_grpo", "kl": 0.1, "reference": "sft"}
    adapted = {"model__lora": {"rank": 16, "alpha": 32}, "training__processes": 1, "training__shard": False}
    alone = parts(LARGE, stage, rl__objective=objective, **adapted)
    assert alone["reference policy"] == alone["weights"] + alone["frozen vision tower"]
    spread = parts(LARGE, stage, rl__objective=objective)
    assert spread[REFERENCE_ROOT] > 0, "sharded like the trained one, and its root stays gathered"


class AnchoredParams(OnlineParams):
    """A third party's objective with a reference, whose keys are its own."""

    name: str = "anchored"
    pull: float = 0.1
    epochs: int = 1

    @property
    def needs_reference(self) -> bool:
        return self.pull > 0


def test_a_reference_of_another_objective_is_counted_in_memory_and_time():
    params = recipe_with(SMALL, {})
    machine = Machine(device_named(None, False), 1)
    pulled, free = (
        params.model_copy(update={"rl": params.rl.model_copy(update={"objective": AnchoredParams(pull=pull)})})
        for pull in (0.1, 0.0)
    )
    names = [
        {part.name for part in item.parts}
        for one in (pulled, free)
        for item in memory_plans(one, machine)
        if item.stage == "train_rl, update"
    ]
    assert names[0] - names[1] == {"reference policy"}
    rates = default_rates(params, machine.device)
    updates = [
        iteration_time(Setting(one, machine, rates, 2), "short").parts["update"].tokens.trained
        for one in (pulled, free)
    ]
    assert updates[0] == pytest.approx(updates[1] * 3 / 2)  # one scoring and one epoch; the reference scores once more


def test_the_paper_recipe_fits_on_its_eight_gpus_and_not_on_seven():
    assert plan(LARGE).fits
    assert "asks for 8 devices, and there are 7" in plan(LARGE, PlanOptions(devices=7)).reasons[0]


@pytest.mark.every(4)
@pytest.mark.parametrize(("devices", "memory"), [(1, "24GiB"), (1, "79GiB"), (2, "79GiB"), (8, "40GiB")])
def test_a_refused_recipe_fits_with_the_remedy_that_is_named(devices, memory):
    wishes = PlanOptions(devices=devices, device_memory=parsed_bytes(memory))
    refused = plan(LARGE, wishes)
    assert not refused.fits
    assert refused.remedy is not None
    mended = plan(LARGE, PlanOptions(refused.remedy, devices=devices, device_memory=parsed_bytes(memory)))
    assert mended.fits, mended.reasons


def test_a_remedy_keeps_no_key_that_the_judge_it_names_would_ignore():
    audited = {"judge.trust.audit_share": 0.2}
    wishes = PlanOptions(audited, devices=1, device_memory=parsed_bytes("12GB"))
    refused = plan(LARGE, wishes)
    assert refused.remedy is not None
    assert refused.remedy["judge.reward"] == "model"
    assert plan(LARGE, replace(wishes, settings=audited | refused.remedy)).fits


def test_the_recipe_for_one_gpu_fits_on_24_gb_and_with_4b_on_40():
    assert plan(Path("one-gpu"), PlanOptions(device="L4")).fits
    large = PlanOptions({"model.base": "Qwen/Qwen3-VL-4B-Instruct"}, device="A100-40")
    assert plan(Path("one-gpu"), large).fits


def test_servers_are_counted_only_in_the_stage_that_starts_them():
    planned = plan(Path("one-gpu"), PlanOptions(device="A100-40"))
    capacity = {item.stage: item.capacity for item in planned.memory}
    device = planned.machine.device.memory
    assert capacity["train_sft, update"] == capacity["distill_judge, judging"] == device
    assert capacity["train_rl, update"] == pytest.approx(device * (1 - 0.4))


def test_a_server_that_sleeps_leaves_its_memory_to_an_update():
    awake, asleep = (
        {item.stage: item for item in plan(Path("demo-gpu"), PlanOptions(values, "L4")).memory}
        for values in ({"inference.vllm.sleeps": False, "inference.vllm.transfer": "disk"}, {})
    )
    server = awake["rollouts"].capacity
    assert asleep["train_rl, update"].capacity == awake["train_rl, update"].capacity + server - SLEEPING_SERVER
    assert asleep["train_rl, rollouts"].capacity == awake["train_rl, rollouts"].capacity
    lent = {part.name for part in asleep["train_rl, update"].parts} - {
        part.name for part in awake["train_rl, update"].parts
    }
    assert lent == {"weights for the server"}


def test_servers_by_url_need_no_device_of_this_machine():
    urls = {"inference.vllm.urls": ["http://a:1", "http://b:1"], "judge.distill.vllm": {"urls": ["http://c:1"]}}
    served = PlanOptions(settings=urls, devices=4)
    assert not plan(LARGE, PlanOptions(devices=4)).fits
    assert plan(LARGE, served).fits
    assert next(item for item in plan(LARGE, served).memory if item.role == "server").devices == 2


def test_a_machine_that_is_too_small_for_any_change_is_refused_without_one():
    planned = plan(LARGE, PlanOptions(devices=1, device_memory=GIB))
    assert not planned.fits
    assert planned.remedy is None


@pytest.mark.slow
@settings(deadline=None, max_examples=25)
@given(
    memory=st.floats(1, 200), more=st.floats(0, 200), tokens=st.sampled_from([4096, 32768]), lora=st.booleans(),
    servers=st.integers(1, 3),
)  # fmt: skip
def test_more_memory_never_turns_a_fit_into_a_refusal(memory, more, tokens, lora, servers):
    values = {"rl.micro_batch_tokens": tokens, "inference.vllm.servers": servers}
    values |= {"model.lora": {"rank": 8, "alpha": 8}} if lora else {}
    little = plan(LARGE, PlanOptions(values, devices=8, device_memory=memory * GIB))
    much = plan(LARGE, PlanOptions(values, devices=8, device_memory=(memory + more) * GIB))
    assert much.fits or not little.fits


@settings(deadline=None, max_examples=20)
@given(st.integers(512, 65536), st.integers(512, 65536), st.booleans())
def test_longer_micro_batches_never_need_less(tokens, others, checkpointing):
    params = recipe_with(LARGE, {"model.gradient_checkpointing": checkpointing})
    from components.architecture import architecture_of

    architecture = architecture_of(params.model.base)
    short, long = (
        sum(part.bytes for part in trainer_parts(Training("train_rl", architecture, count), params))
        for count in sorted((tokens, others))
    )
    assert short <= long


@pytest.mark.parametrize(("text", "size"), [("24GiB", 24 * 2**30), ("80 GB", 80e9), ("1.5MiB", 1.5 * 2**20)])
def test_sizes_have_a_unit(text, size):
    assert parsed_bytes(text) == size


@pytest.mark.parametrize("text", ["24", "GiB", "-1GiB", "0GiB", "24 gallons", "24iB"])
def test_a_size_without_a_sense_is_refused(text):
    with pytest.raises(ValueError):
        parsed_bytes(text)


@pytest.mark.parametrize("text", ["rl.lr", "=3", "rl..lr=3", "rl.lr=[3", f"rl.lr={'[' * 5000}"])
def test_a_setting_needs_a_key_and_a_value(text):
    with pytest.raises(ValueError):
        parsed_setting(text)


def test_a_setting_with_two_values_is_refused(capsys):
    assert main(["plan", "demo", "--set", "seed=5", "--set", "rl.lr=1", "--set", "seed=6"]) == 1
    assert capsys.readouterr().err == "--set seed: one key has two values: give each key once\n"


def test_a_setting_of_an_unknown_key_is_refused_by_its_name():
    with pytest.raises(RecipeError, match=r"--set: rl\.speed = 3"):
        plan(SMALL, PlanOptions({"rl.speed": 3}))


@pytest.mark.parametrize("devices", [{"device": "H100"}, {"devices": 4}])
def test_a_plan_says_that_its_recipe_uses_no_gpu(devices):
    used = plan(SMALL, PlanOptions({"model.device": "cuda"}, **devices))
    note, *others = plan(SMALL, PlanOptions(**devices)).assumptions
    assert "`--set model.device=cuda`" in note
    assert (*others,) == used.assumptions == plan(SMALL).assumptions


def test_the_command_prints_json_whose_parts_sum_to_what_is_needed(capsys):
    assert main(["plan", "demo", "--format", "json", "--device-memory", "16GiB"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["fits"]
    assert all(item["needed"] == sum(part["bytes"] for part in item["parts"]) for item in printed["memory"])


@pytest.mark.slow
def test_the_command_refuses_with_status_3_and_names_what_would_fit(capsys):
    assert main(["plan", "openwebrl-4b", "--devices", "1", "--device-memory", "24GiB"]) == 3
    out = capsys.readouterr().out
    assert "does not fit" in out
    assert "--set model.lora=" in out


def test_the_command_names_the_devices_that_it_knows(capsys):
    assert main(["plan", "demo", "--device", "abacus"]) == 1
    assert "must be one of L4, A10" in capsys.readouterr().err
