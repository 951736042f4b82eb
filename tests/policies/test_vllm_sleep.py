"""Servers that give up their GPU memory during an update, and weights from the memory of the trainer's GPU.

The tests are of the order of what a fleet tells its servers, which are stand-ins. A GPU check runs real ones.
"""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import httpx
import pytest
import torch
from safetensors import safe_open

from components.model import VLM, Encoder
from components.model.lending import ServedWeights, WeightLender
from components.params import ModelParams
from components.policies import serving
from components.policies.serving import server_settings
from components.policies.vllm import Fleet, ServerError
from components.policies.vllm import fleet as fleet_module
from components.policies.vllm.local import LocalServer
from components.policies.vllm.member import Server, Weights
from tests.policies.vllm_servers import BASE, recipe


class StandIn(Server):
    """A server that notes what it is told, and can die."""

    def __init__(self, weights: Weights):
        super().__init__(httpx.AsyncClient())
        self.weights = weights
        self.told: list[str] = []
        self.number = 0
        self.died = asyncio.Event()
        self.dies_of: str | None = None
        self.start_error: Exception | None = None
        self.failed_starts = 99

    url = property(lambda self: "http://stand-in")
    life = property(lambda self: self.number)

    async def problem(self):
        return None

    async def start(self, is_healthy):
        if self.number and self.start_error is not None and self.failed_starts:
            self.failed_starts -= 1
            raise self.start_error
        self.number += 1
        self.died = asyncio.Event()
        self.told.append(f"start with {Path(self.weights.model).name}")

    async def end_life(self):
        await self.stop()

    async def stop(self):
        self.told.append("stop")

    def give_up(self):
        self.died.set()

    async def wait_for_end(self, life, within_s):
        if life != self.number:
            return True
        died = self.died  # a restarted server has another one
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(died.wait(), min(within_s, 60))
        return died.is_set()

    def weights_fields(self):
        return {}

    async def load(self):
        self.note("lent" if self.weights.lend else f"load {Path(self.weights.adapter or self.weights.model).name}")

    async def sleep(self):
        self.note("sleep")

    async def wake(self, part):
        self.note(f"wake {part}")

    async def show_life(self):
        pass

    def last_words(self):
        return "none"

    def note(self, order: str) -> None:
        if order == self.dies_of:
            self.dies_of = None
            self.died.set()
            raise httpx.ReadError("gone")
        self.told.append(order)


@contextlib.asynccontextmanager
async def fleet_of_one(monkeypatch, tmp_path):
    """A fleet with a stand-in, which is healthy as long as it lives."""
    fleet = Fleet("start", server_settings(recipe()), tmp_path)
    server = StandIn(fleet._weights)
    fleet._servers = [server]

    async def is_healthy(_):
        return not server.died.is_set()

    monkeypatch.setattr(fleet, "_is_healthy", is_healthy)
    async with fleet:
        yield fleet, server


def run(check, monkeypatch, tmp_path) -> list[str]:
    """What the server was told during the check."""

    async def main():
        async with fleet_of_one(monkeypatch, tmp_path) as (fleet, server):
            await asyncio.wait_for(check(fleet, server), 20)
            return list(server.told)

    return asyncio.run(main())


def test_a_sleeper_takes_back_its_weights_before_it_loads(monkeypatch, tmp_path):
    async def check(fleet, server):
        await fleet.load(Path("first"))
        await fleet.sleep()
        await fleet.load(Path("second"))
        await fleet.load(Path("third"))  # it is awake

    assert run(check, monkeypatch, tmp_path) == [
        "start with start", "load first", "sleep", "wake weights", "load second", "wake kv_cache", "load third",
    ]  # fmt: skip


def test_lent_weights_replace_those_of_a_directory(monkeypatch, tmp_path):
    async def check(fleet, server):
        await fleet.copy(lambda: contextlib.nullcontext([]))
        await fleet.load(Path("files"))

    assert run(check, monkeypatch, tmp_path) == ["start with start", "lent", "load files"]


def test_a_server_that_dies_asleep_is_restarted_when_it_is_needed(monkeypatch, tmp_path):
    async def check(fleet, server):
        await fleet.sleep()
        server.died.set()
        for _ in range(20):
            await asyncio.sleep(0.01)
        assert server.told == ["start with start", "sleep", "stop"]  # the trainer has the memory
        await fleet.load(Path("next"))

    told = run(check, monkeypatch, tmp_path)
    assert told[3:] == ["start with next", "load next"]  # it started awake, so nothing wakes it


@pytest.mark.parametrize("order", ["sleep", "wake weights", "wake kv_cache"])
def test_a_server_may_die_of_an_order(order, monkeypatch, tmp_path):
    async def check(fleet, server):
        server.dies_of = order
        await fleet.sleep()
        await fleet.load(Path("next"))
        while not server.ready.is_set() or server.number < 2:
            await asyncio.sleep(0.01)

    told = run(check, monkeypatch, tmp_path)
    assert "stop" in told
    assert "wake kv_cache" not in told
    assert [line for line in told if line.startswith("start")][-1] == "start with next"


@pytest.mark.parametrize("error", [httpx.ReadError("gone"), ServerError("vLLM does not start"), RuntimeError("CUDA")])
def test_a_server_that_cannot_be_restarted_ends_all_waiting(error, monkeypatch, tmp_path):
    async def check(fleet, server):
        server.start_error = error
        server.died.set()
        server.ready.clear()
        with pytest.raises(ServerError, match=r"gone|does not start|CUDA"):
            await fleet.load(Path("next"))

    monkeypatch.setattr(fleet_module, "RESTART_PAUSE_S", 0.01)
    run(check, monkeypatch, tmp_path)


@pytest.mark.parametrize("error", [httpx.ReadError("gone"), ServerError("no memory is free")])
def test_a_server_may_fail_to_start_again_once(error, monkeypatch, tmp_path, capsys):
    async def check(fleet, server):
        server.start_error, server.failed_starts = error, 1
        server.died.set()
        server.ready.clear()
        await fleet.load(Path("next"))

    monkeypatch.setattr(fleet_module, "RESTART_PAUSE_S", 0.01)
    assert run(check, monkeypatch, tmp_path)[-2:] == ["start with next", "load next"]
    assert f"is started once more: {error}" in capsys.readouterr().out


def test_a_server_that_is_restarted_sleeps_when_it_is_up(monkeypatch, tmp_path):
    async def check(fleet, server):
        server.died.set()
        server.ready.clear()
        await fleet.sleep()

    assert run(check, monkeypatch, tmp_path) == ["start with start", "stop", "start with start", "sleep"]


def test_arguments_of_servers_whose_weights_change():
    params = recipe()
    vllm = params.inference.vllm.model_copy(update={"sleeps": True, "transfer": "ipc"})
    inference = params.inference.model_copy(update={"vllm": vllm})
    settings = server_settings(params.model_copy(update={"inference": inference}))
    changing, fixed = settings.engine("model", changes=True), settings.engine("model")
    assert changing["enable_sleep_mode"] is True
    assert changing["weight_transfer_config"] == {"backend": "ipc"}
    assert not {"enable_sleep_mode", "weight_transfer_config"} & {*fixed}


def test_a_restarted_server_gets_lent_weights_again(tmp_path, monkeypatch):
    """Its directory has the weights of the beginning."""
    orders = []

    async def main():
        weights = Weights("start", lend=lambda: contextlib.nullcontext([{"name": "a"}]))
        params = recipe()
        vllm = params.inference.vllm.model_copy(update={"python": "/bin/true"})
        settings = server_settings(
            params.model_copy(update={"inference": params.inference.model_copy(update={"vllm": vllm})})
        )
        server = LocalServer(0, settings, weights, httpx.AsyncClient(), tmp_path / "log")

        async def order(name, values):
            orders.append((name, values))

        async def healthy():
            return True

        monkeypatch.setattr(server, "_order", order)
        await server.start(healthy)
        await server.stop()

    asyncio.run(main())
    assert orders == [("copy", {"tensors": [{"name": "a"}]})]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_lent_weights_have_the_names_and_values_of_saved_ones(dtype, tmp_path):
    params = ModelParams.model_validate({"base": str(BASE), "judge_base": str(BASE), "dtype": dtype})
    vlm = VLM.load(BASE, params, train=True)
    weights = ServedWeights(vlm)
    weights.update()
    before = {name: tensor.data_ptr() for name, tensor in weights.tensors.items()}
    with torch.no_grad():
        vlm.model.lm_head.weight.add_(1.0)
    weights.update()
    assert before == {name: tensor.data_ptr() for name, tensor in weights.tensors.items()}
    vlm.save(tmp_path)
    with safe_open(tmp_path / "model.safetensors", "pt") as file:
        assert {*file.keys()} == {*weights.tensors}
        assert all(file.get_tensor(name).equal(tensor) for name, tensor in weights.tensors.items())
        assert {str(tensor.dtype) for tensor in weights.tensors.values()} == {f"torch.{dtype}"}


def test_only_a_gpu_s_memory_can_be_lent():
    params = ModelParams.model_validate({"base": str(BASE), "judge_base": str(BASE)})
    lender = WeightLender(VLM.load(BASE, params))
    with pytest.raises(ValueError, match="only a GPU's memory can be lent"), lender.lend():
        pass


def test_the_trainer_gives_back_memory_before_a_server_starts_or_wakes(tmp_path, monkeypatch):
    events = []

    class Recorder:
        async def load(self, path):
            events.append(f"load {path.name}")

        async def sleep(self):
            events.append("sleep")

    @contextlib.asynccontextmanager
    async def no_servers(*_, **__):
        events.append("start")
        yield Recorder()

    monkeypatch.setattr(serving, "_fleet", no_servers)
    params = recipe()
    vllm = params.inference.vllm.model_copy(update={"sleeps": True})
    params = params.model_copy(update={"inference": params.inference.model_copy(update={"vllm": vllm})})
    vlm = VLM.load(BASE, params.model)

    async def main():
        policies = serving.training_policies(
            vlm, Encoder(vlm), BASE, params, tmp_path, release_memory=lambda: events.append("release")
        )
        async with policies as open_policy:
            for version in ("first", "second"):
                async with await open_policy(version) as policy:
                    events.append(policy.version)

    asyncio.run(main())
    assert events == ["release", "start", "release", "load 0", "first", "sleep", "release", "load 1", "second", "sleep"]
