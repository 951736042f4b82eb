"""Servers that `waymark serve` started, by URL: real ones on the CPU. `make test-vllm` runs these."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time

import httpx
import pytest
import torch
import yaml

from components.model import VLM
from components.params import LoRAParams
from components.policies import open_model, training_policies
from components.policies.serving import server_settings
from components.policies.vllm import Fleet, VLLMPolicy
from components.ports import free_port
from tests.policies.vllm_servers import BASE, GREEDY, alive, ask, embedded, recipe, requests

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(600)]

KEY = "0123456789abcdef" * 2
LORA = LoRAParams(rank=4, alpha=8)


def changed(params, **vllm):
    """The recipe with other values of `inference.vllm`, and adapters."""
    served = params.inference.vllm.model_copy(update=vllm)
    model = params.model.model_copy(update={"lora": LORA})
    inference = params.inference.model_copy(update={"vllm": served})
    return params.model_copy(update={"inference": inference, "model": model})


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server that can load adapters: its URL, and the process."""
    work = tmp_path_factory.mktemp("serve")
    params, port = changed(recipe()), free_port()
    (work / "recipe.yaml").write_text(yaml.safe_dump(params.model_dump(mode="json")))
    command = [sys.executable, "-m", "components.cli.main", "serve", str(work / "recipe.yaml"), "--port", str(port)]
    environment = os.environ | {"WAYMARK_VLLM_KEY": KEY, "PYTHONPATH": os.getcwd()}
    with (work / "log").open("w") as log:
        process = subprocess.Popen(
            [*command, "--work", str(work / "files")], env=environment, stdout=log, stderr=log, start_new_session=True
        )
    url = f"http://127.0.0.1:{port}"
    while True:
        assert process.poll() is None, (work / "log").read_text()[-2000:]
        with contextlib.suppress(httpx.HTTPError):
            if httpx.get(f"{url}/health", timeout=5).status_code == 200:
                break
        time.sleep(0.5)
    yield url, process
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(20)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("WAYMARK_VLLM_KEY", KEY)


def perturbed(seed: int) -> VLM:
    """Another model of the same shape."""
    vlm = VLM.load(BASE, recipe().model)
    torch.manual_seed(seed)
    with torch.no_grad():
        for parameter in vlm.model.parameters():
            parameter.mul_(1 + 0.2 * torch.randn_like(parameter))
    return vlm


def test_a_model_is_evaluated_on_the_server_that_the_recipe_names(server, vlm, encoder, tmp_path):
    """The server's own weights, and then others, which it gets over the network."""
    url, process = server
    other = perturbed(1)
    other.save(tmp_path / "other")
    params, asked = changed(recipe(), urls=[url], python="nowhere"), requests(encoder, GREEDY, 4)

    async def evaluated(path):
        async with open_model(path, params, "v", tmp_path / "work") as policy:
            return [completion.token_ids for completion in await ask(policy, asked)]

    for path, model in ((BASE, vlm), (tmp_path / "other", other)):
        assert asyncio.run(evaluated(path)) == [completion.token_ids for completion in embedded(model, asked)]
    assert process.poll() is None
    assert alive(process.pid)


@pytest.mark.parametrize("has_adapters", [False, True])
def test_training_hands_its_weights_to_the_server_by_url(server, encoder, tmp_path, has_adapters):
    url, _ = server
    params, asked = changed(recipe(), urls=[url]), requests(encoder, GREEDY, 4)
    mine = VLM.load(BASE, params.model)
    if has_adapters:
        mine.add_lora(LORA, seed=0)
    else:
        params = params.model_copy(update={"model": params.model.model_copy(update={"lora": None})})
    answers, wanted = [], []

    async def main():
        async with training_policies(mine, encoder, BASE, params, tmp_path) as open_policy:
            for number in range(2):
                torch.manual_seed(number)
                with torch.no_grad():
                    for parameter in mine.trainable():
                        parameter.add_(0.1 * torch.randn_like(parameter))
                async with await open_policy(str(number)) as policy:
                    answers.append([completion.token_ids for completion in await ask(policy, asked)])
                trained = await asyncio.to_thread(embedded, mine, asked)
                wanted.append([completion.token_ids for completion in trained])

    asyncio.run(main())
    assert answers == wanted
    assert answers[0] != answers[1]


def test_stages_with_other_weights_wait_for_one_another(server, encoder, vlm, tmp_path, capsys):
    """Those with the same weights share the server."""
    url, _ = server
    other = perturbed(2)
    other.save(tmp_path / "other")
    params, asked = changed(recipe(), urls=[url]), requests(encoder, GREEDY, 2)

    async def evaluated(path) -> list[list[int]]:
        async with open_model(path, params, "v", tmp_path) as policy:
            return [completion.token_ids for completion in await ask(policy, asked)]

    async def main():
        async with open_model(tmp_path / "other", params, "v", tmp_path) as policy:
            later = asyncio.create_task(evaluated(BASE))
            together = await evaluated(tmp_path / "other")
            mine = [completion.token_ids for completion in await ask(policy, asked)]
            assert not later.done()
        return mine, together, await later

    mine, together, later = asyncio.run(main())
    assert mine == together == [completion.token_ids for completion in embedded(other, asked)]
    assert later == [completion.token_ids for completion in embedded(vlm, asked)]
    assert f"waiting for the vLLM server at {url}" in capsys.readouterr().out


def test_weights_that_a_server_has_lost_are_sent_again(server, encoder, tmp_path):
    """Another client loads weights behind the stage's back, as a restart of the server would."""
    url, _ = server
    other = perturbed(3)
    other.save(tmp_path / "other")
    params, asked = changed(recipe(), urls=[url]), requests(encoder, GREEDY, 2)
    settings = server_settings(params)

    async def main():
        async with Fleet(tmp_path / "other", settings, tmp_path) as fleet:
            (member,) = fleet._servers
            await member.stop()
            async with Fleet(BASE, settings, tmp_path):
                pass
            return await ask(VLLMPolicy(fleet, "v", encoder), asked)

    answers = asyncio.run(main())
    assert [answer.token_ids for answer in answers] == [answer.token_ids for answer in embedded(other, asked)]


@pytest.mark.parametrize(("method", "path"), [("GET", "/status"), ("POST", "/generate"), ("POST", "/load")])
def test_a_server_answers_only_those_who_have_its_key(server, method, path):
    url, _ = server
    for headers in ({}, {"Authorization": "Bearer another"}):
        assert httpx.request(method, url + path, json={}, headers=headers).status_code == 401
    assert httpx.get(f"{url}/health").status_code == 200
    assert (
        httpx.post(f"{url}/reload", json={"path": "/"}, headers={"Authorization": f"Bearer {KEY}"}).status_code == 404
    )
