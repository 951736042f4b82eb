"""Greedy deduplication of as many rows as WebGym has, against the obvious loop: `python -m perf.dedup`.

The rows are generated: unit vectors of 384 numbers. A row is a random direction, that of its cluster, plus Gaussian
noise whose mean length is 0.34. So two rows of a cluster have a cosine of 0.897 ± 0.007, and a third of such pairs are
above the threshold, 0.9.

- `--data spread` (default): 150,000 clusters of two rows on average, so that about three quarters are kept. This is the
  hard case: each row is compared with hundreds of thousands, and no row is dropped early.
- `--data crowded`: 15,000 clusters with sizes by Zipf's law, as websites have them. A quarter is kept.
- `--embeddings FILE.npy`: rows of your own.

The loop is `(kept[:count] @ row > threshold).any()` in float32, with NumPy's threads and the kept rows in one array. It
runs on the first 20,000 rows. Its time for all rows is its time per comparison, times the number of comparisons that it
would make: each row with all rows kept before it, which the result tells. The estimate favours the loop, since the kept
rows of all fit into no cache. The loop is timed before and after our function, and the mean counts.
`quadratic_speedup` scales its time by the square of the rows instead.

`exact` is true if two conditions hold. (1) The rows kept among the first 20,000 are the loop's, where the loop decides
products within float32's rounding of the threshold exactly, as real numbers. (2) Of all rows, 2,000 evenly spaced ones
are each kept if and only if no row kept before is similar, by a full product. `--all` checks every row, which is a
proof by induction and takes minutes. Peak memory is that of the process, including the rows. `cpu_seconds` and
`cpu_speedup` measure processor time, which other processes on the machine disturb less; use `OPENBLAS_NUM_THREADS=1`
for them, so that threads of both sides do not wait for each other. Last line: JSON.
"""

from __future__ import annotations

import argparse
import json
import resource
import time

import numpy as np

from components.tasks import dedup
from components.tasks.dedup import similar_pairs

WIDTH = 384
CLOSE = 1e-4
"""A bound on the rounding error of float32 in the product of two unit rows of `WIDTH`."""


def generated_rows(data: str, count: int, seed: int) -> np.ndarray:
    """The generated rows, float32, (count, WIDTH). The number of clusters is scaled from that for 292,092 rows."""
    rng = np.random.default_rng(seed)
    clusters = max(1, count * (150_000 if data == "spread" else 15_000) // 292_092)
    directions = _unit(rng.standard_normal((clusters, WIDTH), dtype=np.float32))
    weights = np.ones(clusters) if data == "spread" else 1 / np.arange(1, clusters + 1)
    rows = np.empty((count, WIDTH), dtype=np.float32)
    for start in range(0, count, 16_384):
        chosen = rng.choice(clusters, min(16_384, count - start), p=weights / weights.sum())
        noise = rng.standard_normal((len(chosen), WIDTH), dtype=np.float32) * np.float32(0.34 / WIDTH**0.5)
        rows[start : start + 16_384] = _unit(directions[chosen] + noise)
    return rows


def obvious_loop(rows: np.ndarray, threshold: float) -> list[int]:
    """The indices that the obvious loop keeps, with exact decisions near the threshold."""
    kept, count, indices = np.empty_like(rows), 0, []
    for index, row in enumerate(rows):
        products = kept[:count] @ row
        near = products > threshold
        if count and abs(products - threshold).min() < CLOSE:  # too close for float32: decide exactly
            close = np.flatnonzero(abs(products - threshold) < CLOSE)
            near[close] = similar_pairs(kept[close], np.broadcast_to(row, (len(close), len(row))), threshold)
        if not near.any():
            kept[count] = row
            count += 1
            indices.append(index)
    return indices


def plain_loop_seconds(rows: np.ndarray, threshold: float) -> tuple[float, float, int]:
    """Time, processor time and number of compared pairs of the loop without exact decisions."""
    kept, count, pairs = np.empty_like(rows), 0, 0
    kept[:] = 0  # allocate the memory before the measurement
    began, cpu = time.perf_counter(), time.process_time()
    for row in rows:
        pairs += count
        if not (kept[:count] @ row > threshold).any():
            kept[count] = row
            count += 1
    return time.perf_counter() - began, time.process_time() - cpu, pairs


def is_greedy(rows: np.ndarray, kept: np.ndarray, checked: np.ndarray, threshold: float) -> bool:
    """Whether each checked row is kept if and only if no row kept before it is similar to it."""
    is_kept = np.isin(checked, kept)
    for start in range(0, len(checked), 256):
        batch = checked[start : start + 256]
        hits = np.zeros(len(batch), dtype=bool)
        for begin in range(0, len(kept), 16_384):
            others = kept[begin : begin + 16_384]
            if others[0] >= batch.max():
                break
            products = rows[batch] @ rows[others].T
            before = others[None, :] < batch[:, None]
            hits |= ((products > threshold + CLOSE) & before).any(axis=1)
            first, second = np.nonzero((abs(products - threshold) <= CLOSE) & before)
            near = similar_pairs(rows[batch[first]], rows[others[second]], threshold)
            np.logical_or.at(hits, first, near)
        if (hits == is_kept[start : start + 256]).any():
            return False
    return True


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=292_092)
    parser.add_argument("--loop-rows", type=int, default=20_000)
    parser.add_argument("--data", choices=("spread", "crowded"), default="spread")
    parser.add_argument("--embeddings", metavar="FILE.npy", help="rows of your own instead of made ones")
    parser.add_argument("--threshold", type=float, default=0.9)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--all", action="store_true", help="check every row, not 2,000")
    options = parser.parse_args()
    rows = (
        np.load(options.embeddings) if options.embeddings else generated_rows(options.data, options.rows, options.seed)
    )

    few = rows[: options.loop_rows]
    before = plain_loop_seconds(few, options.threshold)
    began, cpu = time.perf_counter(), time.process_time()
    kept = np.array(dedup(rows, options.threshold))
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu
    peak_gib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"dedup: {len(kept)} of {len(rows)} rows kept in {seconds:.1f} s, peak {peak_gib:.2f} GiB", flush=True)

    after = plain_loop_seconds(few, options.threshold)
    loop_s, loop_cpu_s, pairs = ((first + second) / 2 for first, second in zip(before, after, strict=True))
    kept_before = np.searchsorted(kept, np.arange(len(rows)))
    whole_s = loop_s / pairs * float(kept_before.sum())
    quadratic_s = loop_s * (len(rows) / len(few)) ** 2
    print(
        f"loop: {len(few)} rows in {before[0]:.1f} and {after[0]:.1f} s, {pairs / loop_s / 1e6:.1f} M comparisons a "
        f"second; all of its {kept_before.sum() / 1e9:.1f} G would take {whole_s:.0f} s ({quadratic_s:.0f} s by the "
        f"square of the rows)",
        flush=True,
    )
    checked = np.arange(len(rows)) if options.all else np.linspace(0, len(rows) - 1, 2000).astype(int)
    same = kept[kept < len(few)].tolist() == obvious_loop(few, options.threshold)
    figures = {
        "rows": len(rows),
        "seconds": round(seconds, 1),
        "speedup": round(whole_s / seconds, 1),
        "peak_gib": round(peak_gib, 2),
        "exact": bool(same and is_greedy(rows, kept, checked, options.threshold)),
    }
    more = {
        "kept": len(kept),
        "checked": len(checked),
        "quadratic_speedup": round(quadratic_s / seconds, 1),
        "cpu_seconds": round(cpu_seconds, 1),
        "cpu_speedup": round(loop_cpu_s / loop_s * whole_s / cpu_seconds, 1),
    }
    print(json.dumps(figures | more | {"data": options.embeddings or options.data, "threshold": options.threshold}))


def _unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


if __name__ == "__main__":
    main()
