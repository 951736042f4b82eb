"""Names weights by their content, for a server and for the stage that asks it. It needs the standard library only."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping
from pathlib import Path

BLOCK = 2**22
"""Bytes that are read at once."""

UNCOUNTED = {"__metadata__", "lm_head.weight"}


def weight_files(directory: Path) -> dict[str, Path]:
    """The files with the weights of a model directory, or of an adapter's, by name.

    Raises:
        FileNotFoundError: there are none.
    """
    files = {path.name: path for path in sorted(directory.glob("*.safetensors"))}
    if not files:
        raise FileNotFoundError(f"{directory} has no *.safetensors: name a model directory with weights in that format")
    return files


def file_hash(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


def fingerprint(hashes: Mapping[str, str]) -> str:
    """The name of weights: a hash of the names and hashes of their files."""
    return hashlib.sha256(json.dumps(sorted(hashes.items())).encode()).hexdigest()


def layout(directory: Path) -> str:
    """A hash of the shapes of all tensors, in any order: weights can replace others only if it is the same.

    The output layer is left out, because a file may have it or not if it is tied to the embeddings, whose shape it has.

    Raises:
        FileNotFoundError: there are no weights.
    """
    shapes: list[list[int]] = []
    for path in weight_files(directory).values():
        with path.open("rb") as file:
            (size,) = struct.unpack("<Q", file.read(8))
            header = json.loads(file.read(size))
        shapes += [tensor["shape"] for name, tensor in header.items() if name not in UNCOUNTED]
    return hashlib.sha256(json.dumps(sorted(shapes)).encode()).hexdigest()


def local_directory(model: str) -> Path:
    """The directory of a model, which is fetched if it is a name on the Hugging Face hub and not here yet."""
    if Path(model).is_dir():
        return Path(model)
    from huggingface_hub import snapshot_download

    return Path(snapshot_download(model, allow_patterns=["*.safetensors", "*.json"]))
