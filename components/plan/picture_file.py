"""The file of a plan's picture: its formats, and whether it may be written. This needs no matplotlib."""

from __future__ import annotations

from pathlib import Path

from components.params import RecipeError

STARTS = {".svg": b"<svg", ".png": b"\x89PNG", ".pdf": b"%PDF"}
"""By the ending of the name, bytes that the beginning of such a file has."""
_HEAD = 2000


def require_picture_file(path: Path) -> None:
    """Refuse a file into which a plan cannot be drawn, or which is something else than such a picture.

    Raises:
        RecipeError: the name has another ending than those of `STARTS`, or a folder or another file has this name.
    """
    suffix = path.suffix.lower()
    if suffix not in STARTS:
        *first, last = STARTS
        raise RecipeError(f"--picture {path}: the name must end in {', '.join(first)} or {last}")
    if path.is_dir():
        raise RecipeError(f"--picture {path} is a folder: name a file, such as {path / 'plan.svg'}")
    if path.exists():
        with path.open("rb") as file:
            if STARTS[suffix] not in file.read(_HEAD):
                raise RecipeError(f"--picture {path} exists and is no {suffix} picture: name a new file")
