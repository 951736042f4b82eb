"""A vLLM engine that takes token ids and images, and gives token ids and log-probabilities.

A script of its own in vLLM's environment, which has nothing of Waymark: `python server.py --port 8100 --engine
JSON`, with the JSON of `AsyncEngineArgs`. It ends when its standard input closes, so that it
never outlives who started it.

Not vLLM's OpenAI server: that takes a conversation, writes it out by a template and tokenises it anew. What the policy
once sampled must come back to it as it was sampled, and the trainer must know that it did.
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
import threading
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI, HTTPException, Request
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


class Adapter(BaseModel):
    """A LoRA adapter on this machine's disk. Its `number` is never used for another one."""

    number: int
    path: str


class Question(BaseModel):
    """`prompt` has one placeholder per image; `images` are PNG files in base64; `unsayable` tokens are never drawn."""

    prompt: list[int]
    images: list[str]
    sampling: dict[str, Any]
    unsayable: list[int] = []
    adapter: Adapter | None = None


class Weights(BaseModel):
    """A model directory to take the weights from."""

    path: str


def serve(engine_args: dict[str, Any], port: int) -> None:
    """Serve until SIGTERM."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.engine = AsyncLLM.from_engine_args(AsyncEngineArgs(**engine_args))
        yield
        app.state.engine.shutdown()

    app = FastAPI(lifespan=lifespan)

    @app.get("/health")
    async def health() -> dict[str, str]:
        await app.state.engine.check_health()
        await app.state.engine.is_sleeping()  # asks the engine's own process, which answers between two steps
        return {"status": "ok"}

    @app.post("/generate")
    async def generate(question: Question, request: Request) -> dict[str, Any]:
        asked = asyncio.ensure_future(_answer(app.state.engine, question))
        left = asyncio.ensure_future(_left(request))
        await asyncio.wait([asked, left], return_when=asyncio.FIRST_COMPLETED)
        left.cancel()
        if not asked.done():
            asked.cancel()
            raise HTTPException(499, "nobody waits for it any more")
        try:
            return await asked
        except EngineDeadError:
            os.kill(os.getpid(), signal.SIGKILL)  # whoever watches this process starts another
            raise
        except (EngineGenerateError, VLLMClientError, ValueError, TypeError) as error:
            raise HTTPException(422, repr(error.__cause__ or error)) from error

    @app.post("/reload")
    async def reload(weights: Weights) -> dict[str, str]:
        engine = app.state.engine
        await engine.collective_rpc("take_weights", args=(weights.path,))
        await engine.reset_prefix_cache()  # computed with the weights before
        await engine.reset_mm_cache()
        await engine.reset_encoder_cache()
        return {"weights": weights.path}

    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")


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
    (whole,) = [one async for one in engine.generate(prompt, sampling, uuid.uuid4().hex, lora_request=adapter)]
    (output,) = whole.outputs
    return {
        "prompt": list(whole.prompt_token_ids),
        "images": hashes,
        "cached_tokens": whole.num_cached_tokens,
        "token_ids": list(output.token_ids),
        "logprobs": [one[token].logprob for token, one in zip(output.token_ids, output.logprobs, strict=True)],
        "finish_reason": output.finish_reason,
    }


def _pictures(files: list[str]) -> tuple[list[Image.Image], list[str]]:
    """Images, and of each the hash of its size and pixels (as `Vision.as_seen` computes it)."""
    pictures = [Image.open(io.BytesIO(base64.b64decode(file))).convert("RGB") for file in files]
    return pictures, [hashlib.sha256(repr(one.size).encode() + one.tobytes()).hexdigest() for one in pictures]


async def _left(request: Request) -> None:
    """Return when the client has gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _end_with_parent() -> None:
    """Take this process and all that it started down when standard input closes."""

    def watch() -> None:
        while os.read(0, 1):
            pass
        os.killpg(os.getpgid(0), signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--engine", type=json.loads, required=True)
    options = parser.parse_args()
    _end_with_parent()
    serve(options.engine, options.port)
