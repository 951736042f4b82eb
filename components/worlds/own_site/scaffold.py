"""Writes a new world package for a user's site: `waymark world new`."""

from __future__ import annotations

import re
from pathlib import Path

from jinja2 import Environment, StrictUndefined

from components.plugins import builtin
from components.worlds.own_site.site_file import OwnSiteError

TEMPLATES = Path(__file__).parent / "new"
_NAME = re.compile(r"[a-z][a-z0-9_]*")


def write_package(name: str, folder: Path) -> list[Path]:
    """Write the package of a site that works at once: a to-do list, to be replaced by the user's application.

    Args:
        name: the world's name, such as `mysite`.
        folder: of the package; it must not exist, or be empty.

    Returns:
        the files.

    Raises:
        OwnSiteError: the name is no valid one, a world has it already, or the folder has files.
    """
    site = {part: folder / f"waymark_{name}" / part for part in ("site.yaml", "app.py")}
    return write_files(name, folder, {"recipe.yaml": folder / f"{name}.yaml", **site}, {})


def write_files(name: str, folder: Path, places: dict[str, Path], values: dict[str, str]) -> list[Path]:
    """Write a package from templates: the given ones, and those that every package has.

    Args:
        places: the file of each template in `new`.
        values: what the templates name besides `name`.

    Raises:
        OwnSiteError: as `write_package`.
    """
    if not _NAME.fullmatch(name):
        raise OwnSiteError(f"{name!r} cannot be a world's name: use lower-case letters, digits and _, such as my_site")
    if name in builtin("worlds"):
        raise OwnSiteError(f"{name} is a world of Waymark itself, which would hide yours: give yours another name")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise OwnSiteError(f"{folder} is there already: name another place with --directory")
    templates = Environment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)
    places = {
        "pyproject.toml": folder / "pyproject.toml",
        "__init__.py": folder / f"waymark_{name}" / "__init__.py",
        **places,
    }
    for part, path in places.items():
        text = templates.from_string((TEMPLATES / f"{part}.jinja").read_text()).render(name=name, **values)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return [*places.values()]
