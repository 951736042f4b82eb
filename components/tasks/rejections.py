"""Writes rejected rows to a CSV file, and limits their share."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from components.records import Rejection


class TooManyRejected(RuntimeError):
    """More task rows were rejected than the recipe allows. The message has the share, the reasons and the file."""


def write_rejections_csv(path: Path, rejections: Sequence[Rejection]) -> None:
    """Write rejections as CSV; without rejections only the header, which replaces an earlier file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(Rejection.model_fields))
        writer.writeheader()
        writer.writerows(rejection.model_dump() for rejection in rejections)


def require_few_rejected(rejections: Sequence[Rejection], rows: int, allowed: float, where: Path) -> None:
    """Refuse more rejections than `allowed`, a share of all `rows` from 0 to 1.

    Raises:
        TooManyRejected: the share is larger; the message has the three most frequent reasons and the file with all.
    """
    if len(rejections) <= allowed * rows:
        return
    reasons = Counter(f"{rejection.file}: {rejection.reason}" for rejection in rejections).most_common(3)
    listed = "\n".join(f"  {count} x {reason[:300]}" for reason, count in reasons)
    raise TooManyRejected(
        f"{len(rejections)} of {rows} task rows were rejected, above quality.max_rejected = {allowed}. "
        f"All are in {where}; fix the rows or raise the limit. Most frequent:\n{listed}"
    )
