"""vLLM beside the trainer: log-probabilities of sampled tokens against the trainer's, the speed of sampling, and what
new weights and sleep take of time and memory.

The servers are those of a run (`components.policies.vllm.Fleet`), with the engine arguments of a recipe. Each model is
changed between the measurements, as training changes it: responses of a server that kept the old weights would differ
from the trainer by far more than the limits, which are those of RL (`Tolerances.logprob` and `mean_logprob`).
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from components.model import VLM, Encoded, Encoder, Sample
from components.model.lending import WeightLender
from components.params import ModelParams, VLLMParams
from components.policies.vllm import Fleet, ServerSettings
from perf.gpu_check.exactness import BASE_MODEL, model_named
from perf.gpu_check.generation import Agreement, agreement
from perf.gpu_check.setting import GIB, Outcome, Setting, free_memory, say
from perf.training_workload import MIXED, SHAPES, TOKENIZER, random_model, trajectory

PROMPTS = 4
"""Different prompts of a batch; the other requests are further attempts, as in a group of RL."""
CHANGE = 0.005
"""Standard deviation of what is added to the weights of the language model's matrices; random ones have 0.02."""
MEMORY = 0.45
"""`gpu_memory_utilization`: the rest is the trainer's."""
SCORED = 8
"""Responses per batch that the trainer scores."""


@dataclass(frozen=True)
class Responses(Agreement):
    """A batch of responses: its speed, and the differences to the trainer."""

    model: str
    dtype: str
    weights: str
    """The weights' way to the server: `start`, `disk`, `ipc`, or `sleep`, after which they came by `ipc`."""
    requests: int
    tokens: int
    seconds: float
    """With the reading of the prompts and their screenshots, unless the server has them in its cache."""
    tokens_s: float


@dataclass(frozen=True)
class Change:
    """What was done to a server: `start`, `disk` or `ipc` (new weights), `sleep` or `wake` (with new weights)."""

    model: str
    what: str
    seconds: float
    used_gib: float | None
    """Memory of the GPU that is used afterwards, by all processes; None on a CPU."""


@dataclass(frozen=True)
class Serving:
    """All batches and changes."""

    responses: list[Responses] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)


def check(setting: Setting) -> Outcome:
    """Serve the small base, and on a GPU a model with random weights."""
    if not Path(setting.vllm).exists():
        return Outcome(Serving(), warnings=[f"{setting.vllm} does not exist, so vLLM was not checked"])
    figures = Serving()
    # In float32, responses of vLLM 0.26 on an H200 differed from the trainer by 0.02 nats, which RL does not allow.
    dtype = "float32" if setting.device == "cpu" else "bfloat16"
    asyncio.run(_serve(setting, BASE_MODEL, model_named(BASE_MODEL, setting, dtype), (1, 8), 12, figures))
    if not setting.is_tiny:
        vlm = random_model(setting.served_model, setting.device, precision=MIXED)
        asyncio.run(_serve(setting, setting.served_model, vlm, (1, 8, 32, 128), 128, figures))
        del vlm
        free_memory(setting.device)
    where = "{0.model} in {0.dtype}, weights by {0.weights}: trainer and vLLM"
    return Outcome(figures, [reason for batch in figures.responses for reason in batch.reasons(where.format(batch))])


async def _serve(
    setting: Setting, name: str, vlm: VLM, batches: tuple[int, ...], max_tokens: int, figures: Serving
) -> None:
    """Start a server with the model, ask it, and change its weights in every way."""
    encoder, dtype = Encoder(vlm), str(vlm.feature_dtype).removeprefix("torch.")
    shape = SHAPES["tiny" if name == BASE_MODEL else name]
    prompts = [turn.prompt for turn in trajectory(encoder, PROMPTS, shape)]

    async def ask(fleet: Fleet, weights: str, requests: int) -> None:
        figures.responses.append(
            await _responses(vlm, encoder, fleet, prompts, (name, dtype, weights), requests, max_tokens)
        )
        say(f"serving: {figures.responses[-1]}")

    async def timed(kind: str, work: Awaitable[object]) -> None:
        begin = time.monotonic()
        await work
        figures.changes.append(Change(name, kind, time.monotonic() - begin, _used_gib(setting)))
        say(f"serving: {figures.changes[-1]}")

    with tempfile.TemporaryDirectory(prefix="waymark-gpu-check-") as folder:
        begin = time.monotonic()
        vlm.save(Path(folder) / "start")
        say(f"serving: {name} is written after {time.monotonic() - begin:.1f} s")
        begin = time.monotonic()
        async with _fleet(
            setting, Path(folder), dtype, max(len(prompt.ids) for prompt in prompts) + max_tokens
        ) as fleet:
            figures.changes.append(Change(name, "start", time.monotonic() - begin, _used_gib(setting)))
            say(f"serving: {figures.changes[-1]}")
            for requests in (batches[0], *batches):  # the first one loads kernels
                await ask(fleet, "start", requests)
            _change(vlm)
            begin = time.monotonic()
            vlm.save(Path(folder) / "disk")
            await fleet.load(Path(folder) / "disk")
            figures.changes.append(Change(name, "disk", time.monotonic() - begin, _used_gib(setting)))
            await ask(fleet, "disk", SCORED)
            if setting.device == "cpu":
                return
            lender = WeightLender(vlm)
            _change(vlm)
            await timed("ipc", fleet.copy(lender.lend))
            await ask(fleet, "ipc", SCORED)
            await timed("sleep", fleet.sleep())
            _change(vlm)
            free_memory(setting.device)
            await timed("wake", fleet.copy(lender.lend))
            await ask(fleet, "sleep", SCORED)


@contextlib.asynccontextmanager
async def _fleet(setting: Setting, folder: Path, dtype: str, max_tokens: int) -> AsyncIterator[Fleet]:
    """A server with the model in `folder/start`, whose weights may change."""
    model = ModelParams.model_validate(
        {"base": TOKENIZER, "judge_base": TOKENIZER, "dtype": dtype, "device": setting.device}
    )
    on_gpu = setting.device == "cuda"
    engine: dict[str, Any] = (
        {"gpu_memory_utilization": MEMORY, "max_num_seqs": 128}
        if on_gpu
        else {"enforce_eager": True, "max_num_seqs": 16, "kv_cache_memory_bytes": 2**28}
    )
    vllm = VLLMParams.model_validate(
        {"python": setting.vllm, "sleeps": on_gpu, "transfer": "ipc" if on_gpu else "disk"}
        | {"start_timeout_s": 300.0, "engine": engine | setting.engine}
    )
    log = folder / "logs" / "vllm-0.log"
    try:
        async with Fleet(folder / "start", ServerSettings(model, vllm, max_tokens, PROMPTS), log.parent, True) as fleet:
            yield fleet
    finally:
        if setting.logs is not None and log.exists():
            setting.logs.mkdir(parents=True, exist_ok=True)
            (setting.logs / f"vllm-{time.strftime('%H%M%S')}.log").write_bytes(log.read_bytes())


async def _responses(
    vlm: VLM,
    encoder: Encoder,
    fleet: Fleet,
    prompts: list[Encoded],
    names: tuple[str, str, str],
    requests: int,
    max_tokens: int,
) -> Responses:
    """Ask for `requests` responses at once, and score the first `SCORED` of them as the trainer does."""
    attempts = [prompts[index % len(prompts)] for index in range(requests)]
    questions = [_question(encoder, prompt, max_tokens, seed) for seed, prompt in enumerate(attempts)]
    begin = time.monotonic()
    answers = await asyncio.gather(*(fleet.generate(question) for question in questions))
    seconds = time.monotonic() - begin
    samples = [Sample(prompt, answer["token_ids"]) for prompt, answer in zip(attempts, answers, strict=True)]
    recorded = [logprob for answer in answers[:SCORED] for logprob in answer["logprobs"]]
    tokens = sum(len(answer["token_ids"]) for answer in answers)
    model, dtype, weights = names
    return Responses(
        **agreement(vlm, encoder, samples[:SCORED], recorded),
        model=model,
        dtype=dtype,
        weights=weights,
        requests=requests,
        tokens=tokens,
        seconds=seconds,
        tokens_s=tokens / seconds,
    )


def _question(encoder: Encoder, prompt: Encoded, max_tokens: int, seed: int) -> dict[str, Any]:
    """A request of `VLLMPolicy`, for a prompt that is encoded already."""
    return {
        "prompt": encoder.fold_images(prompt),
        "images": [base64.b64encode(encoder.vision.for_server(image).png).decode() for image in prompt.images],
        "sampling": {"temperature": 1.0, "max_tokens": max_tokens, "seed": seed},  # all responses have that length
        "unsayable": encoder.placeholder_ids,
    }


def _change(vlm: VLM) -> None:
    """Add noise to the matrices of the language model, as a step of training would change them, only more."""
    generator = torch.Generator(vlm.model.device).manual_seed(1)
    with torch.no_grad():
        for parameter in vlm.model.model.language_model.parameters():
            if parameter.ndim == 2:
                noise = torch.randn(
                    parameter.shape, generator=generator, device=parameter.device, dtype=parameter.dtype
                )
                parameter.add_(noise, alpha=CHANGE)


def _used_gib(setting: Setting) -> float | None:
    """Used memory of the GPU in GiB, after this process has given back what it does not need."""
    if setting.device == "cpu":
        return None
    torch.cuda.empty_cache()
    free, total = torch.cuda.mem_get_info()
    return (total - free) / GIB
