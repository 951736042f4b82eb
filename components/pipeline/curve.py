"""Curves as CSV files, which `dvc plots show` reads."""

from pathlib import Path

import pandas as pd


def write_curve(path: Path, rows: list[dict[str, float]]) -> None:
    """Write one row per step or iteration."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(rows).to_csv(path, index=False)
