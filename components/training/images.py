"""The images of an update: each is encoded once, by one of the processes of a machine, and the figures say so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from components.model import Encoder, Sample
from components.training.workers import Workers


@dataclass(frozen=True)
class ImageFigures:
    """Figures of an update: distinct images of its turns and of the demonstrations in its steps, and how often each was
    prepared and encoded on average.

    They count what all processes did within the update. An image whose features the rollouts have left in the cache
    counts 0.
    """

    images: float = 0.0
    preparations_per_image: float = 0.0
    encodings_per_image: float = 0.0


def share_images(encoder: Encoder, samples: Sequence[Sample], workers: Workers) -> None:
    """Begin to count, and encode this process's part of the images if the other processes can read the features
    (`model.image_cache.disk_gib`). All ranks call this alike, and return when all parts are there."""
    encoder.vision.take_counts()
    if workers.size > 1 and encoder.vision.is_shared:
        images = {image.sha256: image for sample in samples for image in sample.prompt.images}
        encoder.vision.encode(list(images.values())[workers.rank :: workers.size])
        workers.gather([None])


def image_figures(encoder: Encoder, samples: Sequence[Sample], workers: Workers) -> ImageFigures:
    """What was done with the images of the samples since `share_images`. All ranks call this."""
    counts = workers.gather([encoder.vision.take_counts()])
    images = len({image.sha256 for sample in samples for image in sample.prompt.images})
    prepared, encoded = sum(count.prepared for count in counts), sum(count.encoded for count in counts)
    return ImageFigures(float(images), prepared / max(images, 1), encoded / max(images, 1))
