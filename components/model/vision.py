"""Images as model inputs: pixels, and the vision tower's features, which are cached while the tower does not change.

Names: P patches of an image, D values of a patch.
"""

from __future__ import annotations

import hashlib
import io
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from cachetools import LRUCache
from PIL import Image as PILImage
from torch.distributed.fsdp import FSDPModule
from transformers.models.qwen3_vl.modeling_qwen3_vl import BaseModelOutputWithDeepstackFeatures

from components.model.vlm import VLM
from components.records import Image

_Features = tuple[torch.Tensor, ...]
"""Of one image: the features at its placeholders, then those that DeepStack adds at each of the first layers."""


@dataclass(frozen=True)
class ServerImage:
    """An image in the size that the vision tower reads, as a PNG file. `sha256` is of its size and its RGB pixels."""

    png: bytes
    sha256: str


class Vision:
    """The images of one model. Pixels and features are cached by image content, up to `cache_bytes` of each."""

    def __init__(self, vlm: VLM, cache_bytes: int = 2**28) -> None:
        self._model, self._processor = vlm.model.model, vlm.images
        self._lock = threading.Lock()
        self._pixels: LRUCache[str, tuple[torch.Tensor, torch.Tensor]] = LRUCache(cache_bytes, lambda p: p[0].nbytes)
        self._features: LRUCache[str, _Features] = LRUCache(cache_bytes, lambda f: sum(part.nbytes for part in f))
        self._version = self._weights_version()

    def pixels(self, image: Image) -> tuple[torch.Tensor, torch.Tensor]:
        """Patches (P, D) and grid (1, 3) of an image: time, height, width in patches."""
        with self._lock:  # the event loop counts tokens while the decoder's thread reads pixels
            inputs = self._pixels.get(image.sha256)
            if inputs is None:
                picture = PILImage.open(io.BytesIO(image.data)).convert("RGB")
                out = self._processor(images=[picture], return_tensors="pt")
                inputs = (out["pixel_values"], out["image_grid_thw"])
                if inputs[0].nbytes <= self._pixels.maxsize:
                    self._pixels[image.sha256] = inputs
            return inputs

    def tokens(self, image: Image) -> int:
        """Number of placeholders of an image in a sequence."""
        _, grid = self.pixels(image)
        return int(grid.prod()) // self._processor.merge_size**2

    def for_server(self, image: Image) -> ServerImage:
        """An image for an inference server, resized here, so that the server does not resize it differently."""
        _, grid = self.pixels(image)
        _, rows, columns = grid[0].tolist()
        patch = self._processor.patch_size
        picture, size = PILImage.open(io.BytesIO(image.data)), (columns * patch, rows * patch)
        rgb = picture.convert("RGB")
        if picture.size == size and picture.format == "PNG":
            return ServerImage(image.data, _sha256(rgb))
        rgb, out = rgb.resize(size, self._processor.resample), io.BytesIO()
        rgb.save(out, "PNG", compress_level=1)
        return ServerImage(out.getvalue(), _sha256(rgb))

    def grids(self, images: Sequence[Image]) -> torch.Tensor | None:
        """Grids (len(images), 3) of images in patches: time, height, width; None without images."""
        return torch.cat([self.pixels(image)[1] for image in images]) if images else None

    @property
    def is_sharded(self) -> bool:
        """Whether the vision tower is sharded (FSDP). Then all processes must run it together."""
        return isinstance(self._model.visual, FSDPModule)

    def inputs(self, images: Sequence[Image]) -> dict[str, Any]:
        """The model's inputs for images, in the order of their placeholders.

        These are features, or pixels if the tower is sharded: its weights are gathered only during a pass of the model.
        """
        if not self.is_sharded:
            return {"mm_encoder_outputs": self.features(images)}
        return dict(zip(("pixel_values", "image_grid_thw"), self._patches(images), strict=True)) if images else {}

    def features(self, images: Sequence[Image]) -> dict[str, BaseModelOutputWithDeepstackFeatures]:
        """Qwen3-VL's `mm_encoder_outputs` for images, in the order of their placeholders.

        A repeated image is encoded once. If the tower is trained, the features have gradients. Else they come from the
        cache, which is cleared when the tower's weights change.
        """
        if not images:
            return {}
        unique = {image.sha256: image for image in images}
        trained = torch.is_grad_enabled() and any(p.requires_grad for p in self._model.visual.parameters())
        features = self._encode(unique) if trained else self._cached(unique)
        parts = [features[image.sha256] for image in images]
        return {
            "image": BaseModelOutputWithDeepstackFeatures(
                # the model puts features of single images here, though the class declares one tensor of all
                pooler_output=tuple(part[0] for part in parts),  # type: ignore[arg-type]
                deepstack_features=[tuple(layer) for layer in zip(*(part[1:] for part in parts), strict=True)],  # type: ignore[misc]
            )
        }

    def _cached(self, images: dict[str, Image]) -> dict[str, _Features]:
        with self._lock:
            if self._version != (version := self._weights_version()):
                self._features.clear()
                self._version = version
            features = {key: self._features[key] for key in images if key in self._features}
        missing = {key: image for key, image in images.items() if key not in features}
        if missing:
            with torch.inference_mode(False), torch.no_grad():  # a trainer's graph may use features of a rollout
                encoded = self._encode(missing)
            with self._lock:
                for key, parts in encoded.items():
                    if sum(part.nbytes for part in parts) <= self._features.maxsize:
                        self._features[key] = tuple(part.clone() for part in parts)  # a view would keep all images
            features |= encoded
        return features

    def _encode(self, images: dict[str, Image]) -> dict[str, _Features]:
        out = self._model.get_image_features(*self._patches(images.values()))
        return dict(zip(images, zip(out.pooler_output, *out.deepstack_features, strict=True), strict=True))

    def _patches(self, images: Iterable[Image]) -> tuple[torch.Tensor, torch.Tensor]:
        """Patches and grids of all images, concatenated, on the tower's device."""
        pixels, grids = zip(*map(self.pixels, images), strict=True)
        device = self._model.visual.device
        return torch.cat(pixels).to(device), torch.cat(grids).to(device)

    def _weights_version(self) -> int:
        """A number that grows with every in-place change of the tower's weights."""
        return sum(parameter._version for parameter in self._model.visual.parameters())


def _sha256(picture: PILImage.Image) -> str:
    """The hash that the server computes, too (`vllm/engine/server.py`)."""
    return hashlib.sha256(repr(picture.size).encode() + picture.tobytes()).hexdigest()
