"""Writes the package of a site for an application of WebArena-Infinity, from the user's own clone of it.

An application there is a folder with `server.py` (static files, and its state at `/api/state`), lists of tasks such as
`real-tasks.json`, and a Python verifier per task, which reads the state from the server. The pages hold the state and
send all of it to the server, so a script of a page could send another one: rewards of such a world can be forged.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from components.worlds.own_site.scaffold import write_files
from components.worlds.own_site.site_file import OwnSiteError

SUITES = ("real-tasks", "tasks")
"""Lists of tasks, the first that is there by default."""
FORGEABLE = (
    "its pages send their whole state to the server, and the verifiers read that, so a script of a page could send the "
    "state of a task that was not done"
)
FAMILY = "tasks"
"""The name of tasks without a difficulty."""


class _InfinityTask(BaseModel):
    """A row of a list of tasks."""

    model_config = ConfigDict(extra="ignore")

    id: str
    instruction: str
    verify: str
    difficulty: str = FAMILY


def write_adapter(name: str, folder: Path, application: Path, suite: str | None = None) -> list[Path]:
    """Write the package.

    Args:
        name: the world's name.
        folder: of the package; it must not exist, or be empty.
        application: the folder with `server.py`, in the clone. The package names it and copies no code of it.
        suite: the list of tasks, without `.json`; None takes the first of `SUITES` that is there.

    Returns:
        the files.

    Raises:
        OwnSiteError: the folder does not have the layout; the message names what is missing.
    """
    application = application.expanduser().resolve()
    for part in ("server.py", "index.html"):
        if not (application / part).is_file():
            raise OwnSiteError(
                f"{application} has no {part}: name the folder of one application in your clone of WebArena-Infinity, "
                "such as webarena-infinity/apps/gmail"
            )
    tasks = _tasks(application, suite)
    families: dict[str, list[_InfinityTask]] = {}
    for task in tasks:
        families.setdefault(task.difficulty, []).append(task)
    package = folder / f"waymark_{name}"
    places = {
        "infinity_recipe.yaml": folder / f"{name}.yaml",
        "infinity_site.yaml": package / "site.yaml",
        "infinity.py": package / "infinity.py",
    }
    values = {
        "application": json.dumps(str(application)),
        "content": json.dumps(_checksum(application)),
        "forgeable": json.dumps(FORGEABLE),
        "tasks": _yaml({"tasks": {family: _template(rows) for family, rows in families.items()}}),
    }
    return write_files(name, folder, places, values)


def _checksum(application: Path) -> str:
    """Of the names and contents of an application's files, without what Python and git keep beside them."""
    checksum = hashlib.sha256()
    for path in sorted(application.rglob("*")):
        parts = path.relative_to(application).parts
        if path.is_file() and not any(part == "__pycache__" or part.startswith(".git") for part in parts):
            checksum.update(f"{'/'.join(parts)}\0{path.stat().st_size}\0".encode())
            checksum.update(path.read_bytes())
    return checksum.hexdigest()[:16]


def _tasks(application: Path, suite: str | None) -> list[_InfinityTask]:
    known = sorted(path.stem for path in application.glob("*tasks.json"))
    chosen = suite or next((name for name in SUITES if name in known), None)
    if chosen not in known:
        problem = f"no {chosen}.json" if chosen else "no list of tasks"
        raise OwnSiteError(f"{application} has {problem}; name one with --suite: {', '.join(known) or 'there is none'}")
    path = application / f"{chosen}.json"
    try:
        tasks = TypeAdapter(list[_InfinityTask]).validate_json(path.read_text())
    except ValidationError as error:
        detail = error.errors()[0]
        place = ".".join(map(str, detail["loc"]))
        raise OwnSiteError(f"{path} is no list of tasks of WebArena-Infinity: {place}: {detail['msg']}") from error
    missing = [task.verify for task in tasks if not (application / task.verify).is_file()]
    if missing or not tasks:
        raise OwnSiteError(f"{path}: " + (f"there is no verifier {missing[0]}" if missing else "there are no tasks"))
    return tasks


def _template(tasks: list[_InfinityTask]) -> dict[str, Any]:
    """One family, whose tasks differ in a parameter with three columns."""
    rows = [{"id": task.id, "instruction": task.instruction, "verifier": task.verify} for task in tasks]
    return {
        "intent": "{task[instruction]}",
        "parameters": {"task": rows},
        "verify": '"$PYTHON" "$SITE/infinity.py" verify {task[verifier]}',
    }


def _yaml(content: Mapping[str, Any]) -> str:
    return str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=110))
