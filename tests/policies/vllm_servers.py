"""Real vLLM servers on the CPU with the shipped model, and requests to them."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import psutil

from components.agent import Request
from components.model import VLM, Encoder
from components.params import Params, SamplingParams, load
from components.policies import TransformersPolicy
from components.policies.serving import server_settings
from components.policies.vllm import Fleet, VLLMPolicy
from components.records import Turn
from tests.vlm import TASK, observation, picture, renderer

BASE = Path("data/base_model")
GREEDY, HOT = SamplingParams(temperature=0.0), SamplingParams(temperature=0.8)
ENGINE = {
    "enforce_eager": True,
    "max_num_seqs": 16,
    "kv_cache_memory_bytes": 2**28,
    "distributed_executor_backend": "vllm.v1.executor.uniproc_executor.UniProcExecutor",
}
"""One process computes for an engine, as vLLM does on one GPU. On a CPU it would start a second one, which takes as
long to start as the engine itself."""


def recipe() -> Params:
    """The smoke recipe, served by vLLM."""
    params = load("recipes/smoke.yaml")
    vllm = params.inference.vllm.model_copy(update={"engine": ENGINE, "start_timeout_s": 300})
    inference = params.inference.model_copy(update={"engine": "vllm", "vllm": vllm})
    agent = params.agent.model_copy(update={"max_context_tokens": 2048, "max_response_tokens": 40})
    return params.model_copy(update={"inference": inference, "agent": agent})


def fleet_of(path: Path, work: Path, params: Params | None = None) -> Fleet:
    params = params or recipe()
    return Fleet(path, server_settings(params), work)


def alive(group: int) -> list[psutil.Process]:
    """Return the living processes of a process group."""
    found = []
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (ProcessLookupError, psutil.Error):
            continue
    return found


def gone(group: int, within_s: float) -> bool:
    end = time.monotonic() + within_s
    while alive(group) and time.monotonic() < end:
        time.sleep(0.2)
    return not alive(group)


def requests(encoder: Encoder, sampling: SamplingParams, count: int = 8) -> list[Request]:
    """Make prompts of a second turn. The recorded response in the history has ids that no tokenizer would choose."""
    found = []
    for index in range(count):
        page = observation(index, f'- button "ok" {index} 86\n- text "Click {index}"')
        page = page.model_copy(update={"screenshot": picture(index, 160 + 24 * (index % 3), 210)})
        oddly = [*(token for letter in "Click" for token in encoder.tokens(letter)), encoder.end_id]
        turn = Turn(
            index=0, observation=page, prompt_sha256="", prompt_tokens=1, response="Click", token_ids=oddly,
            logprobs=[0.0] * len(oddly), finish_reason="stop", tool_calls=[], feedback=["Failed: no"], parse_error="no",
            timings={},
        )  # fmt: skip
        found.append(Request(renderer().prompt(TASK, [turn], page), (turn,), sampling, 40, seed=index))
    return found


async def ask(policy: VLLMPolicy | TransformersPolicy, asked: list[Request]) -> list:
    return await asyncio.gather(*(policy.complete(request) for request in asked))


def embedded(vlm: VLM, asked: list[Request]) -> list:
    async def main():
        async with TransformersPolicy(vlm, "v") as policy:
            return await ask(policy, asked)

    return asyncio.run(main())
