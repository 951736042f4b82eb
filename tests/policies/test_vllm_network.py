"""Servers by URL without vLLM: the real HTTP application of `waymark serve` around an engine that only answers, and a
network that breaks connections."""

from __future__ import annotations

import asyncio
import importlib
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import httpx
import pytest
import torch
import uvicorn
from fastapi import FastAPI, Request
from safetensors.torch import save_file

from components.model import VLM
from components.params import LoRAParams
from components.policies.serving import server_settings
from components.policies.vllm import Fleet, ServerError, fleet, remote
from components.policies.vllm.checks import required_versions
from components.ports import free_port
from tests.policies.vllm_servers import BASE, recipe

KEY = "0123456789abcdef"
PARAMS = recipe()
SETTINGS = server_settings(
    PARAMS.model_copy(update={"model": PARAMS.model.model_copy(update={"lora": LoRAParams(rank=4, alpha=8)})})
)


class Engine:
    """Answers as vLLM's engine does: not while it loads weights."""

    def __init__(self) -> None:
        self.is_loading = False

    async def check_health(self) -> None:
        """It is well."""

    async def is_sleeping(self) -> bool:
        while self.is_loading:
            await asyncio.sleep(0.01)
        return False


@dataclass
class Served:
    """A server, and what a test changes of it."""

    work: Path
    load_s: float = 0.0
    port: int = field(default_factory=free_port)

    def __post_init__(self) -> None:
        self.module = importlib.import_module("waymark_network")
        self.restart()
        app = FastAPI()
        app.state.engine = engine = Engine()

        @app.post("/generate")
        async def generate(question: dict, request: Request) -> dict:
            self.network.require(question["weights"], request)
            return {"weights": question["weights"]}

        async def load(path: str) -> None:
            engine.is_loading = True
            await asyncio.sleep(self.load_s)
            engine.is_loading = False

        self.network.add_routes(app, load)
        self.server = uvicorn.Server(uvicorn.Config(app, port=self.port, log_level="warning"))
        threading.Thread(target=self.server.run, daemon=True).start()
        while not self.server.started:
            time.sleep(0.01)

    def restart(self) -> None:
        """Forget the stages and the weights that they sent."""
        engine = SETTINGS.engine(str(BASE), True)
        fresh = self.module.Network(KEY, engine, self.work, False)
        fresh.begin()
        if hasattr(self, "network"):
            vars(self.network).update(vars(fresh))
        else:
            self.network = fresh


@dataclass
class Link:
    """A connection to a server that breaks at requests which begin so, this many times."""

    port: int
    breaks: dict[bytes, int] = field(default_factory=dict)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[str]:
        listener = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        try:
            yield f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
        finally:
            listener.close()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers, requests = await asyncio.open_connection("127.0.0.1", self.port)
        back = asyncio.create_task(self._pass_on(answers, writer))
        await self._pass_on(reader, requests)
        back.cancel()
        writer.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(2**16):
                for beginning, left in self.breaks.items():
                    if data.startswith(beginning) and left:
                        self.breaks[beginning] -= 1
                        return
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()


@pytest.fixture
def serve(monkeypatch, tmp_path) -> Iterator[Callable[..., Served]]:
    """Starts servers of `BASE`, and shortens what stages wait for."""
    monkeypatch.syspath_prepend("components/policies/vllm/engine")
    module = importlib.import_module("waymark_network")
    monkeypatch.setattr(module, "versions", required_versions)
    monkeypatch.setenv("WAYMARK_VLLM_KEY", KEY)
    monkeypatch.setattr(fleet, "HEALTH_INTERVAL_S", 0.1)
    monkeypatch.setattr(fleet, "DEATH_NOTICE_S", 0.2)
    monkeypatch.setattr(remote, "POLL_S", 0.05)
    servers: list[Served] = []

    def start(load_s: float = 0.0) -> Served:
        servers.append(Served(tmp_path / f"server-{len(servers)}", load_s))
        return servers[-1]

    yield start
    for served in servers:
        served.server.should_exit = True


@pytest.fixture
def other(tmp_path) -> Path:
    """A model of the same shape with other weights, which a stage must send."""
    vlm = VLM.load(BASE, PARAMS.model)
    with torch.no_grad():
        for parameter in vlm.model.parameters():
            parameter.mul_(1.1)
    vlm.save(tmp_path / "other")
    return tmp_path / "other"


def fleet_at(urls: list[str], model: Path, work: Path, timeout_s: float = 60.0, changes: bool = True) -> Fleet:
    vllm = SETTINGS.vllm.model_copy(update={"urls": urls, "start_timeout_s": timeout_s})
    return Fleet(model, replace(SETTINGS, vllm=vllm), work, changes=changes)


@pytest.mark.parametrize("beginning", [b"GET /status", b"POST /client", b"PUT /files", b"POST /load"])
def test_a_server_that_breaks_connections_as_it_comes_back_is_used_again(serve, other, tmp_path, beginning):
    served = serve()
    link = Link(served.port)

    async def main() -> dict:
        async with link.opened() as url, fleet_at([url], other, tmp_path) as servers:
            link.breaks[beginning] = 2
            served.restart()
            async with asyncio.timeout(30):
                while link.breaks[beginning]:
                    await asyncio.sleep(0.02)
                return await servers.generate({})

    assert asyncio.run(main())["weights"] == served.network.weights


def test_connections_that_break_at_the_first_start_are_made_again(serve, other, tmp_path):
    served = serve()
    link = Link(served.port, {b"PUT /files": 1, b"POST /load": 1})

    async def main() -> dict:
        async with link.opened() as url, fleet_at([url], other, tmp_path) as servers:
            return await servers.generate({})

    assert asyncio.run(main())["weights"] == served.network.weights
    assert not any(link.breaks.values())


@pytest.mark.parametrize("beginning", [b"POST /generate", b"POST /load"])
def test_connections_that_always_break_end_the_stage_with_what_to_do(serve, other, tmp_path, beginning):
    served = serve()
    link = Link(served.port)

    async def main() -> None:
        async with link.opened() as url, fleet_at([url], other, tmp_path) as servers:
            link.breaks = {beginning: 10**6}
            async with asyncio.timeout(30):
                await (servers.load(BASE) if beginning == b"POST /load" else servers.generate({}))

    with pytest.raises(ServerError, match=r"broke 6 times in a row, and the server lives .*proxy or load balancer"):
        asyncio.run(main())


def test_a_server_that_stays_away_ends_the_stage_with_what_to_do(serve, other, tmp_path):
    served = serve()
    link = Link(served.port)

    async def main() -> None:
        async with link.opened() as url, fleet_at([url], other, tmp_path, timeout_s=0.5) as servers:
            link.breaks = {b"POST /client": 10**6}
            served.restart()
            await asyncio.wait_for(servers.generate({}), 30)

    message = r"has not come back within inference\.vllm\.start_timeout_s = .*: start it with `waymark serve`"
    with pytest.raises(ServerError, match=message):
        asyncio.run(main())


def test_a_stage_keeps_a_server_while_others_of_it_still_load(serve, other, tmp_path, monkeypatch):
    fast, slow = serve(), serve(load_s=3.0)
    monkeypatch.setattr(fast.module, "CLIENT_TTL_S", 1.0)
    replies: list[int] = []

    async def another() -> None:
        """Ask for the fast server until it can be had."""
        headers = {"Authorization": f"Bearer {KEY}", "x-waymark-client": "another"}
        async with httpx.AsyncClient(headers=headers) as client:
            while fast.network.clock < 2:  # until the stage has loaded its weights there
                await asyncio.sleep(0.02)
            while slow.network.clock < 2:
                body = {"exclusive": True}
                replies.append((await client.post(f"http://127.0.0.1:{fast.port}/client", json=body)).status_code)
                await asyncio.sleep(0.1)

    async def main() -> None:
        asking = asyncio.create_task(another())
        async with fleet_at([f"http://127.0.0.1:{served.port}" for served in (fast, slow)], other, tmp_path):
            await asking

    asyncio.run(main())
    assert len(replies) > 5
    assert set(replies) == {423}


def test_a_stage_waits_while_the_server_loads_weights_of_another(serve, other, tmp_path, monkeypatch, capsys):
    """The server answers questions about its state although its engine does not."""
    served = serve(load_s=2.0)
    monkeypatch.setattr(remote, "ANSWER_TIMEOUT_S", 0.5)
    monkeypatch.setattr(fleet, "CLAIM_POLL_S", 0.1)
    url = f"http://127.0.0.1:{served.port}"

    async def first() -> None:
        async with fleet_at([url], other, tmp_path):
            await asyncio.sleep(0.3)

    async def main() -> None:
        training = asyncio.create_task(first())
        while served.network.clock < 1:
            await asyncio.sleep(0.02)
        async with fleet_at([url], other, tmp_path):
            assert training.done()
        await training

    asyncio.run(main())
    assert "which another stage uses" in capsys.readouterr().out


@pytest.mark.parametrize("leaves", ["adapter", "other weights"])
def test_stages_of_one_model_share_a_server_that_had_other_weights(serve, other, tmp_path, monkeypatch, leaves):
    """The first of them loads what it needs, and the second finds it."""
    served = serve(load_s=1.0)
    monkeypatch.setattr(fleet, "CLAIM_POLL_S", 0.1)
    monkeypatch.setattr(remote, "BUSY_TIMEOUT_S", 0.0)
    url = f"http://127.0.0.1:{served.port}"
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    save_file({"lora": torch.ones(2)}, adapter / "adapter_model.safetensors")
    (adapter / "adapter_config.json").write_text("{}")

    async def trained() -> None:
        async with fleet_at([url], other, tmp_path) as policy:
            if leaves == "adapter":
                await policy.load_adapter(adapter)

    async def main() -> None:
        await trained()
        loads = served.network.clock
        assert ("+" in served.network.weights) == (leaves == "adapter")
        model = other if leaves == "adapter" else BASE
        async with asyncio.TaskGroup() as group:
            both = asyncio.Barrier(2)

            async def evaluated() -> None:
                async with fleet_at([url], model, tmp_path, changes=False):
                    await asyncio.wait_for(both.wait(), 30)

            group.create_task(evaluated())
            group.create_task(evaluated())
        assert served.network.clock == loads + 2, "one load, which counts twice"
        assert "+" not in served.network.weights

    asyncio.run(main())
