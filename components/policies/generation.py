"""Decoding many rows side by side: rows join between two steps, and leave when they end (continuous batching).

Most of a response is the form of a tool call, so a step also reads what is guessed to come next (`Drafts`) and keeps
the guesses that prove right (speculative decoding). A row draws its n-th token with the n-th of its own seeded random
numbers, and a guess is right if it is the token so drawn: neither the guesses nor the rows that happened to be decoded
together change a response (up to the last bit of the logits).

Trade-off: all rows are padded on the left to the longest of those that run, and wrong guesses leave holes in the
cache, which the mask hides. Out of scope: paged attention and prefix caching, which vLLM has. Names: U different
prompts, B rows, S positions of a step, L cached positions, V vocabulary, H hidden.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import torch
from transformers import DynamicCache

from components.agent.policy import Completion
from components.params import SamplingParams
from components.policies.encoding import Encoded, Encoder
from components.policies.vlm import VLM

MOST_GUESSED = 4
"""Tokens guessed ahead in a step."""


class Drafts:
    """Guesses what comes next: what followed the same last tokens the last two times.

    Where the form of a call ends and a name or a number begins it is silent: reading a wrong guess costs as much as
    reading a right one.
    """

    ORDER = 3
    MOST = 200_000
    """Contexts that it remembers before it starts anew, some 50 MB."""

    def __init__(self) -> None:
        self._next: dict[tuple[int, ...], tuple[int, bool]] = {}
        """What followed the last time, and whether it did so the time before."""

    def learn(self, ids: Sequence[int]) -> None:
        """Remember a response."""
        if len(self._next) > self.MOST:
            self._next.clear()
        for index, token in enumerate(ids):
            before = tuple(ids[max(0, index - self.ORDER) : index])
            self._next[before] = (token, self._next.get(before, (None,))[0] == token)

    def guess(self, ids: Sequence[int], count: int) -> list[int]:
        """At most `count` tokens that may follow the first `ids` of a response."""
        said, guessed = list(ids[-self.ORDER :]), []
        while len(guessed) < count:
            token, is_sure = self._next.get(tuple(said), (0, False))
            if not is_sure:
                break
            guessed.append(token)
            said = [*said, token][-self.ORDER :]
        return guessed


@dataclass(frozen=True, eq=False)
class Row:
    """One response to sample. Two rows are never the same, even if they ask the same."""

    prompt: Encoded
    sampling: SamplingParams
    max_tokens: int
    seed: int

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise ValueError(f"a response of at most {self.max_tokens} tokens cannot be sampled; ask for 1 or more")


@dataclass(eq=False)
class _Sampled:
    row: Row
    uniforms: np.ndarray
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)

    def next_uniforms(self, count: int) -> list[float]:
        """The random numbers of the next tokens; beyond the longest response none is ever used."""
        rest = self.uniforms[len(self.ids) : len(self.ids) + count].tolist()
        return rest + [0.0] * (count - len(rest))

    def ended(self, end_id: int) -> Literal["stop", "length"] | None:
        """Why no token comes after the last one, or None."""
        if self.ids[-1] == end_id:
            return "stop"
        return "length" if len(self.ids) >= self.row.max_tokens else None


class Generation:
    """Rows being decoded. `prefill` begins some, `merge` brings two together, `step` samples tokens of each."""

    def __init__(self, vlm: VLM, encoder: Encoder, drafts: Drafts) -> None:
        self.vlm = vlm
        self.encoder = encoder
        self.drafts = drafts
        self.ended: list[tuple[Row, Completion]] = []
        """Rows that ended, with their responses; the caller takes them out."""
        self._running: list[_Sampled] = []
        self._cache = DynamicCache(config=vlm.model.config.text_config)
        self._mask_BL = torch.empty(0)
        self._position_B = torch.empty(0)

    def __len__(self) -> int:
        return len(self._running)

    @property
    def rows(self) -> list[Row]:
        """The rows that have not ended."""
        return [sampled.row for sampled in self._running]

    @classmethod
    @torch.inference_mode()
    def prefill(cls, vlm: VLM, encoder: Encoder, rows: Sequence[Row], drafts: Drafts) -> Generation:
        """Read the prompts of some rows and sample their first token. Attempts at one prompt are encoded once."""
        self, model = cls(vlm, encoder, drafts), vlm.model
        model.eval()
        keys_B = [(tuple(row.prompt.ids), *(image.sha256 for image in row.prompt.images)) for row in rows]
        prompts = {key: row.prompt for key, row in zip(keys_B, rows, strict=True)}
        place = {key: index for index, key in enumerate(prompts)}
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
        index_B = torch.tensor([place[key] for key in keys_B], device=hidden_ULH.device)
        self._cache.batch_select_indices(index_B)
        self._position_B = (positions_3UL.amax(dim=(0, 2)) + 1)[index_B]
        self._mask_BL = inputs["attention_mask"][index_B]
        self._running = [_Sampled(row, np.random.default_rng(row.seed).random(row.max_tokens)) for row in rows]
        self._advance(logits_U1V[index_B], [[]] * len(rows))
        return self

    @torch.inference_mode()
    def merge(self, other: Generation) -> None:
        """Take over the rows of another generation of the same model."""
        self.ended += other.ended
        if not other._running:
            return
        if not self._running:
            self._cache, self._mask_BL = other._cache, other._mask_BL
            self._position_B, self._running = other._position_B, other._running
            return
        length = max(self._mask_BL.shape[1], other._mask_BL.shape[1])
        for mine, theirs in zip(self._cache.layers, other._cache.layers, strict=True):
            mine.keys = torch.cat([_pad_left(mine.keys, length, -2), _pad_left(theirs.keys, length, -2)])
            mine.values = torch.cat([_pad_left(mine.values, length, -2), _pad_left(theirs.values, length, -2)])
        self._mask_BL = torch.cat([_pad_left(self._mask_BL, length, -1), _pad_left(other._mask_BL, length, -1)])
        self._position_B = torch.cat([self._position_B, other._position_B])
        self._running += other._running

    @torch.inference_mode()
    def step(self) -> None:
        """Sample the next token of every row, and those after it that were guessed right."""
        model = self.vlm.model
        guesses = [
            self.drafts.guess(sampled.ids, min(MOST_GUESSED, sampled.row.max_tokens - len(sampled.ids) - 1))
            for sampled in self._running
        ]
        width = 1 + max(map(len, guesses))
        read = [[sampled.ids[-1], *guessed] for sampled, guessed in zip(self._running, guesses, strict=True)]
        read_BS = torch.tensor([ids + ids[:1] * (width - len(ids)) for ids in read], device=self._mask_BL.device)
        before = self._mask_BL.shape[1]
        self._mask_BL = torch.cat([self._mask_BL, self._mask_BL.new_ones(len(self), width)], dim=1)
        position_BS = self._position_B[:, None] + torch.arange(width, device=read_BS.device)
        with self.vlm.precision():
            hidden_BSH = model.model.language_model(
                inputs_embeds=model.get_input_embeddings()(read_BS),
                position_ids=position_BS.expand(3, -1, -1),
                attention_mask=self._mask_BL,
                past_key_values=self._cache,
                use_cache=True,
            ).last_hidden_state
            logits_BSV = model.lm_head(hidden_BSH)
        self._advance(logits_BSV, guesses, before)

    @torch.inference_mode()
    def drop(self, rows: set[Row]) -> None:
        """Forget rows that nobody waits for any more."""
        self._keep([index for index, sampled in enumerate(self._running) if sampled.row not in rows])

    def _advance(self, logits_BSV: torch.Tensor, guesses: list[list[int]], read_from: int | None = None) -> None:
        """Draw at every position of a step, keep what follows from right guesses, and let go of rows that ended.

        `read_from` is the first cached position of what this step read; None after a prefill, which read no guess.
        """
        width = logits_BSV.shape[1]
        sampling = [sampled.row.sampling for sampled in self._running for _ in range(width)]
        uniforms = [u for sampled in self._running for u in sampled.next_uniforms(width)]
        drawn, logprobs = draw(self.encoder.sayable(logits_BSV.flatten(0, 1).float()), sampling, uniforms)
        drawn_BS, logprob_BS = drawn.view(-1, width).tolist(), logprobs.view(-1, width).tolist()
        going_on, kept = [], []
        for index, (sampled, guessed) in enumerate(zip(self._running, guesses, strict=True)):
            before = len(sampled.ids)
            for token, logprob, guess in zip(drawn_BS[index], logprob_BS[index], [*guessed, None], strict=False):
                sampled.ids.append(token)
                sampled.logprobs.append(logprob)
                reason = sampled.ended(self.encoder.end_id)
                if reason or token != guess:
                    break
            kept.append(len(sampled.ids) - before)
            if reason is None:
                going_on.append(index)
            else:
                self.drafts.learn(sampled.ids)
                text = self.encoder.decode(sampled.ids)
                self.ended.append((sampled.row, Completion(sampled.ids, sampled.logprobs, text, reason)))
        if read_from is not None:
            self._forget_wrong(torch.tensor(kept, device=logits_BSV.device), read_from, width)
        self._keep(going_on)

    def _forget_wrong(self, kept_B: torch.Tensor, read_from: int, width: int) -> None:
        """Hide what a step read in vain; `kept_B` of its `width` tokens, from position `read_from` on, were right."""
        self._position_B = self._position_B + kept_B
        self._mask_BL[:, read_from:] = torch.arange(width, device=kept_B.device) < kept_B[:, None]
        length = read_from + int(kept_B.max())
        self._mask_BL = self._mask_BL[:, :length]
        for layer in self._cache.layers:
            layer.keys, layer.values = layer.keys[:, :, :length], layer.values[:, :, :length]

    def _keep(self, indices: list[int]) -> None:
        if len(indices) == len(self._running):
            return
        self._running = [self._running[index] for index in indices]
        if not indices:
            self._cache = DynamicCache(config=self.vlm.model.config.text_config)
            return
        index_K = torch.tensor(indices, device=self._mask_BL.device)
        self._position_B = self._position_B[index_K]
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
    generation = Generation.prefill(vlm, encoder, rows, Drafts())
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
