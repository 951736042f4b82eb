"""`python -m docs.generator`: parameters, command line, stages, records, and the API of each package.

`make docs` runs this with the project's own Python, because types and defaults are read from the real pydantic models
and the real argument parser. The pages are not committed; `docs/reference/.gitignore` names them.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from docs.generator.commands import command_line, stages
from docs.generator.packages import ROOT, api
from docs.generator.parameters import parameters
from docs.generator.records import records

OUT = ROOT / "docs/reference"


def main() -> None:
    """Write every generated page."""
    write(OUT / "parameters.md", parameters())
    write(OUT / "cli.md", command_line())
    write(OUT / "stages.md", stages(ROOT))
    write(OUT / "records.md", records())
    shutil.rmtree(OUT / "api", ignore_errors=True)
    for name, page in api():
        write(OUT / "api" / f"{name}.md", page)


def write(path: Path, lines: list[str]) -> None:
    """Write a page if its text changed, so that `make docs-serve` rebuilds only what did."""
    text = "\n".join(lines).rstrip() + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
