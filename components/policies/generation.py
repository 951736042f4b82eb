"""Decodes many responses at once. Rows join between two steps and leave when they end (continuous batching).

Most of a response is the fixed form of a tool call. So a step also reads draft tokens (`NgramDrafts`) and keeps those
that prove right (speculative decoding). A row samples its n-th token with the n-th of its own seeded random numbers,
and a draft token is right if it is the token so sampled.

Neither the drafts nor the other rows change a response. On a CPU in float32 they change no bit of its log-probabilities
either, so a run does not depend on the timing of its episodes. Three rules make this so, with MKL's strict mode
(`components/__init__.py`), in which a matrix product of `WIDTH` rows or more gives each of them the same bits whatever
the others are:
- A prompt is padded on the right to a length that depends on itself alone, and read with prompts of that length.
- A step has `WIDTH` positions of each row.
- A row's tokens are in the cells of the cache that are their numbers (`RowCache`).

Trade-off: attention reads as many cells of every row as the longest row has. Paged attention and prefix caching are not
implemented; vLLM has them.

Names: U different prompts, B rows, S positions of a step, L positions of a padded prompt, V vocabulary, H hidden size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from time import perf_counter
from typing import Literal

import numpy as np
import torch
from transformers import DynamicCache

from components.agent.policy import Completion, Work
from components.model.encoding import Encoded, Encoder
from components.model.vlm import VLM
from components.params import SamplingParams
from components.policies.drafts import NgramDrafts
from components.policies.row_cache import RowCache
from components.policies.token_sampling import sample_tokens

WIDTH = 4
"""Positions of a step: the last token of a row, then draft tokens."""

PROMPT_BLOCK = 64
"""Prompts are padded to a multiple of this many tokens."""


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
    position: int
    """The M-RoPE position of the next token."""
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    vision_s: float = 0.0
    prefill_s: float = 0.0
    decode_s: float = 0.0

    @property
    def work(self) -> Work:
        """What the response took so far."""
        return Work(self.vision_s, self.prefill_s, self.decode_s)

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
        self._cache = RowCache()

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
        began, encoded_s = perf_counter(), encoder.vision.seconds
        self = cls(vlm, encoder, drafts)
        self._cache = RowCache(len(rows))
        vlm.model.eval()
        logits_1V = []
        for _, alike in groupby(sorted(rows, key=_padded_length, reverse=True), key=_padded_length):
            logits_1V += self._read_prompts(list(alike))
        _, ended = self._sample(torch.stack(logits_1V), [[]] * len(rows))
        vision_s = encoder.vision.seconds - encoded_s
        prefill_s = perf_counter() - began - vision_s
        for running in self._running:
            running.vision_s, running.prefill_s = vision_s / len(rows), prefill_s / len(rows)
        self._end(ended)
        return self

    def _read_prompts(self, rows: list[Row]) -> list[torch.Tensor]:
        """Add rows whose prompts have the same padded length; the logits (1, V) of the first token of each."""
        encoder, model = self.encoder, self.vlm.model
        keys_B = [(tuple(row.prompt.ids), *(image.sha256 for image in row.prompt.images)) for row in rows]
        prompts = {key: row.prompt for key, row in zip(keys_B, rows, strict=True)}
        number = {key: index for index, key in enumerate(prompts)}
        index_B = [number[key] for key in keys_B]
        images = [image for prompt in prompts.values() for image in prompt.images]
        inputs = encoder.collate([prompt.ids for prompt in prompts.values()], length=_padded_length(rows[0]))
        mask_UL = inputs.pop("attention_mask")  # padding on the right needs none: no token attends to later ones
        positions_3UL, _ = model.model.get_rope_index(
            inputs["input_ids"],
            mm_token_type_ids=inputs["mm_token_type_ids"],
            image_grid_thw=encoder.vision.grids(images),
            attention_mask=mask_UL,
        )
        cache = DynamicCache(config=model.model.language_model.config)
        lengths_U = [len(prompt.ids) for prompt in prompts.values()]
        with self.vlm.precision():
            hidden_ULH = model.model(
                **inputs,
                position_ids=positions_3UL,
                mm_encoder_outputs=encoder.vision.features(images),
                past_key_values=cache,
                use_cache=True,
            ).last_hidden_state
            last_USH = torch.stack([_last(hidden_ULH[prompt], length) for prompt, length in enumerate(lengths_U)])
            logits_U1V = model.lm_head(last_USH)[:, -1:]
        self._cache.insert(cache, index_B, lengths_U)
        next_U = (positions_3UL.amax(dim=(0, 2)) + 1).tolist()
        self._running += [
            _RunningRow(row, np.random.default_rng(row.seed).random(row.max_tokens), next_U[index])
            for row, index in zip(rows, index_B, strict=True)
        ]
        return [logits_U1V[index] for index in index_B]

    @torch.inference_mode()
    def merge(self, other: Generation) -> None:
        """Add the rows of another generation of the same model, which must not be used afterwards."""
        began = perf_counter()
        self.ended += other.ended
        self._running += other._running
        self._cache.extend(other._cache)
        merged_s = perf_counter() - began
        for running in other._running:
            running.prefill_s += merged_s / len(other)

    @torch.inference_mode()
    def step(self) -> None:
        """Sample the next token of every row, and those after it whose draft tokens are right."""
        began = perf_counter()
        model = self.vlm.model
        drafts = [
            self.drafts.draft(running.ids, min(WIDTH - 1, running.row.max_tokens - len(running.ids) - 1))
            for running in self._running
        ]
        inputs = [[running.ids[-1], *draft] for running, draft in zip(self._running, drafts, strict=True)]
        device = model.device
        input_BS = torch.tensor([ids + ids[:1] * (WIDTH - len(ids)) for ids in inputs], device=device)
        position_B1 = torch.tensor([[running.position] for running in self._running], device=device)
        with self.vlm.precision():
            hidden_BSH = model.model.language_model(
                inputs_embeds=model.get_input_embeddings()(input_BS),
                position_ids=(position_B1 + torch.arange(WIDTH, device=device)).expand(3, -1, -1),
                attention_mask=self._cache.begin(WIDTH),
                past_key_values=self._cache,
                use_cache=True,
            ).last_hidden_state
            logits_BSV = model.lm_head(hidden_BSH)
        kept, ended = self._sample(logits_BSV, drafts)
        self._cache.keep(kept)
        for running, count in zip(self._running, kept, strict=True):
            running.position += count
        decode_s = (perf_counter() - began) / len(self._running)
        for running in self._running:
            running.decode_s += decode_s
        self._end(ended)

    @torch.inference_mode()
    def drop(self, rows: set[Row]) -> None:
        """Remove rows whose responses are no longer needed."""
        self._remove([index for index, running in enumerate(self._running) if running.row in rows])

    def _sample(self, logits_BSV: torch.Tensor, drafts: list[list[int]]) -> tuple[list[int], list[int]]:
        """Sample at every position of a step, and keep the tokens up to the first wrong draft.

        Returns:
            how many tokens each row got, and the indices of the rows that ended.
        """
        width = logits_BSV.shape[1]
        sampling = [running.row.sampling for running in self._running for _ in range(width)]
        uniforms = [u for running in self._running for u in running.next_uniforms(width)]
        tokens, logprobs = sample_tokens(
            self.encoder.mask_placeholders(logits_BSV.flatten(0, 1).float()), sampling, uniforms
        )
        token_BS, logprob_BS = tokens.view(-1, width).tolist(), logprobs.view(-1, width).tolist()
        kept, ended = [], []
        for index, (running, draft) in enumerate(zip(self._running, drafts, strict=True)):
            before = len(running.ids)
            for token, logprob, expected in zip(token_BS[index], logprob_BS[index], [*draft, None], strict=False):
                running.ids.append(token)
                running.logprobs.append(logprob)
                reason = running.ended(self.encoder.end_id)
                if reason or token != expected:
                    break
            kept.append(len(running.ids) - before)
            if reason is not None:
                ended.append(index)
        return kept, ended

    def _end(self, indices: list[int]) -> None:
        """Complete the rows at `indices`, in ascending order, and remove them."""
        for running in (self._running[index] for index in indices):
            reason = running.ended(self.encoder.end_id)
            assert reason is not None
            self.drafts.learn(running.ids)
            text = self.encoder.decode(running.ids)
            completion = Completion(running.ids, running.logprobs, text, reason, work=running.work)
            self.ended.append((running.row, completion))
        self._remove(indices)

    def _remove(self, indices: list[int]) -> None:
        """Remove the rows at `indices`, in ascending order. The last row takes the place of a removed one."""
        for index in reversed(indices):
            self._cache.remove(index)
            last = self._running.pop()
            if index < len(self._running):
                self._running[index] = last


def _padded_length(row: Row) -> int:
    """The length to which a row's prompt is padded."""
    return -(-len(row.prompt.ids) // PROMPT_BLOCK) * PROMPT_BLOCK


def _last(hidden_LH: torch.Tensor, length: int) -> torch.Tensor:
    """The states (`WIDTH`, H) of the last tokens of a prompt; a shorter prompt repeats its first."""
    index_S = torch.arange(length - WIDTH, length, device=hidden_LH.device).clamp_min(0)
    return hidden_LH[index_S]


def generate_batch(vlm: VLM, encoder: Encoder, rows: Sequence[Row]) -> list[Completion]:
    """Sample one response per row, all together."""
    if not rows:
        return []
    generation = Generation.prefill(vlm, encoder, rows, NgramDrafts())
    while generation:
        generation.step()
    completions = dict(generation.ended)
    return [completions[row] for row in rows]
