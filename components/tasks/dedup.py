"""Greedy similarity dedup (OpenWebRL, section 4.2): the exact result of the simple loop, in bounded memory.

The simple loop takes the vectors in order and keeps one unless enough earlier kept vectors are more similar to it than
the threshold. Here matrix products of few columns compare a block of rows with the kept ones, and only pairs that may
be above the threshold are computed further:

1. The rows' first P principal coordinates, and the norm of the rest as one more column: by the Cauchy-Schwarz
   inequality the product of two such rows is at least that of the whole vectors. P has the least cost on a sample.
2. Pairs whose bound is above the threshold: their product in float32.
3. Of these, pairs within float32's rounding of the threshold: their product in float64, and within its rounding exactly
   (`fsum`).

So a pair is similar if and only if the product of its float32 vectors, as real numbers, is above the threshold: the
result does not depend on block sizes, on the linear algebra library, or on the machine. Accepted trade-off: a loop in
float32 may decide differently where a product is within its own rounding of the threshold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

_SAMPLE = (512, 4096)
_SMALL = 4096
"""Up to this number of rows, whole products cost less than choosing the columns."""
_COLUMNS = (31, 47, 63, 79, 95, 127, 159, 191, 255)
_PAIR_COST = 12_000
"""Cost of the further computation of a pair, in products of one column (a rough measurement)."""
_PAIRS_AT_ONCE = 16_384


def dedup(
    embeddings_NE: np.ndarray,
    threshold: float,
    max_similar: int = 1,
    groups: Sequence[str] | None = None,
    block: int = 1024,
    chunk: int = 2048,
) -> list[int]:
    """Indices of the kept rows, ascending; earlier rows are preferred.

    A row is dropped if at least `max_similar` kept rows before it have a cosine above `threshold` with it.

    Args:
        embeddings_NE: unit embeddings, float32, (N, E), the preferred rows first.
        groups: N names; only rows of the same group are compared. None compares all.
        block, chunk: rows per side of one product; memory beside the embeddings is about 8 * N * (P + 1) + 5 * block *
            chunk bytes and 130 MB.

    Raises:
        ValueError: the embeddings are not a finite float32 matrix, or there is not one group per row.
    """
    if embeddings_NE.ndim != 2 or embeddings_NE.dtype != np.float32 or not np.isfinite(embeddings_NE).all():
        raise ValueError(f"embeddings must be finite float32 rows, not {embeddings_NE.dtype} {embeddings_NE.shape}")
    if groups is None:
        return _greedy(embeddings_NE, threshold, max_similar, block, chunk)
    if len(groups) != len(embeddings_NE):
        raise ValueError(f"{len(embeddings_NE)} rows need as many groups, not {len(groups)}")
    members: dict[str, list[int]] = {}
    for index, group in enumerate(groups):
        members.setdefault(group, []).append(index)
    kept = [
        indices[position]
        for indices in members.values()
        for position in _greedy(embeddings_NE[indices], threshold, max_similar, block, chunk)
    ]
    return sorted(kept)


def similar_pairs(x_ME: np.ndarray, y_ME: np.ndarray, threshold: float) -> np.ndarray:
    """Whether the product of each pair of float32 rows is above the threshold, exactly, (M,)."""
    products_M = np.einsum("me,me->m", x_ME, y_ME)
    above_M = products_M > threshold
    squares = np.einsum("me,me->m", x_ME, x_ME).max(initial=0), np.einsum("me,me->m", y_ME, y_ME).max(initial=0)
    close = np.flatnonzero(np.abs(products_M - threshold) <= _slack(x_ME.shape[1], math.sqrt(squares[0] * squares[1])))
    if len(close):
        x_CE, y_CE = x_ME[close].astype(np.float64), y_ME[close].astype(np.float64)
        terms_CE = x_CE * y_CE  # exact: 24 bits times 24 bits
        products_C = terms_CE.sum(axis=1)
        above_C = products_C > threshold
        rounding = 2.0**-52 * (x_ME.shape[1] + 1) * np.abs(terms_CE).sum(axis=1)
        for index in np.flatnonzero(np.abs(products_C - threshold) <= rounding + 2.0**-52 * abs(threshold)):
            above_C[index] = math.fsum([*terms_CE[index].tolist(), -threshold]) > 0
        above_M[close] = above_C
    return above_M


def _slack(columns: int, scale: float) -> float:
    """An upper bound on the error of float32 products of `columns` columns, for rows whose norms have the product
    `scale`."""
    return 2 * (columns + 8) * 2.0**-24 * scale


class _Bounds(NamedTuple):
    """Rows whose products are at least those of the whole vectors minus `slack`; if `whole`, also at most plus
    `slack`."""

    rows_NP: np.ndarray
    slack: float
    whole: bool


def _greedy(vectors_NE: np.ndarray, threshold: float, max_similar: int, block: int, chunk: int) -> list[int]:
    bounds = _bounds(vectors_NE, threshold)
    kept_N, kept_NP = np.empty(len(vectors_NE), dtype=np.int64), np.empty_like(bounds.rows_NP)
    count = 0

    def similar(rows: np.ndarray, others: np.ndarray, others_P: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The similar pairs of two lists of rows, as positions in each."""
        products = bounds.rows_NP[rows] @ others_P.T
        first, second = np.divmod(np.flatnonzero(products > threshold - bounds.slack), max(1, len(others)))
        if bounds.whole:
            unsure = np.flatnonzero(products[first, second] <= threshold + bounds.slack)
        else:
            unsure = np.arange(len(first))
        is_similar = np.ones(len(first), dtype=bool)
        for start in range(0, len(unsure), _PAIRS_AT_ONCE):
            batch = unsure[start : start + _PAIRS_AT_ONCE]
            x, y = vectors_NE[rows[first[batch]]], vectors_NE[others[second[batch]]]
            is_similar[batch] = similar_pairs(x, y, threshold)
        return first[is_similar], second[is_similar]

    for start in range(0, len(vectors_NE), block):
        rows = np.arange(start, min(start + block, len(vectors_NE)))
        similar_B = np.zeros(len(rows), dtype=np.int64)
        for begin in range(0, count, chunk):
            open_rows = np.flatnonzero(similar_B < max_similar)
            if not len(open_rows):
                break
            end = min(begin + chunk, count)
            first, _ = similar(rows[open_rows], kept_N[begin:end], kept_NP[begin:end])
            similar_B[open_rows] += np.bincount(first, minlength=len(open_rows))
        open_rows = np.flatnonzero(similar_B < max_similar)
        rows, similar_B = rows[open_rows], similar_B[open_rows]
        first, second = similar(rows, rows, bounds.rows_NP[rows])
        later = second > first
        first, second = first[later], second[later]
        starts = np.searchsorted(first, np.arange(len(rows) + 1))
        for position, row in enumerate(rows):
            if similar_B[position] < max_similar:
                similar_B[second[starts[position] : starts[position + 1]]] += 1
                kept_N[count], kept_NP[count] = row, bounds.rows_NP[row]
                count += 1
    return kept_N[:count].tolist()


def _bounds(vectors_NE: np.ndarray, threshold: float) -> _Bounds:
    """The rows to multiply, with the number of columns that costs least on a sample of pairs."""
    count, width = vectors_NE.shape
    scale = float(np.einsum("ne,ne->n", vectors_NE, vectors_NE).max(initial=0))
    slack = _slack(width, scale)
    whole = _Bounds(vectors_NE, slack, whole=True)
    if count <= _SMALL:
        return whole
    sample = np.linspace(0, count - 1, min(count, 16_384)).astype(np.int64)
    gram_EE = vectors_NE[sample].astype(np.float64)
    axes_EE = np.linalg.eigh(gram_EE.T @ gram_EE)[1][:, ::-1]
    left, right = (
        np.linspace(0, count - 1, size).astype(np.int64) + shift for size, shift in zip(_SAMPLE, (0, 1), strict=True)
    )
    left, right = np.unique(left % count), np.unique(right % count)
    cost = {width: float(width)}
    for columns in (columns for columns in _COLUMNS if columns < width):
        x, y = _reduced(vectors_NE[left], axes_EE[:, :columns]), _reduced(vectors_NE[right], axes_EE[:, :columns])
        cost[columns] = columns + 1 + _PAIR_COST * float((x @ y.T > threshold - slack).mean())
    best = min(cost, key=lambda columns: cost[columns])
    if best == width:
        return whole
    reduced_NP = np.empty((count, best + 1), dtype=np.float32)
    for start in range(0, count, 16_384):
        reduced_NP[start : start + 16_384] = _reduced(vectors_NE[start : start + 16_384], axes_EE[:, :best])
    return _Bounds(reduced_NP, slack, whole=False)


def _reduced(rows_NE: np.ndarray, axes_EP: np.ndarray) -> np.ndarray:
    """Coordinates on the axes, and the norm of the rest, rounded once. Shape: (N, P + 1)."""
    exact_NE = rows_NE.astype(np.float64)
    first_NP = exact_NE @ axes_EP
    rest_N = np.sqrt(np.maximum(0, (exact_NE**2).sum(axis=1) - (first_NP**2).sum(axis=1)))
    return np.column_stack([first_NP, rest_N]).astype(np.float32)
