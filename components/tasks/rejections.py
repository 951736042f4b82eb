"""What happens to rejected rows: a file that a person opens, and a limit on how many there may be."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from components.records import Rejection


class TooManyRejected(RuntimeError):
    """More task rows were rejected than the recipe allows. The message has the share, the reasons and where to look."""


def write_rejections_csv(path: Path, rejections: Sequence[Rejection]) -> None:
    """Write rejections as CSV; with none, only the header, so that an old file does not mislead."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(Rejection.model_fields))
        writer.writeheader()
        writer.writerows(rejection.model_dump() for rejection in rejections)


def require_few_rejected(rejections: Sequence[Rejection], rows: int, allowed: float, where: Path) -> None:
    """Stop if more than `allowed` (a share, 0 to 1) of all `rows` were rejected.

    Raises:
        TooManyRejected: with the three most frequent reasons and the file that has all.
    """
    if len(rejections) <= allowed * rows:
        return
    reasons = Counter(f"{rejection.file}: {rejection.reason}" for rejection in rejections).most_common(3)
    listed = "\n".join(f"  {count} x {reason[:300]}" for reason, count in reasons)
    raise TooManyRejected(
        f"{len(rejections)} of {rows} task rows were rejected, above quality.max_rejected = {allowed}. "
        f"All are in {where}; fix the rows or raise the limit. Most frequent:\n{listed}"
    )
