"""Runs `waymark` as if only the core were installed: `python -m tests.core_only doctor`."""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder

from components.cli.main import main

ABSENT = frozenset("playwright ray miniwob torch transformers prefect mlflow dvc great_expectations networkx".split())
"""Packages of extras."""


class Absent(MetaPathFinder):
    """Fails as an import without the package does."""

    def find_spec(self, fullname: str, *_: object) -> None:
        if fullname.partition(".")[0] in ABSENT:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


if __name__ == "__main__":
    sys.meta_path.insert(0, Absent())
    sys.exit(main())
