"""Images as the language model reads them: pixels, and the vision tower's features where the tower does not change.

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

from components.policies.vlm import VLM
from components.records import Image

_Features = tuple[torch.Tensor, ...]
"""Of one image: what enters the row, then what DeepStack adds to each of the first layers."""


@dataclass(frozen=True)
class Seen:
    """An image in the size in which the tower sees it, as a PNG file. `sha256` is of its size and pixels in RGB."""

    png: bytes
    sha256: str


class Vision:
    """Images of one model. Pixels and features are cached by image content, up to `cache_bytes` of each."""

    def __init__(self, vlm: VLM, cache_bytes: int = 2**28) -> None:
        self._model, self._processor = vlm.model.model, vlm.images
        self._lock = threading.Lock()
        self._pixels: LRUCache[str, tuple[torch.Tensor, torch.Tensor]] = LRUCache(cache_bytes, lambda p: p[0].nbytes)
        self._features: LRUCache[str, _Features] = LRUCache(cache_bytes, lambda f: sum(part.nbytes for part in f))
        self._version = self._weights_version()

    def pixels(self, image: Image) -> tuple[torch.Tensor, torch.Tensor]:
        """Patches (P, D) and grid (1, 3) of an image."""
        with self._lock:  # the event loop counts tokens while the decoder reads pixels
            found = self._pixels.get(image.sha256)
            if found is None:
                picture = PILImage.open(io.BytesIO(image.data)).convert("RGB")
                out = self._processor(images=[picture], return_tensors="pt")
                found = (out["pixel_values"], out["image_grid_thw"])
                if found[0].nbytes <= self._pixels.maxsize:
                    self._pixels[image.sha256] = found
            return found

    def tokens(self, image: Image) -> int:
        """Placeholders that an image takes in a sequence."""
        _, grid = self.pixels(image)
        return int(grid.prod()) // self._processor.merge_size**2

    def as_seen(self, image: Image) -> Seen:
        """An image for a server, so that nobody else's resizing comes between."""
        _, grid = self.pixels(image)
        _, rows, columns = grid[0].tolist()
        patch = self._processor.patch_size
        picture, size = PILImage.open(io.BytesIO(image.data)), (columns * patch, rows * patch)
        sent = picture.convert("RGB")
        if picture.size == size and picture.format == "PNG":
            return Seen(image.data, _sha256(sent))
        sent, out = sent.resize(size, self._processor.resample), io.BytesIO()
        sent.save(out, "PNG", compress_level=1)
        return Seen(out.getvalue(), _sha256(sent))

    def grids(self, images: Sequence[Image]) -> torch.Tensor | None:
        """Grids (len(images), 3) of images in patches: time, height, width; None without images."""
        return torch.cat([self.pixels(image)[1] for image in images]) if images else None

    @property
    def spread(self) -> bool:
        """Whether the tower is trained in parts (FSDP), so that all processes have to run through it together."""
        return isinstance(self._model.visual, FSDPModule)

    def inputs(self, images: Sequence[Image]) -> dict[str, Any]:
        """What the model takes for images in the order of their placeholders: features, but pixels if the tower is
        spread, whose weights come together within a pass of the model."""
        if not self.spread:
            return {"mm_encoder_outputs": self.features(images)}
        return dict(zip(("pixel_values", "image_grid_thw"), self._shown(images), strict=True)) if images else {}

    def features(self, images: Sequence[Image]) -> dict[str, BaseModelOutputWithDeepstackFeatures]:
        """What Qwen3-VL takes as `mm_encoder_outputs` for images in the order of their placeholders.

        An image that stands several times is encoded once. With a gradient where the tower is trained; else from the
        cache, unless the tower's weights have changed since.
        """
        if not images:
            return {}
        unique = {image.sha256: image for image in images}
        trained = torch.is_grad_enabled() and any(p.requires_grad for p in self._model.visual.parameters())
        found = self._encode(unique) if trained else self._cached(unique)
        parts = [found[image.sha256] for image in images]
        return {
            "image": BaseModelOutputWithDeepstackFeatures(
                pooler_output=tuple(part[0] for part in parts),
                deepstack_features=[tuple(layer) for layer in zip(*(part[1:] for part in parts), strict=True)],
            )
        }

    def _cached(self, images: dict[str, Image]) -> dict[str, _Features]:
        with self._lock:
            if self._version != (version := self._weights_version()):
                self._features.clear()
                self._version = version
            found = {key: self._features[key] for key in images if key in self._features}
        missing = {key: image for key, image in images.items() if key not in found}
        if missing:
            with torch.inference_mode(False), torch.no_grad():  # a trainer's graph may hold what a rollout has encoded
                encoded = self._encode(missing)
            with self._lock:
                for key, features in encoded.items():
                    if sum(part.nbytes for part in features) <= self._features.maxsize:
                        self._features[key] = tuple(part.clone() for part in features)  # a view would keep all others
            found |= encoded
        return found

    def _encode(self, images: dict[str, Image]) -> dict[str, _Features]:
        out = self._model.get_image_features(*self._shown(images.values()))
        return dict(zip(images, zip(out.pooler_output, *out.deepstack_features, strict=True), strict=True))

    def _shown(self, images: Iterable[Image]) -> tuple[torch.Tensor, torch.Tensor]:
        """Patches and grids of images one after the other, where the tower is."""
        pixels, grids = zip(*map(self.pixels, images), strict=True)
        device = self._model.visual.device
        return torch.cat(pixels).to(device), torch.cat(grids).to(device)

    def _weights_version(self) -> int:
        """Grows with every change of the tower's weights in place."""
        return sum(parameter._version for parameter in self._model.visual.parameters())


def _sha256(picture: PILImage.Image) -> str:
    """As the server computes it (`vllm/engine/server.py`)."""
    return hashlib.sha256(repr(picture.size).encode() + picture.tobytes()).hexdigest()
