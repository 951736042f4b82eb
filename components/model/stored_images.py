"""Images of a training set that stay on disk: their bytes are read when a pass needs them.

A judge learns from tens of thousands of trajectories with several screenshots each, which are tens of gigabytes in
every process. A step needs those of one batch, and each process those of its micro-batches alone.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from components.model.encoding import Sample


class EncodedImage(Protocol):
    """The bytes of an image file and their SHA-256: `records.Image`, or `StoredImage`."""

    @property
    def data(self) -> bytes:
        """The bytes of the image file."""

    @property
    def sha256(self) -> str:
        """In hexadecimal digits."""


@dataclass(frozen=True)
class StoredImage:
    """An image whose bytes are read from a file at each access."""

    path: Path
    sha256: str

    @property
    def data(self) -> bytes:
        """The bytes of the file.

        Raises:
            FileNotFoundError: the folder was removed meanwhile.
        """
        return self.path.read_bytes()


@dataclass(frozen=True)
class ImageFolder:
    """Files named by the SHA-256 of their content. The processes of a machine share them, and each image is there
    once."""

    path: Path

    def sample(self, sample: Sample) -> Sample:
        """The sample with its images in this folder."""
        images = [self.keep(image) for image in sample.prompt.images]
        return replace(sample, prompt=replace(sample.prompt, images=images))

    def keep(self, image: EncodedImage) -> StoredImage:
        """Write an image, unless it is there. Other processes may write the same one at the same time."""
        path, data = self.path / image.sha256[:2] / image.sha256, image.data
        if not path.exists() or path.stat().st_size != len(data):  # a power cut may leave an empty file
            path.parent.mkdir(parents=True, exist_ok=True)
            partial = path.with_name(f".{path.name}.{os.getpid()}.part")
            partial.write_bytes(data)
            partial.replace(path)
        return StoredImage(path, image.sha256)
