"""The embedded policy: the model in this process, batched across episodes, with exact ids and log-probabilities.

Requests of all running episodes are collected into one batch; finished rows leave the batch at once. Each row draws
from its own seeded random numbers, so a response does not depend on which other episodes happened to share its batch
(up to the last bit of the logits). Steps of `generate_batch`: prefill left-padded prompts with their images; then, one
token at a time, warp the logits, draw, and drop the rows that ended.

Trade-off: padding to the longest prompt. Out of scope: paged attention and prefix caching, which vLLM has.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import numpy as np
import torch
from transformers import DynamicCache

from components.agent.policy import Completion, Request
from components.agent.rendering import Prompt
from components.params import SamplingParams
from components.policies.encoding import Encoded, Encoder
from components.policies.vlm import VLM

GATHER_S = 0.02
"""How long a batch waits for one more request."""


@dataclass(frozen=True)
class Row:
    """One row of a batch."""

    prompt: Encoded
    sampling: SamplingParams
    max_tokens: int
    seed: int


class TransformersPolicy:
    """A policy in this process. Use it inside `async with`, which runs its batcher."""

    def __init__(self, vlm: VLM, version: str, max_batch: int = 64, encoder: Encoder | None = None) -> None:
        self.vlm = vlm
        self.version = version
        self.encoder = encoder or Encoder(vlm)
        self.max_batch = max_batch
        self._queue: asyncio.Queue[tuple[Row, asyncio.Future[Completion]]] = asyncio.Queue()
        self._worker: asyncio.Task[None] | None = None

    async def __aenter__(self) -> TransformersPolicy:
        self._queue = asyncio.Queue()
        self._worker = asyncio.create_task(self._serve())
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._worker is not None:
            self._worker.cancel()
            await asyncio.gather(self._worker, return_exceptions=True)

    def prompt_tokens(self, prompt: Prompt) -> int:
        return self.encoder.length(prompt)

    async def complete(self, request: Request) -> Completion:
        future: asyncio.Future[Completion] = asyncio.get_running_loop().create_future()
        row = Row(self.encoder.encode(request.prompt), request.sampling, request.max_tokens, request.seed)
        self._queue.put_nowait((row, future))
        return await future

    async def _serve(self) -> None:
        while True:
            batch = [await self._queue.get()]
            while len(batch) < self.max_batch:
                try:
                    async with asyncio.timeout(GATHER_S):
                        batch.append(await self._queue.get())
                except TimeoutError:
                    break
            live = [(row, future) for row, future in batch if not future.done()]
            try:
                completions = await asyncio.to_thread(generate_batch, self.vlm, self.encoder, [r for r, _ in live])
            except Exception as error:  # whatever broke belongs to the callers, the batcher lives on
                for _, future in live:
                    if not future.done():
                        future.set_exception(error)
                continue
            for (_, future), completion in zip(live, completions, strict=True):
                if not future.done():
                    future.set_result(completion)


@torch.inference_mode()
def generate_batch(vlm: VLM, encoder: Encoder, requests: list[Row]) -> list[Completion]:
    """Sample one response per row. Names: U different prompts, B rows still running, V vocabulary."""
    if not requests:
        return []
    model = vlm.model
    model.eval()
    # attempts of a group start from one prompt: it is encoded once, images by content
    keys_B = [(tuple(r.prompt.ids), *(image.sha256 for image in r.prompt.images)) for r in requests]
    prompts = {key: r.prompt for key, r in zip(keys_B, requests, strict=True)}
    place = {key: row for row, key in enumerate(prompts)}
    inputs = encoder.collate([p.ids for p in prompts.values()], [p.images for p in prompts.values()], pad="left")
    positions_3UL, _ = model.model.get_rope_index(
        inputs["input_ids"],
        mm_token_type_ids=inputs["mm_token_type_ids"],
        image_grid_thw=inputs.get("image_grid_thw"),
        attention_mask=inputs["attention_mask"],
    )
    cache = DynamicCache(config=model.config.text_config)
    hidden_ULH = model.model(
        **inputs, position_ids=positions_3UL, past_key_values=cache, use_cache=True
    ).last_hidden_state
    index_B = torch.tensor([place[key] for key in keys_B], device=hidden_ULH.device)
    cache.batch_select_indices(index_B)
    next_position_B = (positions_3UL.amax(dim=(0, 2)) + 1)[index_B]
    mask_BL = inputs["attention_mask"][index_B]
    logits_BV = encoder.sayable(model.lm_head(hidden_ULH[:, -1]).float())[index_B]

    uniforms = [np.random.default_rng(r.seed).random(r.max_tokens) for r in requests]
    ids: list[list[int]] = [[] for _ in requests]
    logprobs: list[list[float]] = [[] for _ in requests]
    running = list(range(len(requests)))
    while True:
        chosen_B, logprob_B = draw(
            logits_BV, [requests[i].sampling for i in running], [uniforms[i][len(ids[i])] for i in running]
        )
        keep = []
        for row, (i, token, logprob) in enumerate(zip(running, chosen_B.tolist(), logprob_B.tolist(), strict=True)):
            ids[i].append(token)
            logprobs[i].append(logprob)
            if token != encoder.end_id and len(ids[i]) < requests[i].max_tokens:
                keep.append(row)
        if not keep:
            break
        if len(keep) < len(running):
            index = torch.tensor(keep, device=mask_BL.device)
            cache.batch_select_indices(index)
            mask_BL, next_position_B, chosen_B = mask_BL[index], next_position_B[index], chosen_B[index]
            running = [running[row] for row in keep]
        mask_BL = torch.cat([mask_BL, mask_BL.new_ones(len(running), 1)], dim=1)
        hidden_BLH = model.model.language_model(
            inputs_embeds=model.get_input_embeddings()(chosen_B[:, None]),
            position_ids=next_position_B.view(1, -1, 1).expand(3, -1, 1),
            attention_mask=mask_BL,
            past_key_values=cache,
            use_cache=True,
        ).last_hidden_state
        next_position_B = next_position_B + 1
        logits_BV = encoder.sayable(model.lm_head(hidden_BLH[:, -1]).float())
    return [
        Completion(row, logps, encoder.decode(row), "stop" if row[-1] == encoder.end_id else "length")
        for row, logps in zip(ids, logprobs, strict=True)
    ]


def draw(
    logits_BV: torch.Tensor, sampling: list[SamplingParams], uniform_B: list[float]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Choose one id per row: greedy where the temperature is 0, else by inverse transform of `uniform_B`.

    Returns the ids (B,) and their log-probabilities under the distribution that was drawn from (B,); a greedy choice
    reports its log-probability at temperature 1, since its own distribution is a point.
    """
    temperature_B1 = torch.tensor([[s.temperature or 1.0] for s in sampling], device=logits_BV.device)
    logprobs_BV = torch.log_softmax(logits_BV / temperature_B1, dim=-1)
    if any(s.top_p < 1 or s.top_k > 0 for s in sampling):
        logprobs_BV = torch.stack([_truncate(row, s) for row, s in zip(logprobs_BV, sampling, strict=True)])
    cumulative_BV = logprobs_BV.double().exp().cumsum(dim=-1)
    target_B1 = torch.tensor(uniform_B, dtype=torch.float64, device=logits_BV.device)[:, None] * cumulative_BV[:, -1:]
    sampled_B = torch.searchsorted(cumulative_BV, target_B1, right=True)[:, 0].clamp(max=logits_BV.shape[1] - 1)
    greedy_B = logits_BV.argmax(dim=-1)
    is_greedy_B = torch.tensor([s.temperature == 0 for s in sampling], device=logits_BV.device)
    chosen_B = torch.where(is_greedy_B, greedy_B, sampled_B)
    return chosen_B, logprobs_BV.gather(1, chosen_B[:, None])[:, 0]


def _truncate(logprobs_V: torch.Tensor, sampling: SamplingParams) -> torch.Tensor:
    ordered_V, order_V = logprobs_V.sort(descending=True)
    keep_V = torch.ones_like(ordered_V, dtype=torch.bool)
    if sampling.top_k > 0:
        keep_V[sampling.top_k :] = False
    if sampling.top_p < 1:
        before_V = ordered_V.exp().cumsum(-1) - ordered_V.exp()
        keep_V &= before_V < sampling.top_p
    kept_V = torch.full_like(logprobs_V, float("-inf"))
    kept_V[order_V[keep_V]] = ordered_V[keep_V]
    return torch.log_softmax(kept_V, dim=-1)
