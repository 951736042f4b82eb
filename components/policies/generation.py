"""Decodes many responses at once. Rows join between two steps and leave when they end (continuous batching).

Most of a response is the fixed form of a tool call. So a step also reads draft tokens (`NgramDrafts`) and keeps those
that prove right (speculative decoding). A row samples its n-th token with the n-th of its own seeded random numbers,
and a draft token is right if it is the token so sampled. So neither the drafts nor the other rows change a response, up
to the last bit of the logits.

Trade-off: all rows are padded on the left to the longest that runs, and wrong draft tokens leave holes in the cache,
which the mask hides. Paged attention and prefix caching are not implemented; vLLM has them.

Names: U different prompts, B rows, K kept rows, S positions of a step, L cached positions, V vocabulary, H hidden size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeGuard

import numpy as np
import torch
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

from components.agent.policy import Completion
from components.model.encoding import Encoded, Encoder
from components.model.vlm import VLM
from components.params import SamplingParams
from components.policies.drafts import NgramDrafts
from components.policies.token_sampling import sample_tokens

MAX_DRAFT = 4
"""Draft tokens read in one step."""


@dataclass(frozen=True, eq=False)
class Row:
    """One response to sample. Rows are compared by identity, so equal requests are different rows."""

    prompt: Encoded
    sampling: SamplingParams
    max_tokens: int
    seed: int

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise ValueError(f"a response of at most {self.max_tokens} tokens cannot be sampled; ask for 1 or more")


@dataclass(eq=False)
class _RunningRow:
    """A row with the tokens sampled so far."""

    row: Row
    uniforms: np.ndarray
    """One random number per token."""
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)

    def next_uniforms(self, count: int) -> list[float]:
        """The random numbers of the next `count` tokens, padded with 0 beyond the longest response."""
        rest = self.uniforms[len(self.ids) : len(self.ids) + count].tolist()
        return rest + [0.0] * (count - len(rest))

    def ended(self, end_id: int) -> Literal["stop", "length"] | None:
        """The reason if the last token ends the response, else None."""
        if self.ids[-1] == end_id:
            return "stop"
        return "length" if len(self.ids) >= self.row.max_tokens else None


class Generation:
    """The rows that are decoded together. `prefill` starts rows, `merge` joins two generations, `step` samples
    tokens."""

    def __init__(self, vlm: VLM, encoder: Encoder, drafts: NgramDrafts) -> None:
        self.vlm = vlm
        self.encoder = encoder
        self.drafts = drafts
        self.ended: list[tuple[Row, Completion]] = []
        """Rows that ended, with their responses. The caller removes them."""
        self._running: list[_RunningRow] = []
        self._cache = DynamicCache(config=vlm.model.model.language_model.config)
        self._mask_BL = torch.empty(0)
        self._position_B = torch.empty(0)

    def __len__(self) -> int:
        return len(self._running)

    @property
    def rows(self) -> list[Row]:
        """The rows that have not ended."""
        return [running.row for running in self._running]

    @classmethod
    @torch.inference_mode()
    def prefill(cls, vlm: VLM, encoder: Encoder, rows: Sequence[Row], drafts: NgramDrafts) -> Generation:
        """Read the prompts of rows and sample their first tokens. Rows with equal prompts are read once."""
        self, model = cls(vlm, encoder, drafts), vlm.model
        model.eval()
        keys_B = [(tuple(row.prompt.ids), *(image.sha256 for image in row.prompt.images)) for row in rows]
        prompts = {key: row.prompt for key, row in zip(keys_B, rows, strict=True)}
        prompt_index = {key: index for index, key in enumerate(prompts)}
        images = [image for prompt in prompts.values() for image in prompt.images]
        inputs = encoder.collate([prompt.ids for prompt in prompts.values()], pad="left")
        positions_3UL, _ = model.model.get_rope_index(
            inputs["input_ids"],
            mm_token_type_ids=inputs["mm_token_type_ids"],
            image_grid_thw=encoder.vision.grids(images),
            attention_mask=inputs["attention_mask"],
        )
        with vlm.precision():
            hidden_ULH = model.model(
                **inputs,
                position_ids=positions_3UL,
                mm_encoder_outputs=encoder.vision.features(images),
                past_key_values=self._cache,
                use_cache=True,
            ).last_hidden_state
            logits_U1V = model.lm_head(hidden_ULH[:, -1:])
        index_B = torch.tensor([prompt_index[key] for key in keys_B], device=hidden_ULH.device)
        self._cache.batch_select_indices(index_B)
        self._position_B = (positions_3UL.amax(dim=(0, 2)) + 1)[index_B]
        self._mask_BL = inputs["attention_mask"][index_B]
        self._running = [_RunningRow(row, np.random.default_rng(row.seed).random(row.max_tokens)) for row in rows]
        self._advance(logits_U1V[index_B], [[]] * len(rows))
        return self

    @torch.inference_mode()
    def merge(self, other: Generation) -> None:
        """Add the rows of another generation of the same model, which must not be used afterwards."""
        self.ended += other.ended
        if not other._running:
            return
        if not self._running:
            self._cache, self._mask_BL = other._cache, other._mask_BL
            self._position_B, self._running = other._position_B, other._running
            return
        length = max(self._mask_BL.shape[1], other._mask_BL.shape[1])
        for layer, added in zip(_layers(self._cache), _layers(other._cache), strict=True):
            layer.keys = torch.cat([_pad_left(layer.keys, length, -2), _pad_left(added.keys, length, -2)])
            layer.values = torch.cat([_pad_left(layer.values, length, -2), _pad_left(added.values, length, -2)])
        self._mask_BL = torch.cat([_pad_left(self._mask_BL, length, -1), _pad_left(other._mask_BL, length, -1)])
        self._position_B = torch.cat([self._position_B, other._position_B])
        self._running += other._running

    @torch.inference_mode()
    def step(self) -> None:
        """Sample the next token of every row, and those after it whose draft tokens are right."""
        model = self.vlm.model
        drafts = [
            self.drafts.draft(running.ids, min(MAX_DRAFT, running.row.max_tokens - len(running.ids) - 1))
            for running in self._running
        ]
        width = 1 + max(map(len, drafts))
        inputs = [[running.ids[-1], *draft] for running, draft in zip(self._running, drafts, strict=True)]
        input_BS = torch.tensor([ids + ids[:1] * (width - len(ids)) for ids in inputs], device=self._mask_BL.device)
        cached = self._mask_BL.shape[1]
        self._mask_BL = torch.cat([self._mask_BL, self._mask_BL.new_ones(len(self), width)], dim=1)
        position_BS = self._position_B[:, None] + torch.arange(width, device=input_BS.device)
        with self.vlm.precision():
            hidden_BSH = model.model.language_model(
                inputs_embeds=model.get_input_embeddings()(input_BS),
                position_ids=position_BS.expand(3, -1, -1),
                attention_mask=self._mask_BL,
                past_key_values=self._cache,
                use_cache=True,
            ).last_hidden_state
            logits_BSV = model.lm_head(hidden_BSH)
        self._advance(logits_BSV, drafts, cached)

    @torch.inference_mode()
    def drop(self, rows: set[Row]) -> None:
        """Remove rows whose responses are no longer needed."""
        self._keep([index for index, running in enumerate(self._running) if running.row not in rows])

    def _advance(self, logits_BSV: torch.Tensor, drafts: list[list[int]], cached: int | None = None) -> None:
        """Sample at every position of a step, keep the tokens up to the first wrong draft, and remove ended rows.

        Args:
            cached: number of cached positions before the step; None after a prefill, which reads no drafts.
        """
        width = logits_BSV.shape[1]
        sampling = [running.row.sampling for running in self._running for _ in range(width)]
        uniforms = [u for running in self._running for u in running.next_uniforms(width)]
        tokens, logprobs = sample_tokens(
            self.encoder.mask_placeholders(logits_BSV.flatten(0, 1).float()), sampling, uniforms
        )
        token_BS, logprob_BS = tokens.view(-1, width).tolist(), logprobs.view(-1, width).tolist()
        unfinished, kept = [], []
        for index, (running, draft) in enumerate(zip(self._running, drafts, strict=True)):
            before = len(running.ids)
            for token, logprob, expected in zip(token_BS[index], logprob_BS[index], [*draft, None], strict=False):
                running.ids.append(token)
                running.logprobs.append(logprob)
                reason = running.ended(self.encoder.end_id)
                if reason or token != expected:
                    break
            kept.append(len(running.ids) - before)
            if reason is None:
                unfinished.append(index)
            else:
                self.drafts.learn(running.ids)
                text = self.encoder.decode(running.ids)
                self.ended.append((running.row, Completion(running.ids, running.logprobs, text, reason)))
        if cached is not None:
            self._hide_wrong_drafts(torch.tensor(kept, device=logits_BSV.device), cached, width)
        self._keep(unfinished)

    def _hide_wrong_drafts(self, kept_B: torch.Tensor, cached: int, width: int) -> None:
        """Mask the wrong tokens of a step: of its `width` positions after the first `cached`, `kept_B` are right."""
        self._position_B = self._position_B + kept_B
        self._mask_BL[:, cached:] = torch.arange(width, device=kept_B.device) < kept_B[:, None]
        length = cached + int(kept_B.max())
        self._mask_BL = self._mask_BL[:, :length]
        for layer in _layers(self._cache):
            layer.keys, layer.values = layer.keys[:, :, :length], layer.values[:, :, :length]

    def _keep(self, indices: list[int]) -> None:
        """Remove all rows but those at `indices`."""
        if len(indices) == len(self._running):
            return
        self._running = [self._running[index] for index in indices]
        if not indices:
            self._cache = DynamicCache(config=self.vlm.model.model.language_model.config)
            return
        index_K = torch.tensor(indices, device=self._mask_BL.device)
        self._position_B = self._position_B[index_K]
        mask_KL = self._mask_BL[index_K]
        unused = int(mask_KL.any(dim=0).int().argmax())  # columns of padding for longer rows that have ended
        self._mask_BL = mask_KL[:, unused:]
        for layer in _layers(self._cache):
            layer.keys = layer.keys[index_K, :, unused:]
            layer.values = layer.values[index_K, :, unused:]


def generate_batch(vlm: VLM, encoder: Encoder, rows: Sequence[Row]) -> list[Completion]:
    """Sample one response per row, all together."""
    if not rows:
        return []
    generation = Generation.prefill(vlm, encoder, rows, NgramDrafts())
    while generation:
        generation.step()
    completions = dict(generation.ended)
    return [completions[row] for row in rows]


class _Layer(Protocol):
    keys: torch.Tensor
    values: torch.Tensor


def _is_filled(layer: object) -> TypeGuard[_Layer]:
    return isinstance(layer, DynamicLayer) and layer.keys is not None and layer.values is not None


def _layers(cache: DynamicCache) -> list[_Layer]:
    """The layers of a cache that has read something."""
    return [layer for layer in cache.layers if _is_filled(layer)]


def _pad_left(tensor: torch.Tensor, length: int, dim: int) -> torch.Tensor:
    missing = length - tensor.shape[dim]
    if missing == 0:
        return tensor
    shape = list(tensor.shape)
    shape[dim] = missing
    return torch.cat([tensor.new_zeros(shape), tensor], dim=dim)
