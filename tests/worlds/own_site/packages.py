"""Packages of own sites that tests change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import yaml

Change = Callable[[dict], None]


def changed(package: Path, change: Change) -> Path:
    """The folder of `site.yaml` after a change of it."""
    folder = package / "waymark_notes"
    content = yaml.safe_load((folder / "site.yaml").read_text())
    change(content)
    (folder / "site.yaml").write_text(yaml.safe_dump(content))
    return folder
