"""Greedy similarity dedup (OpenWebRL, section 4.2), exact and in bounded memory.

The obvious loop compares each task with all kept before it. Here a block of tasks is compared with the kept ones by
matrix products, a chunk at a time, and only then walked in order; the result is that of the loop, up to the rounding
of float32 at the threshold itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from components.records import Task


def dedup(
    tasks: Sequence[Task],
    embeddings_NE: np.ndarray,
    threshold: float,
    max_similar: int = 1,
    per_website: bool = False,
    block: int = 1024,
    chunk: int = 8192,
) -> list[int]:
    """Indices of the tasks that stay, ascending; earlier tasks win.

    A task is dropped if at least `max_similar` kept tasks before it have a cosine above `threshold` with it.

    Args:
        tasks: N tasks in the order in which they are preferred.
        embeddings_NE: their unit embeddings, float32, (N, E).
        per_website: compare only tasks of the same website.
        block, chunk: rows per side of one product; memory is about 4 * block * (block + chunk + E) bytes.

    Raises:
        ValueError: not one embedding per task.
    """
    if embeddings_NE.ndim != 2 or len(tasks) != len(embeddings_NE):
        raise ValueError(f"{len(tasks)} tasks need as many embedding rows, the array has shape {embeddings_NE.shape}")
    if not per_website:
        return _greedy(embeddings_NE, threshold, max_similar, block, chunk)
    members: dict[str, list[int]] = {}
    for index, task in enumerate(tasks):
        members.setdefault(task.website, []).append(index)
    kept = [
        indices[position]
        for indices in members.values()
        for position in _greedy(embeddings_NE[indices], threshold, max_similar, block, chunk)
    ]
    return sorted(kept)


def _greedy(embeddings_NE: np.ndarray, threshold: float, max_similar: int, block: int, chunk: int) -> list[int]:
    kept: list[int] = []
    for start in range(0, len(embeddings_NE), block):
        rows_BE = embeddings_NE[start : start + block]
        similar_B = _similar_kept(rows_BE, embeddings_NE, kept, threshold, max_similar, chunk)
        above_BB = rows_BE @ rows_BE.T > threshold
        for row in range(len(rows_BE)):
            if similar_B[row] < max_similar:
                kept.append(start + row)
                similar_B[row + 1 :] += above_BB[row, row + 1 :]
    return kept


def _similar_kept(
    rows_BE: np.ndarray, embeddings_NE: np.ndarray, kept: list[int], threshold: float, max_similar: int, chunk: int
) -> np.ndarray:
    """How many kept tasks are above the threshold, per row (B,); counting stops for rows that have enough."""
    similar_B = np.zeros(len(rows_BE), dtype=np.int64)
    for first in range(0, len(kept), chunk):
        open_rows = np.flatnonzero(similar_B < max_similar)
        if not len(open_rows):
            break
        kept_CE = embeddings_NE[kept[first : first + chunk]]
        similar_B[open_rows] += (rows_BE[open_rows] @ kept_CE.T > threshold).sum(axis=1)
    return similar_B
