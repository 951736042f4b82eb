"""Decoding many rows side by side: rows join between two tokens, and leave when they end (continuous batching).

A row draws from its own seeded random numbers, so a response does not depend on which other rows happened to be decoded
with it (up to the last bit of the logits).

Trade-off: all rows are padded on the left to the longest of those that run. Out of scope: paged attention and prefix
caching, which vLLM has. Names: U different prompts, B rows, L cached positions, V vocabulary, H hidden.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from transformers import DynamicCache

from components.agent.policy import Completion
from components.params import SamplingParams
from components.policies.encoding import Encoded, Encoder
from components.policies.vlm import VLM


@dataclass(frozen=True, eq=False)
class Row:
    """One response to sample. Two rows are never the same, even if they ask the same."""

    prompt: Encoded
    sampling: SamplingParams
    max_tokens: int
    seed: int


@dataclass(eq=False)
class _Sampled:
    row: Row
    uniforms: np.ndarray
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)


class Generation:
    """Rows being decoded. `prefill` begins some, `merge` brings two together, `step` samples a token each."""

    def __init__(self, vlm: VLM, encoder: Encoder) -> None:
        self.vlm = vlm
        self.encoder = encoder
        self.ended: list[tuple[Row, Completion]] = []
        """Rows that ended, with their responses; the caller takes them out."""
        self._running: list[_Sampled] = []
        self._cache = DynamicCache(config=vlm.model.config.text_config)
        self._mask_BL = torch.empty(0)
        self._position_B = torch.empty(0)
        self._last_B = torch.empty(0)

    def __len__(self) -> int:
        return len(self._running)

    @property
    def rows(self) -> list[Row]:
        """The rows that have not ended."""
        return [sampled.row for sampled in self._running]

    @classmethod
    @torch.inference_mode()
    def prefill(cls, vlm: VLM, encoder: Encoder, rows: Sequence[Row]) -> Generation:
        """Read the prompts of some rows and sample their first token. Attempts at one prompt are encoded once."""
        self, model = cls(vlm, encoder), vlm.model
        model.eval()
        keys_B = [(tuple(row.prompt.ids), *(image.sha256 for image in row.prompt.images)) for row in rows]
        prompts = {key: row.prompt for key, row in zip(keys_B, rows, strict=True)}
        place = {key: index for index, key in enumerate(prompts)}
        inputs = encoder.collate([p.ids for p in prompts.values()], [p.images for p in prompts.values()], pad="left")
        positions_3UL, _ = model.model.get_rope_index(
            inputs["input_ids"],
            mm_token_type_ids=inputs["mm_token_type_ids"],
            image_grid_thw=inputs.get("image_grid_thw"),
            attention_mask=inputs["attention_mask"],
        )
        hidden_ULH = model.model(
            **inputs, position_ids=positions_3UL, past_key_values=self._cache, use_cache=True
        ).last_hidden_state
        index_B = torch.tensor([place[key] for key in keys_B], device=hidden_ULH.device)
        self._cache.batch_select_indices(index_B)
        self._position_B = (positions_3UL.amax(dim=(0, 2)) + 1)[index_B]
        self._mask_BL = inputs["attention_mask"][index_B]
        self._running = [_Sampled(row, np.random.default_rng(row.seed).random(row.max_tokens)) for row in rows]
        self._advance(model.lm_head(hidden_ULH[:, -1])[index_B])
        return self

    @torch.inference_mode()
    def merge(self, other: Generation) -> None:
        """Take over the rows of another generation of the same model."""
        self.ended += other.ended
        if not other._running:
            return
        if not self._running:
            self._cache, self._mask_BL = other._cache, other._mask_BL
            self._position_B, self._last_B, self._running = other._position_B, other._last_B, other._running
            return
        length = max(self._mask_BL.shape[1], other._mask_BL.shape[1])
        for mine, theirs in zip(self._cache.layers, other._cache.layers, strict=True):
            mine.keys = torch.cat([_pad_left(mine.keys, length, -2), _pad_left(theirs.keys, length, -2)])
            mine.values = torch.cat([_pad_left(mine.values, length, -2), _pad_left(theirs.values, length, -2)])
        self._mask_BL = torch.cat([_pad_left(self._mask_BL, length, -1), _pad_left(other._mask_BL, length, -1)])
        self._position_B = torch.cat([self._position_B, other._position_B])
        self._last_B = torch.cat([self._last_B, other._last_B])
        self._running += other._running

    @torch.inference_mode()
    def step(self) -> None:
        """Sample the next token of every row."""
        model = self.vlm.model
        self._mask_BL = torch.cat([self._mask_BL, self._mask_BL.new_ones(len(self), 1)], dim=1)
        hidden_BLH = model.model.language_model(
            inputs_embeds=model.get_input_embeddings()(self._last_B[:, None]),
            position_ids=self._position_B.view(1, -1, 1).expand(3, -1, 1),
            attention_mask=self._mask_BL,
            past_key_values=self._cache,
            use_cache=True,
        ).last_hidden_state
        self._position_B = self._position_B + 1
        self._advance(model.lm_head(hidden_BLH[:, -1]))

    @torch.inference_mode()
    def drop(self, rows: set[Row]) -> None:
        """Forget rows that nobody waits for any more."""
        self._keep([index for index, sampled in enumerate(self._running) if sampled.row not in rows])

    def _advance(self, logits_BV: torch.Tensor) -> None:
        self._last_B, logprob_B = draw(
            self.encoder.sayable(logits_BV.float()),
            [sampled.row.sampling for sampled in self._running],
            [sampled.uniforms[len(sampled.ids)] for sampled in self._running],
        )
        going_on = []
        for index, (sampled, token, logprob) in enumerate(
            zip(self._running, self._last_B.tolist(), logprob_B.tolist(), strict=True)
        ):
            sampled.ids.append(token)
            sampled.logprobs.append(logprob)
            if token != self.encoder.end_id and len(sampled.ids) < sampled.row.max_tokens:
                going_on.append(index)
            else:
                reason = "stop" if token == self.encoder.end_id else "length"
                text = self.encoder.decode(sampled.ids)
                self.ended.append((sampled.row, Completion(sampled.ids, sampled.logprobs, text, reason)))
        self._keep(going_on)

    def _keep(self, indices: list[int]) -> None:
        if len(indices) == len(self._running):
            return
        self._running = [self._running[index] for index in indices]
        if not indices:
            self._cache = DynamicCache(config=self.vlm.model.config.text_config)
            return
        index_K = torch.tensor(indices, device=self._mask_BL.device)
        self._position_B, self._last_B = self._position_B[index_K], self._last_B[index_K]
        mask_KL = self._mask_BL[index_K]
        unused = int(mask_KL.any(dim=0).int().argmax())  # columns that only padded for a longer row that has left
        self._mask_BL = mask_KL[:, unused:]
        for layer in self._cache.layers:
            layer.keys = layer.keys[index_K, :, unused:]
            layer.values = layer.values[index_K, :, unused:]


def generate_batch(vlm: VLM, encoder: Encoder, rows: Sequence[Row]) -> list[Completion]:
    """Sample one response per row, all of them side by side."""
    if not rows:
        return []
    generation = Generation.prefill(vlm, encoder, rows)
    while generation:
        generation.step()
    found = dict(generation.ended)
    return [found[row] for row in rows]


def draw(
    logits_BV: torch.Tensor, sampling: Sequence[SamplingParams], uniform_B: Sequence[float]
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


def _pad_left(tensor: torch.Tensor, length: int, dim: int) -> torch.Tensor:
    missing = length - tensor.shape[dim]
    if missing == 0:
        return tensor
    shape = list(tensor.shape)
    shape[dim] = missing
    return torch.cat([tensor.new_zeros(shape), tensor], dim=dim)
