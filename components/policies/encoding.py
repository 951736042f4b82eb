"""Prompts to token ids and pixels: the one place where a conversation becomes numbers, for rollout and training alike.

Names: B sequences, L tokens in the longest, N image tokens over all sequences.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache

import torch
from PIL import Image as PILImage

from components.agent.rendering import IM_END, Prompt, Response, Text
from components.policies.vision import Vision
from components.policies.vlm import VLM
from components.records import Image

VISION_START, VISION_END, IMAGE_PAD = "<|vision_start|>", "<|vision_end|>", "<|image_pad|>"


@dataclass(frozen=True)
class Encoded:
    """A prompt as the model reads it: ids (image pads expanded) and the images in order."""

    ids: list[int]
    images: list[Image]


@dataclass(frozen=True)
class Sample:
    """One turn as a training example: a prompt and the ids to learn, all of them sampled (or demonstrated)."""

    prompt: Encoded
    response: list[int]


@cache
def _white() -> Image:
    out = io.BytesIO()
    PILImage.new("RGB", (64, 64), "white").save(out, "PNG")
    return Image.of(out.getvalue())


class Encoder:
    """Encodes prompts for one model. `cache_bytes` is what its `Vision` may keep of pixels, and of features."""

    def __init__(self, vlm: VLM, cache_bytes: int = 2**28) -> None:
        self.tokenizer = vlm.tokenizer
        self.vision = Vision(vlm, cache_bytes)
        config = vlm.model.config
        self.image_token_id: int = config.image_token_id
        self.device = vlm.model.device
        self.dtype = vlm.model.dtype
        self.pad_id: int = self.tokenizer.pad_token_id
        self.end_id: int = self.tokenizer.convert_tokens_to_ids(IM_END)
        self._vision_start, self._vision_end = self.tokenizer.convert_tokens_to_ids([VISION_START, VISION_END])
        vision = [self._vision_start, self._vision_end, self.image_token_id, config.video_token_id]
        self.unsayable: list[int] = vision
        """Placeholders of images, which are no words of the policy."""
        self._unsayable = torch.tensor(vision, device=self.device)
        self._rope_index = vlm.model.model.get_rope_index
        self._tokenize = lru_cache(maxsize=16384)(self._tokenize_text)

    def _tokenize_text(self, text: str) -> tuple[int, ...]:
        return tuple(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def tokens(self, text: str) -> list[int]:
        """Ids of a text, special tokens in it included."""
        return list(self._tokenize(text))

    def decode(self, ids: list[int]) -> str:
        """Text of sampled ids, without the end token."""
        return self.tokenizer.decode(ids[:-1] if ids and ids[-1] == self.end_id else ids, skip_special_tokens=False)

    def sayable(self, logits_NV: torch.Tensor) -> torch.Tensor:
        """Logits of the policy's distribution: placeholders of images are none of its words.

        A placeholder in a response would be taken for an image when the response stands in the history. Rollout and
        trainer both go through here, so that they agree on the probabilities of all other tokens.
        """
        return logits_NV.index_fill(-1, self._unsayable, float("-inf"))

    def encode(self, prompt: Prompt) -> Encoded:
        """Ids of a prompt. A response that was cut before its end token is closed here, outside of what is trained."""
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

    def folded(self, prompt: Encoded) -> list[int]:
        """The ids with one placeholder per image, as servers take them that expand it themselves."""
        pad = self.image_token_id
        return [
            token
            for token, before in zip(prompt.ids, [None, *prompt.ids], strict=False)
            if (token, before) != (pad, pad)
        ]

    def blank(self) -> Sample:
        """An empty image and the end: what gives a pass an image that has none."""
        return Sample(self.encode(Prompt((_white(),))), [self.end_id])

    def length(self, prompt: Prompt) -> int:
        """Tokens of a prompt."""
        return len(self.encode(prompt).ids)

    def collate(
        self, sequences: list[list[int]], images: Iterable[list[Image]] = (), pad: str = "right"
    ) -> dict[str, torch.Tensor]:
        """Model inputs for B sequences, padded to L on the `left` (generation) or `right` (training).

        Pixels are among them for the `images` given, per sequence.
        """
        length = max(map(len, sequences))
        input_ids_BL = torch.full((len(sequences), length), self.pad_id, dtype=torch.long)
        mask_BL = torch.zeros_like(input_ids_BL)
        for row, ids in enumerate(sequences):
            where = slice(length - len(ids), length) if pad == "left" else slice(0, len(ids))
            input_ids_BL[row, where] = torch.tensor(ids)
            mask_BL[row, where] = 1
        inputs = {
            "input_ids": input_ids_BL,
            "attention_mask": mask_BL,
            "mm_token_type_ids": (input_ids_BL == self.image_token_id).int(),
        }
        shown = [self.vision.pixels(image) for row in images for image in row]
        if shown:
            inputs["pixel_values"] = torch.cat([pixels for pixels, _ in shown]).to(self.dtype)
            inputs["image_grid_thw"] = torch.cat([grid for _, grid in shown])
        return {name: tensor.to(self.device) for name, tensor in inputs.items()}

    def positions(self, ids: list[int], images: list[Image]) -> torch.Tensor:
        """M-RoPE positions (3, L) of one sequence."""
        input_ids_1L = torch.tensor([ids])
        positions_31L, _ = self._rope_index(
            input_ids_1L,
            mm_token_type_ids=(input_ids_1L == self.image_token_id).int(),
            image_grid_thw=self.vision.grids(images),
        )
        return positions_31L[:, 0]
