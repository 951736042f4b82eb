"""A server by URL that a stage cannot use: each reason is an error with the URL and the fix, before any work."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from components.params import LoRAParams
from components.policies.serving import server_settings
from components.policies.vllm import Fleet, ServerError
from components.policies.vllm.checks import required_versions
from components.policies.vllm.engine.waymark_weights import file_hash, fingerprint, layout, weight_files
from components.ports import free_port
from tests.policies.vllm_servers import BASE, recipe

KEY = "0123456789abcdef"
SETTINGS = server_settings(recipe())
WEIGHTS = fingerprint({name: file_hash(path) for name, path in weight_files(BASE).items()})
OTHER = "e" * 64


def state(**changes) -> dict[str, object]:
    """What a server with the right weights says about itself."""
    right = {
        "service": "waymark", "boot": "1", "versions": required_versions(), "engine": SETTINGS.engine(str(BASE)),
        "weights": WEIGHTS, "layout": layout(BASE), "clock": 0, "is_fixed": False,
    }  # fmt: skip
    return right | changes


@pytest.fixture
def answering(monkeypatch):
    """Starts an HTTP server with answers by path; it keeps the paths of requests."""
    monkeypatch.setenv("WAYMARK_VLLM_KEY", KEY)
    servers = []

    def start(answers: dict[str, object], key: str = KEY, statuses: dict[str, int] | None = None):
        paths: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                paths.append(f"{self.command} {self.path}")
                status = 404 if self.path not in answers else (statuses or {}).get(self.path, 200)
                if status == 200 and self.headers["Authorization"] != f"Bearer {key}":
                    status = 401
                body = json.dumps(answers.get(self.path, {})).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_PUT = do_DELETE = do_GET

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}", paths

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def refusal(urls, tmp_path, *, changes=False, settings=SETTINGS) -> str:
    """The error of a stage that begins with these servers."""
    served = replace(settings, vllm=settings.vllm.model_copy(update={"urls": urls}))

    async def enter():
        async with Fleet(BASE, served, tmp_path, changes):
            pass

    with pytest.raises(ServerError) as refused:
        asyncio.run(enter())
    return str(refused.value)


@pytest.mark.parametrize(
    ("changes", "difference"),
    [
        ({"versions": required_versions() | {"vllm": "0.31.0"}}, "it has vllm 0.31.0"),
        ({"versions": required_versions() | {"pillow": "1.0"}}, "it has pillow 1.0"),
        ({"versions": {}}, "it has transformers of no version"),
        (
            {"engine": SETTINGS.engine("x") | {"dtype": "bfloat16"}},
            "dtype is 'bfloat16', and the recipe's is",
        ),
        ({"engine": SETTINGS.engine("x") | {"logprobs_mode": "raw_logprobs"}}, "logprobs_mode is 'raw_logprobs'"),
        ({"engine": SETTINGS.engine("x") | {"max_num_seqs": 8}}, "max_num_seqs is 8, and the recipe's is 16"),
        ({"engine": SETTINGS.engine("x") | {"max_model_len": 2047}}, "agent.max_context_tokens needs 2048"),
        ({"engine": SETTINGS.engine("x") | {"limit_mm_per_prompt": {"image": 0}}}, "observation.screenshots needs 1"),
        ({"engine": SETTINGS.engine("x") | {"quantization": "fp8"}}, "engine argument quantization = 'fp8'"),
        ({"engine": SETTINGS.engine("x") | {"load_format": "dummy"}}, "engine argument load_format = 'dummy'"),
        ({"layout": OTHER}, "tensors have other shapes"),
        ({"is_fixed": True, "weights": OTHER}, f"keeps the weights {OTHER[:12]}, and this stage needs {WEIGHTS[:12]}"),
    ],
)
def test_a_server_unlike_what_the_stage_needs_is_refused(answering, tmp_path, changes, difference):
    url, paths = answering({"/status": state(**changes)})
    message = refusal([url], tmp_path)
    assert message.startswith(f"{url} cannot be used: ")
    assert difference in message
    assert ": start it with" in message or ": install requirements/vllm.txt" in message
    assert paths == ["GET /status"], "the stage began to work"


def test_rl_refuses_a_server_that_keeps_its_weights(answering, tmp_path):
    url, _ = answering({"/status": state(is_fixed=True)})
    assert "RL changes them: start it without --fixed" in refusal([url], tmp_path, changes=True)


def test_adapters_need_a_server_that_was_started_for_them(answering, tmp_path):
    url, _ = answering({"/status": state()})
    model = SETTINGS.model.model_copy(update={"lora": LoRAParams(rank=4, alpha=8)})
    message = refusal([url], tmp_path, settings=replace(SETTINGS, model=model))
    assert "max_lora_rank is None, and model.lora.rank needs 8" in message


def test_all_servers_that_cannot_be_used_are_named_at_once(answering, tmp_path):
    old, _ = answering({"/status": state(versions=required_versions() | {"vllm": "0.1"})})
    nothing = f"http://127.0.0.1:{free_port()}"
    right, _ = answering({"/status": state()})
    message = refusal([old, nothing, right], tmp_path)
    assert old in message
    assert f"{nothing} does not answer (ConnectError): start it with `waymark serve`" in message
    assert right not in message


def test_a_wrong_or_missing_key_is_an_error_that_names_its_variable(answering, tmp_path, monkeypatch):
    url, paths = answering({"/status": state()}, key="another")
    assert f"{url} refuses the key in WAYMARK_VLLM_KEY" in refusal([url], tmp_path)
    paths.clear()
    monkeypatch.delenv("WAYMARK_VLLM_KEY")
    assert "WAYMARK_VLLM_KEY (inference.vllm.key_variable) holds no key" in refusal([url], tmp_path)
    assert not paths


def test_vllms_own_server_is_refused_with_the_way_to_evaluate_it(answering, tmp_path):
    url, _ = answering({"/version": {"version": "0.32.0"}})
    message = refusal([url], tmp_path)
    assert f"{url} is vLLM's own server 0.32.0" in message
    assert "teacher.endpoint" in message
    other, _ = answering({})
    assert f"{other} is another server" in refusal([other], tmp_path)


def test_a_server_of_another_version_of_waymark_is_refused(answering, tmp_path):
    url, _ = answering({"/status": {"service": "waymark"}})
    assert "`waymark serve` of the same commit" in refusal([url], tmp_path)


def test_a_proxy_that_gives_up_waiting_is_an_error_at_once(answering, tmp_path):
    there = {"/status": state(), "/health": state(), "/client": state(), "/generate": {}}
    url, paths = answering(there, statuses={"/generate": 504})
    served = replace(SETTINGS, vllm=SETTINGS.vllm.model_copy(update={"urls": [url]}))

    async def ask():
        async with Fleet(BASE, served, tmp_path) as fleet:
            await fleet.generate({})

    with pytest.raises(ServerError, match=r"gave up waiting for an answer \(504\): raise its timeout"):
        asyncio.run(ask())
    assert paths.count("POST /generate") == 1
