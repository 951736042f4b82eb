"""How often an update prepares and encodes each screenshot, by the capacity of the cache: `python -m perf.images`.

An update reads its turns several times: to score them, and once per PPO epoch, shuffled anew. If a few
images fit only, most are decoded, cut into patches and read by the vision tower again in every pass. Three caches are
compared on the same turns: for `--few` images, for all of them in memory, and in files alone, as a second process of
the machine meets them. Times are of the images' part of an update, without the language model. Also the time in which a
screenshot's tokens are counted from its size, as a part of the time that preparing it takes. Last line: JSON.
"""

from __future__ import annotations

import components.stages  # noqa: F401, isort: skip  (thread settings, before torch)

import argparse
import json
import random
import tempfile
import time
from collections.abc import Callable, Sequence

import torch

from components.model import EncodedImage, Encoder
from components.params import ImageCacheParams
from perf.packing import trajectory
from perf.training_workload import SHAPES, random_model

BATCH = 8
"""Images of a micro-batch."""


@torch.no_grad()
def update(encoder: Encoder, images: Sequence[EncodedImage], passes: int) -> dict[str, float]:
    """Read the images as the passes of an update do; preparations and encodings per image, and seconds."""
    started, order = time.monotonic(), list(images)
    for number in range(passes):
        random.Random(number).shuffle(order)
        for begin in range(0, len(order), BATCH):
            encoder.vision.features(order[begin : begin + BATCH])
    counts = encoder.vision.take_counts()
    return {
        "preparations_per_image": round(counts.prepared / len(images), 2),
        "encodings_per_image": round(counts.encoded / len(images), 2),
        "s": round(time.monotonic() - started, 2),
    }


def milliseconds(ask: Callable[[EncodedImage], object], images: Sequence[EncodedImage]) -> float:
    """Mean time of a call per image, in ms."""
    started = time.perf_counter()
    for image in images:
        ask(image)
    return (time.perf_counter() - started) / len(images) * 1e3


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", choices=SHAPES, default=next(iter(SHAPES)))
    parser.add_argument("--turns", type=int, default=60, help="turns, each with its screenshot (default: 60)")
    parser.add_argument("--passes", type=int, default=3, help="passes of an update over its turns (default: 3)")
    parser.add_argument("--few", type=int, default=7, help="images that fit into the small memory (default: 7)")
    options = parser.parse_args()
    vlm = random_model(options.model, "cpu", None)
    vlm.freeze_vision()
    first = Encoder(vlm)
    images = [sample.prompt.images[0] for sample in trajectory(first, options.turns, SHAPES[options.model])]
    counted, prepared = (
        milliseconds(Encoder(vlm).vision.tokens, images),
        milliseconds(Encoder(vlm).vision.pixels, images[:8]),
    )
    tower = vlm.model.model.visual.config
    layers, width = 1 + len(tower.deepstack_visual_indexes), tower.out_hidden_size
    features_gib = layers * width * first.vision.tokens(images[0]) * vlm.feature_dtype.itemsize / 2**30
    figures = {
        "few": update(Encoder(vlm, ImageCacheParams(memory_gib=options.few * features_gib)), images, options.passes),
        "memory": update(Encoder(vlm, ImageCacheParams(memory_gib=4)), images, options.passes),
    }
    with tempfile.TemporaryDirectory() as directory:
        disk = ImageCacheParams(memory_gib=0, disk_gib=8, directory=directory)
        figures["disk"] = update(Encoder(vlm, disk), images, options.passes)
        figures["second process"] = update(Encoder(vlm, disk), images, options.passes)
    for name, row in figures.items():
        print(f"{name:>15}: " + ", ".join(f"{key} {value}" for key, value in row.items()))
    print(json.dumps({"images": len(images), "counting_over_preparing": round(counted / prepared, 4), **figures}))


if __name__ == "__main__":
    main()
