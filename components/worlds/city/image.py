"""The built image of the city: database, media and static files of all sites, which the server copies per episode.

It is built once per content of the server's code and its locked packages, in about a minute, and kept under
`.waymark/cache/city`, in a folder named by a digest of both.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from components import store
from components.worlds import WorldError

SERVER = Path(__file__).parent / "server"
"""The Django project, which runs in an environment of its own."""
ENVIRONMENT = Path(".venv-city")
LOCK = Path("requirements/city.txt")
CACHE = store.STATE / "cache" / "city"
BUILD_TIMEOUT_S = 900.0
INSTALLATION = (
    ("make", str(ENVIRONMENT / ".stamp")),
    (sys.executable, "-c", "from components.worlds.city.image import ensure; print(ensure())"),
)
"""What `make city` runs, in a checkout. `make city` itself would also install `.venv`, which images do not have."""


class CityError(WorldError):
    """The city's environment is missing, or its image cannot be built; the message names the command to type."""


def find_python() -> Path:
    """The interpreter of the city's environment.

    Raises:
        CityError: the environment is not installed.
    """
    program = ENVIRONMENT / "bin" / "python"
    if not (ENVIRONMENT / ".stamp").exists() or not program.exists():
        raise CityError("the environment of the city's sites is not installed: type `make city`")
    return program.absolute()


def environment() -> dict[str, str]:
    """The environment variables of the city's processes: sets have one order, so two builds have equal bytes."""
    return {**os.environ, "PYTHONPATH": str(SERVER), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}


def digest() -> str:
    """A digest of everything that decides the image: the server's code and the lock of its packages."""
    files = [path for path in _server_files() if not _is_modifier(path)]
    return _digest([*files, *([LOCK] if LOCK.exists() else [])])


def modifiers_digest() -> str:
    """A digest of the modifiers' code, which changes copies and not the image."""
    return _digest(filter(_is_modifier, _server_files()))


def ensure(cache: Path = CACHE) -> Path:
    """The folder of the image, which is built first if it does not exist.

    Raises:
        CityError: the environment is not installed, or the build fails.
    """
    folder = cache.absolute() / digest()
    if folder.exists():
        return folder
    python = find_python()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            build(python, folder)
    return folder


def build(python: Path, folder: Path) -> None:
    """Build the image into a folder that appears at the end, whole.

    Raises:
        CityError: the build fails; the message has the end of its output.
    """
    log = folder.with_name(f"{folder.name}.log")
    with log.open("wb") as output:
        try:
            subprocess.run(
                [python, "-m", "city.building", folder],
                env=environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=True,
                timeout=BUILD_TIMEOUT_S,
            )
        except (subprocess.SubprocessError, OSError) as error:
            output.flush()
            raise CityError(
                f"the image of the city could not be built ({error}); the whole output is in {log}:\n"
                f"{log.read_text(errors='replace')[-2000:]}"
            ) from error


def _server_files() -> list[Path]:
    return sorted(path for path in SERVER.rglob("*") if path.is_file() and path.suffix != ".pyc")


def _is_modifier(path: Path) -> bool:
    return path.parent.name == "modifiers"


def _digest(files: Iterable[Path]) -> str:
    checksum = hashlib.sha256()
    for path in files:
        name = path.relative_to(SERVER).as_posix() if path.is_relative_to(SERVER) else path.name
        checksum.update(f"{name}\0{path.stat().st_size}\0".encode())
        checksum.update(path.read_bytes())
    return checksum.hexdigest()[:16]
