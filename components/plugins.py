"""Kinds that are found by name: built in, installed under an entry-point group, or named by a dotted path.

A kind (a world, say) is an object of a family. A name means, in this order:

1. `kind`: the package or module of that name in the family's package (`PACKAGES`), which names the object in its
   attribute `KIND`;
2. an entry point of that name in the group `waymark.<family>` of any installed distribution;
3. with a dot in it: `package.module:object`, or `package.module`, whose attribute `KIND` is the object.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
import re
import sys
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points, metadata
from pathlib import Path
from typing import Any

PACKAGES = {
    "judge_protocols": "components.judge.protocols",
    "objectives": "components.params.objectives",
    "protocols": "components.agent.protocols",
    "worlds": "components.worlds",
}
"""The package of each family's built-in kinds. Objectives of RL are found by their sections of a recipe."""
FINDERS = {
    "judge_protocols": "components.judge.protocols.registry:judge_protocol",
    "protocols": "components.agent.protocols.registry:protocol",
}
"""The function of a family that finds a kind and checks that it is one."""
KIND = "KIND"
"""The attribute of a package or module that holds the object."""
PROJECT = "waymark"
OWN_PACKAGES = ("components", "flows")


class UnknownKindError(LookupError):
    """No kind has this name, or what has it cannot be imported. The message lists the names that there are."""


@cache
def builtin(family: str) -> tuple[str, ...]:
    """Names of the packages and modules with a `KIND` in the family's package, sorted. None of them is imported."""
    folder = Path(__file__).parent.joinpath(*PACKAGES[family].split(".")[1:])
    return tuple(
        sorted(
            module.name
            for module in pkgutil.iter_modules([str(folder)])
            if _names_kind(folder / module.name / "__init__.py" if module.ispkg else folder / f"{module.name}.py")
        )
    )


def _names_kind(path: Path) -> bool:
    return re.search(rf"^{KIND}\b.* = ", path.read_text(), re.MULTILINE) is not None


def installed(family: str) -> Mapping[str, EntryPoint]:
    """Kinds of other distributions, by name."""
    return _installed(family, tuple(sys.path))


@cache
def _installed(family: str, path: tuple[str, ...]) -> Mapping[str, EntryPoint]:
    """Kept for each `sys.path`: reading the metadata of all distributions takes 10 to 25 ms."""
    return {point.name: point for point in entry_points(group=f"waymark.{family}")}


def names(family: str) -> list[str]:
    """All names that need no dotted path, sorted."""
    return sorted({*builtin(family), *installed(family)})


def find(family: str, name: str) -> object:
    """The kind of this name.

    Args:
        family: one of `PACKAGES`; `worlds`, say, which has the entry-point group `waymark.worlds`.

    Raises:
        UnknownKindError: there is none, its module fails when it is imported, or a package that it needs is not
            installed.
    """
    if name in builtin(family):
        try:
            return getattr(importlib.import_module(f"{PACKAGES[family]}.{name}"), KIND)
        except ModuleNotFoundError as error:
            package = missing_package(error)
            if package is None:
                raise
            raise UnknownKindError(
                f"{family} {name!r} needs the package {package}: {install_command(package)}"
            ) from error
    point = installed(family).get(name)
    if point is not None:
        return _imported(family, name, point.value)
    if "." in name or ":" in name:
        return _imported(family, name, name)
    known = names(family)
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]}?" if near else "your own is named by its dotted path, package.module:Class"
    raise UnknownKindError(f"{family} has no {name!r}; it has {', '.join(known)}; {hint}")


def find_checked(family: str, name: str) -> Any:
    """The kind of this name, of a family in `FINDERS`.

    Raises:
        UnknownKindError: as `find`, and if the object is no kind of this family.
    """
    module, _, finder = FINDERS[family].partition(":")
    return getattr(importlib.import_module(module), finder)(name)


@cache
def broken(family: str) -> Mapping[str, str]:
    """Kinds that cannot be imported: name to reason, sorted. A recipe that names one fails.

    They are those of other distributions, and built-in ones that need a package that is not installed.
    """
    reasons = {}
    for name in names(family):
        try:
            find(family, name)
        except UnknownKindError as error:
            reasons[name] = str(error)
    return reasons


def usable(family: str) -> list[str]:
    """The names without those of `broken`, sorted. A faulty package stops no command that does not need it."""
    return [name for name in names(family) if name not in broken(family)]


def missing_package(error: ModuleNotFoundError) -> str | None:
    """The package that is not installed. None if a module is missing in this project, or in a package that is there,
    which is a bug."""
    name = error.name or ""
    return name if name and "." not in name and name not in OWN_PACKAGES else None


def install_command(package: str) -> str:
    """The command that installs a package: with the project's extra that has it, in the version that fits."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    try:
        project = metadata(PROJECT)
    except PackageNotFoundError:  # a folder of code that was not installed
        return f"pip install {package}"
    for requirement in map(Requirement, project.get_all("Requires-Dist") or []):
        for extra in project.get_all("Provides-Extra") or []:
            is_wanted = requirement.marker is not None and requirement.marker.evaluate({"extra": extra})
            if is_wanted and canonicalize_name(requirement.name) == canonicalize_name(package):
                return f"pip install '{PROJECT}[{extra}]'"
    return f"pip install {package}"


def _imported(family: str, name: str, path: str) -> object:
    module, _, attribute = path.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute or KIND)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise UnknownKindError(f"{family}: {name!r} ({path}) cannot be imported: {reason}") from error
