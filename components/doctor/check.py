"""One line of the table of `waymark doctor`."""

from __future__ import annotations

from dataclasses import dataclass

from components.plugins import install_command, missing_package


@dataclass(frozen=True)
class Check:
    """One line of the table. `fix` is a command or a sentence; `required` checks decide about the exit status."""

    name: str
    ok: bool
    finding: str
    fix: str = ""
    required: bool = True


def without_package(check: str, error: ModuleNotFoundError, required: bool = True) -> Check:
    """The failed check of what needs a package that is not installed. Another error of an import is raised."""
    package = missing_package(error)
    if package is None:
        raise error
    return Check(check, False, f"the package {package} is not installed", install_command(package), required)
