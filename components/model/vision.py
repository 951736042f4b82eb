"""Images as model inputs: pixels, and the vision tower's features, which are cached while the tower does not change.

Names: P patches of an image, D values of a patch.
"""

from __future__ import annotations

import hashlib
import io
import operator
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import torch
from cachetools import LRUCache
from PIL import Image as PILImage
from torch.distributed.fsdp import FSDPModule
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import smart_resize
from transformers.models.qwen3_vl.modeling_qwen3_vl import BaseModelOutputWithDeepstackFeatures

from components.model.feature_cache import FeatureCache, Features, tower_fingerprint
from components.model.stored_images import EncodedImage
from components.model.vlm import VLM
from components.params import ImageCacheParams

ENCODED_PATCHES = 2**16
"""Patches that the tower encodes at once, unless one image has more: 18 screenshots of 1280×720."""


@dataclass(frozen=True)
class ServerImage:
    """An image in the size that the vision tower reads, as a PNG file. `sha256` is of its size and its RGB pixels."""

    png: bytes
    sha256: str


@dataclass(frozen=True)
class ImageCounts:
    """How often images were prepared (decoded and cut into patches) and encoded (read by the vision tower)."""

    prepared: int
    encoded: int


class Vision:
    """The images of one model. Pixels and features are cached by image content, up to `memory_gib` of each."""

    def __init__(self, vlm: VLM, cache: ImageCacheParams) -> None:
        self._vlm, self._model, self._processor = vlm, vlm.model.model, vlm.images
        self._lock, self._encoding = threading.Lock(), threading.Lock()
        self._pixels: LRUCache[str, tuple[torch.Tensor, torch.Tensor]] = LRUCache(
            cache.memory_gib * 2**30, lambda pixels: pixels[0].nbytes
        )
        self._grids: LRUCache[str, tuple[int, int]] = LRUCache(2**16)
        self._cache = FeatureCache(cache, self._fingerprint)
        self._threads = ThreadPoolExecutor(cache.threads, "prepare-images")
        self._version = self._weights_version()
        self._prepared = self._encoded = 0
        self.seconds = 0.0
        """In which images were made inputs so far: prepared, encoded, read from the cache. On a GPU the tower counts
        until its kernels are launched. A sharded tower encodes within a pass of the model, which is not counted."""

    def grid(self, image: EncodedImage) -> tuple[int, int]:
        """Rows and columns of patches of an image. They follow from its size, so that no pixel is read."""
        with self._lock:
            grid = self._grids.get(image.sha256)
        if grid is None:
            with PILImage.open(io.BytesIO(image.data)) as picture:
                columns, rows = picture.size
            patch, size = self._processor.patch_size, self._processor.size
            limits = {"min_pixels": size["shortest_edge"], "max_pixels": size["longest_edge"]}
            resized = smart_resize(rows, columns, patch * self._processor.merge_size, **limits)
            grid = resized[0] // patch, resized[1] // patch
            with self._lock:
                self._grids[image.sha256] = grid
        return grid

    def pixels(self, image: EncodedImage) -> tuple[torch.Tensor, torch.Tensor]:
        """Patches (P, D) and grid (1, 3) of an image: time, height, width in patches."""
        with self._lock:
            pixels = self._pixels.get(image.sha256)
        if pixels is None:
            picture = PILImage.open(io.BytesIO(image.data)).convert("RGB")
            out = self._processor(images=[picture], return_tensors="pt")
            pixels = (out["pixel_values"].to(self._vlm.feature_dtype), out["image_grid_thw"])
            with self._lock:
                self._prepared += 1
                if pixels[0].nbytes <= self._pixels.maxsize:
                    self._pixels[image.sha256] = pixels
        return pixels

    def tokens(self, image: EncodedImage) -> int:
        """Number of placeholders of an image in a sequence."""
        rows, columns = self.grid(image)
        return rows * columns // self._processor.merge_size**2

    def for_server(self, image: EncodedImage) -> ServerImage:
        """An image for an inference server, resized here, so that the server does not resize it differently."""
        rows, columns = self.grid(image)
        patch = self._processor.patch_size
        picture, size = PILImage.open(io.BytesIO(image.data)), (columns * patch, rows * patch)
        rgb = picture.convert("RGB")
        if picture.size == size and picture.format == "PNG":
            return ServerImage(image.data, _sha256(rgb))
        rgb, out = rgb.resize(size, self._processor.resample), io.BytesIO()
        rgb.save(out, "PNG", compress_level=1)
        return ServerImage(out.getvalue(), _sha256(rgb))

    def grids(self, images: Sequence[EncodedImage]) -> torch.Tensor | None:
        """Grids (len(images), 3) of images in patches: time, height, width; None without images."""
        return torch.tensor([(1, *self.grid(image)) for image in images]) if images else None

    @property
    def is_trained(self) -> bool:
        """Whether the vision tower is trained. Then its features have gradients and are not cached in a training
        pass."""
        return any(parameter.requires_grad for parameter in self._model.visual.parameters())

    def is_of(self, vlm: VLM) -> bool:
        """Whether the features are those of this model, too: the towers are frozen and have the same tensors."""
        own, other = (list(model.visual.parameters()) for model in (self._model, vlm.model.model))
        return not self.is_trained and len(own) == len(other) and all(map(operator.is_, own, other))

    @property
    def is_shared(self) -> bool:
        """Whether the processes of a machine share the features that each computes."""
        return self._cache.is_shared and not self.is_trained and not self.is_sharded

    def take_counts(self) -> ImageCounts:
        """What was prepared and encoded since the last call."""
        with self._lock:
            counts = ImageCounts(self._prepared, self._encoded)
            self._prepared = self._encoded = 0
        return counts

    @property
    def is_sharded(self) -> bool:
        """Whether the vision tower is sharded (FSDP). Then all processes must run it together."""
        return isinstance(self._model.visual, FSDPModule)

    def inputs(self, images: Sequence[EncodedImage]) -> dict[str, Any]:
        """The model's inputs for images, in the order of their placeholders.

        These are features, or pixels if the tower is sharded: its weights are gathered only during a pass of the model.
        """
        if not self.is_sharded:
            return {"mm_encoder_outputs": self.features(images)}
        with self._lock:
            self._encoded += len(images)  # within the pass, a repeated one each time
        with self._timed():
            return dict(zip(("pixel_values", "image_grid_thw"), self._patches(images), strict=True)) if images else {}

    def features(self, images: Sequence[EncodedImage]) -> dict[str, BaseModelOutputWithDeepstackFeatures]:
        """Qwen3-VL's `mm_encoder_outputs` for images, in the order of their placeholders.

        A repeated image is encoded once. If the tower is trained, the features have gradients. Else they come from the
        cache, which is cleared when the tower's weights change.
        """
        if not images:
            return {}
        unique = {image.sha256: image for image in images}
        with_gradients = torch.is_grad_enabled() and self.is_trained
        with self._timed():
            features = dict(self._encode(unique)) if with_gradients else self._cached(unique)
        parts = [features[image.sha256] for image in images]
        return {
            "image": BaseModelOutputWithDeepstackFeatures(
                # the model puts features of single images here, though the class declares one tensor of all
                pooler_output=tuple(part[0] for part in parts),  # type: ignore[arg-type]
                deepstack_features=[tuple(layer) for layer in zip(*(part[1:] for part in parts), strict=True)],  # type: ignore[misc]
            )
        }

    def encode(self, images: Sequence[EncodedImage]) -> None:
        """Fill the cache with the features of images, unless the tower is trained."""
        if not self.is_trained:
            with self._timed():
                self._cached({image.sha256: image for image in images}, kept=False)

    @contextmanager
    def _timed(self) -> Iterator[None]:
        began = perf_counter()
        try:
            yield
        finally:
            self.seconds += perf_counter() - began

    def _cached(self, images: dict[str, EncodedImage], kept: bool = True) -> dict[str, Features]:
        """Features by hash, from the cache or encoded now; nothing if they are not `kept`."""
        features: dict[str, Features] = {}
        with self._encoding:  # no two threads encode one image
            if self._version != (version := self._weights_version()):
                self._cache.clear()
                self._version = version
            missing: dict[str, EncodedImage] = {}
            for key, image in images.items():
                if (known := self._cache.get(key, self._model.visual.device)) is None:
                    missing[key] = image
                elif kept:
                    features[key] = known
            with torch.inference_mode(False), torch.no_grad():  # a trainer's graph may use features of a rollout
                for key, parts in self._encode(missing):
                    self._cache.put(key, parts)
                    if kept:
                        features[key] = parts
        return features

    def _encode(self, images: dict[str, EncodedImage]) -> Iterator[tuple[str, Features]]:
        """Features of images by hash. Threads prepare the next images while the tower encodes others."""
        batches = self._batches(images)
        ahead = [[self._threads.submit(self.pixels, image) for image in batch.values()] for batch in batches[:1]]
        for number, batch in enumerate(batches):
            ahead += [
                [self._threads.submit(self.pixels, image) for image in following.values()]
                for following in batches[number + 1 : number + 2]
            ]
            inputs = self._on_device([pixels.result() for pixels in ahead.pop(0)])
            with self._vlm.precision():
                out = self._model.get_image_features(*inputs)
            with self._lock:
                self._encoded += len(batch)
            yield from zip(batch, zip(out.pooler_output, *out.deepstack_features, strict=True), strict=True)

    def _batches(self, images: dict[str, EncodedImage]) -> list[dict[str, EncodedImage]]:
        """Images in order, divided so that the tower encodes at most `ENCODED_PATCHES` at once."""
        batches: list[dict[str, EncodedImage]] = []
        patches = 0
        for key, image in images.items():
            rows, columns = self.grid(image)
            patches += rows * columns
            if not batches or patches > ENCODED_PATCHES:
                batches.append({})
                patches = rows * columns
            batches[-1][key] = image
        return batches

    def _patches(self, images: Iterable[EncodedImage]) -> tuple[torch.Tensor, torch.Tensor]:
        """Patches and grids of all images, concatenated, on the tower's device."""
        return self._on_device(list(map(self.pixels, images)))

    def _on_device(self, images: Sequence[tuple[torch.Tensor, torch.Tensor]]) -> tuple[torch.Tensor, torch.Tensor]:
        pixels, grids = zip(*images, strict=True)
        device = self._model.visual.device
        return torch.cat(pixels).to(device), torch.cat(grids).to(device)

    def _weights_version(self) -> int:
        """A number that grows with every in-place change of the tower's weights."""
        return sum(parameter._version for parameter in self._model.visual.parameters())

    def _fingerprint(self) -> str:
        return tower_fingerprint(self._model.visual, self._vlm.feature_dtype, self._processor.to_dict())


def _sha256(picture: PILImage.Image) -> str:
    """The hash that the server computes, too (`vllm/engine/server.py`)."""
    return hashlib.sha256(repr(picture.size).encode() + picture.tobytes()).hexdigest()
