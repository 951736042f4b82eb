"""Keeps the vision tower's features of images: in memory, and in files that the processes of a machine share."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import safetensors.torch
import torch
import transformers
from cachetools import LRUCache

from components.params import ImageCacheParams

if TYPE_CHECKING:
    import diskcache

Features = tuple[torch.Tensor, ...]
"""Of one image: the features at its placeholders, then those that DeepStack adds at each of the first layers."""


class FeatureCache:
    """Features by the hash of an image. They are those of one state of the tower: `clear` begins another."""

    def __init__(self, params: ImageCacheParams, fingerprint: Callable[[], str]) -> None:
        """
        Args:
            fingerprint: a hash of the tower's weights and of all else that decides the features. It names the files.
        """
        self._memory: LRUCache[str, Features] = LRUCache(
            params.memory_gib * 2**30, lambda features: sum(part.nbytes for part in features)
        )
        self._files: diskcache.Cache | None = None
        if params.disk_gib:
            import diskcache  # without files on disk, training needs no such package

            directory = params.directory or Path(tempfile.gettempdir()) / "waymark-features"
            self._files = diskcache.Cache(
                str(directory), size_limit=int(params.disk_gib * 2**30), eviction_policy="least-recently-stored"
            )
        self._fingerprint = fingerprint
        self._prefix: str | None = None

    @property
    def is_shared(self) -> bool:
        """Whether other processes of the machine read what this one computes."""
        return self._files is not None

    def clear(self) -> None:
        """Forget the features, because the tower's weights have changed."""
        self._memory.clear()
        self._prefix = None

    def get(self, sha256: str, device: torch.device) -> Features | None:
        """The features of an image on a device; None if they are not kept."""
        features = self._memory.get(sha256)
        if features is None and self._files is not None:
            data = self._files.get(self._key(sha256))
            if data is not None:
                parts = safetensors.torch.load(data)
                features = tuple(parts[str(index)] for index in range(len(parts)))
                self._remember(sha256, features)
        return None if features is None else tuple(part.to(device) for part in features)

    def put(self, sha256: str, features: Features) -> None:
        """Keep the features of an image: copies, since a view would keep those of all images encoded with it."""
        copied = tuple(part.to("cpu", copy=True) for part in features)
        self._remember(sha256, copied)
        if self._files is not None:
            parts = {str(index): part.contiguous() for index, part in enumerate(copied)}
            self._files.set(self._key(sha256), safetensors.torch.save(parts))

    def _remember(self, sha256: str, features: Features) -> None:
        if sum(part.nbytes for part in features) <= self._memory.maxsize:
            self._memory[sha256] = features

    def _key(self, sha256: str) -> str:
        if self._prefix is None:
            self._prefix = self._fingerprint()
        return f"{self._prefix}-{sha256}"


def tower_fingerprint(tower: torch.nn.Module, *settings: object) -> str:
    """A hash of a tower's weights, of settings that decide its features, and of the version of transformers."""
    digest = hashlib.sha256(repr((transformers.__version__, settings)).encode())
    for name, tensor in tower.state_dict().items():
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy())
    return digest.hexdigest()
