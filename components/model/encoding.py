"""Encodes prompts as token ids and pixels. Rollout and training use the same encoding.

Names: B sequences, L tokens in the longest, N rows of logits, V vocabulary.
"""

from __future__ import annotations

import copy
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from threading import Lock
from typing import Literal

import torch
from cachetools import LRUCache, cached
from PIL import Image as PILImage
from transformers import PreTrainedTokenizerBase

from components.agent.rendering import IM_END, Prompt, Response, Text
from components.model.stored_images import EncodedImage
from components.model.vision import Vision
from components.model.vlm import VLM
from components.params import ImageCacheParams
from components.records import Image

VISION_START, VISION_END, IMAGE_PAD = "<|vision_start|>", "<|vision_end|>", "<|image_pad|>"


KEPT_TOKENS = 2**22
"""Tokens of texts that an encoder keeps: about 50 MB with their texts, enough for some hundred long pages."""


@dataclass(frozen=True)
class Encoded:
    """An encoded prompt: ids with one placeholder per image feature, and the images in order."""

    ids: list[int]
    images: Sequence[EncodedImage]


@dataclass(frozen=True)
class Sample:
    """One turn as a training example: a prompt, and the sampled or demonstrated ids to learn."""

    prompt: Encoded
    response: list[int]


def token_id(tokenizer: PreTrainedTokenizerBase, token: str) -> int:
    """The id of one token.

    Raises:
        ValueError: the tokenizer does not have it.
    """
    token_number = tokenizer.convert_tokens_to_ids(token)
    if not isinstance(token_number, int):
        raise ValueError(f"the tokenizer of {tokenizer.name_or_path or 'this model'} has no token {token}")
    return token_number


@cache
def _white() -> Image:
    out = io.BytesIO()
    PILImage.new("RGB", (64, 64), "white").save(out, "PNG")
    return Image.of(out.getvalue())


class Encoder:
    """Encodes prompts for one model.

    Args:
        image_cache: where pixels and features of images are kept; None takes the default.
    """

    def __init__(self, vlm: VLM, image_cache: ImageCacheParams | None = None) -> None:
        self.tokenizer = vlm.tokenizer
        self.vision = Vision(vlm, image_cache or ImageCacheParams())
        config = vlm.model.config
        self.image_token_id: int = config.image_token_id
        self.device = vlm.model.device
        self.dtype = vlm.model.dtype
        self.pad_id: int = self.tokenizer.pad_token_id
        self.end_id = token_id(self.tokenizer, IM_END)
        self._vision_start = token_id(self.tokenizer, VISION_START)
        self._vision_end = token_id(self.tokenizer, VISION_END)
        self.placeholder_ids: list[int] = [
            self._vision_start,
            self._vision_end,
            self.image_token_id,
            config.video_token_id,
        ]
        """Tokens that stand for images, which a policy must never sample."""
        self._placeholder_ids = torch.tensor(self.placeholder_ids, device=self.device)
        self._rope_index = vlm.model.model.get_rope_index
        self._ids: dict[int, int] = {}
        texts: LRUCache[tuple[str], tuple[int, ...]] = LRUCache(KEPT_TOKENS, getsizeof=len)
        self._tokenize = cached(texts, key=lambda text: (text,), lock=Lock())(self._tokenize_text)

    def _tokenize_text(self, text: str) -> tuple[int, ...]:
        return self._shared(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def _shared(self, ids: Iterable[int]) -> tuple[int, ...]:
        """Ids with one object for each token. Objects of their own would take four times the memory: 36 bytes for each
        token of a training set instead of 8."""
        return tuple(self._ids.setdefault(number, number) for number in ids)

    @cached_property
    def _literal_tokenizer(self) -> PreTrainedTokenizerBase:
        # a copy: the option below changes a tokenizer's state, and rollouts use this one in another thread
        return copy.deepcopy(self.tokenizer)

    def tokens(self, text: str) -> list[int]:
        """Ids of a text that the harness wrote. Control tokens in the text are encoded as such."""
        return list(self._tokenize(text))

    def target_tokens(self, text: str) -> list[int]:
        """Ids of a training target that another model, a person or a page wrote, without the end token.

        Control tokens in the text, such as `<|im_end|>` or `<|image_pad|>`, are encoded as the characters that they
        are written with: as tokens, they would end the response, or announce an image that does not exist. `<think>`
        and `<tool_call>` are no control tokens.
        """
        ids = self._literal_tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
        return list(self._shared(ids))

    def decode(self, ids: list[int]) -> str:
        """Text of sampled ids without the end token."""
        sampled = ids[:-1] if ids and ids[-1] == self.end_id else ids
        return self.tokenizer.batch_decode([sampled], skip_special_tokens=False)[0]

    def mask_placeholders(self, logits_NV: torch.Tensor) -> torch.Tensor:
        """Logits (N, V) with the image placeholders set to -inf.

        A placeholder in a response would be read as an image once the response is part of a prompt. Rollout and trainer
        both call this, so that they agree on the probabilities of all other tokens.
        """
        return logits_NV.index_fill(-1, self._placeholder_ids, float("-inf"))

    def encode(self, prompt: Prompt) -> Encoded:
        """Encode a prompt. A recorded response without an end token gets one, which is not trained on."""
        ids: list[int] = []
        for segment in prompt.segments:
            match segment:
                case Text():
                    ids.extend(self._tokenize(segment.text))
                case Response():
                    ids.extend(segment.token_ids)
                    if not segment.token_ids or segment.token_ids[-1] != self.end_id:
                        ids.append(self.end_id)
                case Image():
                    count = self.vision.tokens(segment)
                    ids += [self._vision_start, *[self.image_token_id] * count, self._vision_end]
        return Encoded(ids, prompt.images)

    def fold_images(self, prompt: Encoded) -> list[int]:
        """The ids with one placeholder per image, for servers that expand placeholders themselves."""
        pad = self.image_token_id
        return [
            token
            for token, before in zip(prompt.ids, [None, *prompt.ids], strict=False)
            if (token, before) != (pad, pad)
        ]

    def blank_sample(self) -> Sample:
        """A sample of a white image and the end token. It adds an image to a forward pass that has none."""
        return Sample(self.encode(Prompt((_white(),))), [self.end_id])

    def length(self, prompt: Prompt) -> int:
        """Number of tokens of a prompt."""
        return len(self.encode(prompt).ids)

    def collate(
        self,
        sequences: list[list[int]],
        images: Iterable[Sequence[EncodedImage]] = (),
        pad: Literal["left", "right"] = "right",
        length: int | None = None,
    ) -> dict[str, torch.Tensor]:
        """Model inputs (B, L) for B sequences.

        Args:
            images: the images of each sequence, whose pixels are added to the inputs.
            pad: the side of the padding; transformers' own generation wants it on the left.
            length: L, if it is not that of the longest sequence.
        """
        length = length or max(map(len, sequences))
        input_ids_BL = torch.full((len(sequences), length), self.pad_id, dtype=torch.long)
        mask_BL = torch.zeros_like(input_ids_BL)
        for row, ids in enumerate(sequences):
            columns = slice(length - len(ids), length) if pad == "left" else slice(0, len(ids))
            input_ids_BL[row, columns] = torch.tensor(ids)
            mask_BL[row, columns] = 1
        inputs = {
            "input_ids": input_ids_BL,
            "attention_mask": mask_BL,
            "mm_token_type_ids": (input_ids_BL == self.image_token_id).int(),
        }
        pixels_and_grids = [self.vision.pixels(image) for row in images for image in row]
        if pixels_and_grids:
            inputs["pixel_values"] = torch.cat([pixels for pixels, _ in pixels_and_grids]).to(self.dtype)
            inputs["image_grid_thw"] = torch.cat([grid for _, grid in pixels_and_grids])
        return {name: tensor.to(self.device) for name, tensor in inputs.items()}

    def positions(self, ids: list[int], images: Sequence[EncodedImage]) -> torch.Tensor:
        """M-RoPE positions (3, L) of one sequence."""
        input_ids_1L = torch.tensor([ids])
        positions_31L, _ = self._rope_index(
            input_ids_1L,
            mm_token_type_ids=(input_ids_1L == self.image_token_id).int(),
            image_grid_thw=self.vision.grids(images),
        )
        return positions_31L[:, 0]
