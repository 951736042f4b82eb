"""A server around a vLLM engine that takes token ids and images, and returns token ids and log-probabilities.

It is a script in vLLM's environment, without Waymark. Both ways to start it give it the JSON of `AsyncEngineArgs`:

- A stage starts it: `python server.py --socket 3 --engine JSON`, with an inherited socket that has its address. The
  socket is bound before the script starts: vLLM needs half a minute to start, in which another process could take a
  port that is only named. The script ends when its standard input closes, so it ends with the stage.
- `waymark serve` replaces its own process by the script (`exec`): `python server.py --host HOST --port PORT
  --key-variable NAME --work DIR --engine JSON`. Stages on other machines use the server by its URL. All requests except
  health checks need the key (`waymark_network.py`).

vLLM's OpenAI server is not used, because it renders a conversation by a template and tokenises it anew. The policy must
read its earlier responses exactly as they were sampled, and the trainer must be able to check that.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import hashlib
import io
import json
import os
import signal
import socket
import threading
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI, HTTPException, Request, Response
from PIL import Image
from pydantic import BaseModel
from vllm import SamplingParams
from vllm.engine.arg_utils import AsyncEngineArgs
from vllm.exceptions import VLLMClientError
from vllm.inputs import TokensPrompt
from vllm.lora.request import LoRARequest
from vllm.sampling_params import RequestOutputKind
from vllm.v1.engine.async_llm import AsyncLLM
from vllm.v1.engine.exceptions import EngineDeadError, EngineGenerateError
from waymark_network import Network

START_METHOD = "VLLM_WORKER_MULTIPROC_METHOD"
"""How vLLM starts the process of its engine: `fork`, its default on GPUs, or `spawn`, its default on CPUs."""


class Adapter(BaseModel):
    """A LoRA adapter on this machine's disk. No other adapter has its `number`."""

    number: int
    path: str


class Question(BaseModel):
    """A request: `prompt` has one placeholder per image, `images` are PNG files in base64, and `unsayable` tokens are
    never sampled. A server with a key wants the name of the `weights`, and has the adapter itself."""

    prompt: list[int]
    images: list[str]
    sampling: dict[str, Any]
    unsayable: list[int] = []
    adapter: Adapter | None = None
    weights: str | None = None


class Weights(BaseModel):
    """The model directory from which to load the weights."""

    path: str


class LentWeights(BaseModel):
    """Weights in the memory of another process on this server's GPU, as `waymark_worker.py` takes them."""

    tensors: list[dict[str, Any]]


class Sleep(BaseModel):
    """Give up GPU memory: that of the cache alone and that of the weights after a copy to main memory (`level` 1), or
    of both without a copy, because other weights will come (2)."""

    level: int


class WakeUp(BaseModel):
    """Take back the GPU memory of the `weights` or of the `kv_cache`."""

    part: str


def _engine(arguments: AsyncEngineArgs) -> AsyncLLM:
    """Start the engine, by the start method that the environment names. On a CPU vLLM replaces that by its own."""
    chosen = os.environ.get(START_METHOD)
    config = arguments.create_engine_config()
    if chosen is not None:
        os.environ[START_METHOD] = chosen
    return AsyncLLM.from_vllm_config(
        config, enable_log_requests=arguments.enable_log_requests, disable_log_stats=arguments.disable_log_stats
    )


def serve(engine_args: dict[str, Any], listener: socket.socket, network: Network | None = None) -> None:
    """Serve until SIGTERM."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        if network is not None:
            await asyncio.to_thread(network.begin)
        app.state.engine = _engine(AsyncEngineArgs(**engine_args))
        yield
        app.state.engine.shutdown()

    async def load(path: str) -> None:
        await app.state.engine.collective_rpc("load_model_weights", args=(path,))
        await forget()

    async def forget() -> None:
        """Drop what was computed with the old weights. A request that runs still, such as one whose stage is gone,
        begins again: with its blocks in use, nothing would be dropped."""
        engine = app.state.engine
        if not await engine.reset_prefix_cache(reset_running_requests=True):
            raise RuntimeError("vLLM keeps what it computed with the old weights: its prefix cache could not be reset")
        await engine.reset_mm_cache()
        await engine.reset_encoder_cache()

    app = FastAPI(lifespan=lifespan, openapi_url=None)

    @app.exception_handler(EngineDeadError)
    async def end(request: Request, error: Exception) -> Response:
        """The engine is a process of its own; the fleet, or the cluster, restarts both."""
        os.kill(os.getpid(), signal.SIGKILL)
        raise error

    @app.get("/health")
    async def health() -> dict[str, str]:
        await app.state.engine.check_health()
        await app.state.engine.is_sleeping()  # the engine's process answers between two steps
        return {"status": "ok"}

    @app.post("/generate")
    async def generate(question: Question, request: Request) -> dict[str, Any]:
        if network is not None:
            network.require(question.weights, request)
            number, path = network.adapter or (0, "")
            question.adapter = Adapter(number=number, path=path) if number else None
        clock = network and network.clock
        answer = asyncio.ensure_future(_answer(app.state.engine, question))
        disconnect = asyncio.ensure_future(_wait_for_disconnect(request))
        await asyncio.wait([answer, disconnect], return_when=asyncio.FIRST_COMPLETED)
        disconnect.cancel()
        if not answer.done():
            answer.cancel()
            raise HTTPException(499, "the client has disconnected")
        try:
            response = await answer
            if network is not None and network.clock != clock:
                raise HTTPException(409, "other weights were loaded while this request ran")
            return response
        except (EngineGenerateError, VLLMClientError, ValueError, TypeError) as error:
            raise HTTPException(422, repr(error.__cause__ or error)) from error

    if network is not None:
        network.add_routes(app, load)
    else:  # a path on this machine, which only the stage that started this server may name

        @app.post("/reload")
        async def reload(weights: Weights) -> dict[str, str]:
            await load(weights.path)
            return {"weights": weights.path}

        @app.post("/copy")
        async def copy(weights: LentWeights) -> dict[str, int]:
            await app.state.engine.collective_rpc("copy_lent_weights", args=(weights.tensors,))
            await forget()
            return {"tensors": len(weights.tensors)}

        @app.post("/sleep")
        async def sleep(order: Sleep) -> dict[str, str]:
            await app.state.engine.sleep(order.level)
            return {"status": "ok"}

        @app.post("/wake")
        async def wake(order: WakeUp) -> dict[str, str]:
            await app.state.engine.wake_up([order.part])
            return {"status": "ok"}

    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])


async def _answer(engine: AsyncLLM, question: Question) -> dict[str, Any]:
    prompt = TokensPrompt(prompt_token_ids=question.prompt)
    pictures, hashes = await asyncio.to_thread(_pictures, question.images)
    if pictures:
        prompt["multi_modal_data"] = {"image": pictures}
    adapter = question.adapter and LoRARequest(
        f"adapter-{question.adapter.number}", question.adapter.number, question.adapter.path
    )
    sampling = SamplingParams(**question.sampling, logprobs=0, detokenize=False, ignore_eos=True)
    sampling.logit_bias = dict.fromkeys(question.unsayable, -100.0) or None
    sampling.output_kind = RequestOutputKind.FINAL_ONLY
    (whole,) = [output async for output in engine.generate(prompt, sampling, uuid.uuid4().hex, lora_request=adapter)]
    (output,) = whole.outputs
    return {
        "prompt": list(whole.prompt_token_ids),
        "images": hashes,
        "cached_tokens": whole.num_cached_tokens,
        "token_ids": list(output.token_ids),
        "logprobs": [choices[token].logprob for token, choices in zip(output.token_ids, output.logprobs, strict=True)],
        "finish_reason": output.finish_reason,
    }


def _pictures(files: list[str]) -> tuple[list[Image.Image], list[str]]:
    """Decode images. Returns them with the hashes of their sizes and pixels (as `Vision.for_server` computes them)."""
    pictures = [Image.open(io.BytesIO(base64.b64decode(file))).convert("RGB") for file in files]
    return pictures, [
        hashlib.sha256(repr(picture.size).encode() + picture.tobytes()).hexdigest() for picture in pictures
    ]


async def _wait_for_disconnect(request: Request) -> None:
    """Return when the client disconnects."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _end_with_parent() -> None:
    """Kill this process and its children when standard input closes."""

    def watch() -> None:
        while os.read(0, 1):
            pass
        os.killpg(os.getpgid(0), signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--engine", type=json.loads, required=True)
    parser.add_argument("--socket", type=int)
    parser.add_argument("--host")
    parser.add_argument("--port", type=int)
    parser.add_argument("--key-variable")
    parser.add_argument("--work", type=Path)
    parser.add_argument("--fixed", action="store_true")
    options = parser.parse_args()
    if options.socket is not None:
        _end_with_parent()
        os.set_inheritable(options.socket, False)
        serve(options.engine, socket.socket(fileno=options.socket))
    else:
        state = Network(os.environ[options.key_variable].strip(), options.engine, options.work, options.fixed)
        listener = socket.socket(socket.AF_INET6 if ":" in options.host else socket.AF_INET)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((options.host, options.port))
        serve(options.engine, listener, state)
