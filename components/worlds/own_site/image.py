"""The first data of an application, which `prepare` makes once and every process gets a copy of."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from components import store
from components.worlds.own_site.commands import finished
from components.worlds.own_site.site_file import OwnSiteError, SiteFile

CACHE = store.STATE / "cache" / "sites"
PREPARE_TIMEOUT_S = 900.0
_UNUSED = {"tasks.yaml", "tasks.py", "pyproject.toml", "README.md"}
"""Files beside `site.yaml` that the data do not come from."""


def environment(site: SiteFile, folder: Path, data: Path, **more: str) -> dict[str, str]:
    """The environment variables of the site's commands."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "LANG": "C.UTF-8",
        "USER": "waymark",
        "HOME": str(data),
        "DATA": str(data),
        "SITE": str(folder),
        "PROJECT": str(Path.cwd()),
        "ORIGIN": site.address,
        "PYTHON": sys.executable,
        "PYTHONDONTWRITEBYTECODE": "1",
        **more,
    }


def find_programs(site: SiteFile) -> str:
    """The paths of the programs that the site needs.

    Raises:
        OwnSiteError: one is not installed; the message says how to install it.
    """
    paths = []
    for program, remedy in site.requires.items():
        path = shutil.which(str(Path.cwd() / program) if "/" in program else program)
        if path is None:
            raise OwnSiteError(f"{program} is not installed, which the site {site.name} needs: {remedy}")
        paths.append(path)
    return ", ".join(paths)


def digest(site: SiteFile, folder: Path) -> str:
    """A digest of what the first data come from: `prepare`, and the files beside `site.yaml`."""
    checksum = hashlib.sha256(f"{site.prepare}\0{site.address}".encode())
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        is_used = parts[0] not in {*_UNUSED, "site.yaml", "oracles"} and path.is_file()
        if is_used and not any(part == "__pycache__" or part.endswith(".egg-info") for part in parts):
            checksum.update(f"{Path(*parts)}\0{path.stat().st_size}\0".encode())
            checksum.update(path.read_bytes())
    return checksum.hexdigest()[:16]


def image_of(site: SiteFile, folder: Path, cache: Path = CACHE) -> Path:
    """The folder that has the first data, or will have them once `ensure` has made it."""
    return cache.absolute() / f"{site.name}-{digest(site, folder)}"


def ensure(site: SiteFile, folder: Path, cache: Path = CACHE) -> Path:
    """The folder with the first data, which is made if it does not exist.

    Raises:
        OwnSiteError: a program is missing, or `prepare` fails; the message has the end of its output.
    """
    find_programs(site)
    cache, image = cache.absolute(), image_of(site, folder, cache)
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / f"{site.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not image.exists():
            with tempfile.TemporaryDirectory(dir=cache, prefix=f"{site.name}-new-") as new:
                data = Path(new) / "data"
                data.mkdir()
                if site.prepare:
                    run(site.prepare, environment(site, folder, data), data, "prepare", PREPARE_TIMEOUT_S)
                data.rename(image)
    return image


def run(command: str, variables: Mapping[str, str], data: Path, key: str, timeout_s: float) -> None:
    """Run a command of the site to its end.

    Args:
        key: of `site.yaml`, for the error.

    Raises:
        OwnSiteError: it fails, or takes longer.
    """
    try:
        status, output = finished(command, variables, data, timeout_s)
    except subprocess.TimeoutExpired as error:
        raise OwnSiteError(f"{key} did not end within {timeout_s:.0f} s") from error
    if status:
        raise OwnSiteError(f"{key} ended with status {status}:\n{output[-2000:]}")
