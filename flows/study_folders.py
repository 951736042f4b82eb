"""The working folders of a study's runs: a copy of the project per run, with its recipe, and one cache of DVC for all.

Why folders, and not `dvc exp run --temp` or `--queue`, which work offline with this dvc.yaml, too: an experiment that
is killed is begun anew in another temporary folder, so the journals and checkpoints of the interrupted stage
(`.waymark/state`) are lost, and with them hours of RL; only stages that were finished come back from the run cache. The
workers of its queue are also out of reach of `flows.crash_safe_dvc` and `flows.process`, which repair DVC's files and
end the processes that a kill leaves. A folder that stays keeps the state of its stages, and `dvc repro` in it resumes.

The folders share the project's DVC cache, and with it the run cache: a stage whose inputs, parameters and code another
run, or `make demo`, has seen is restored and not run. DVC in a folder uses no git, but `git rev-parse` finds the
project's, so all runs name its commit. Every call copies the present files anew, so a study always measures the present
code, and stages that depend on changed files run again, as in the project itself. Files that git ignores are not
copied, except `UNTRACKED_INPUTS` and those that a run's recipe names, such as a file of tasks. Of a folder that it
names, such as one with a base model, the files that git ignores are hard links, because they can be large.
"""

from __future__ import annotations

import configparser
import contextlib
import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from components import store
from flows import process
from flows.crash_safe_dvc import repair
from flows.recipe_files import UNTRACKED_INPUTS, possible_paths

STUDIES = store.STATE / "studies"
LEFT_OUT = ("dvc.lock", "params.yaml", "docs/images/", "perf/", "tests/")
"""Files and folders that no stage reads, or that every folder has of its own."""
_COPIED = Path(".waymark/copied.json")


class StudyBusy(RuntimeError):
    """Another process runs this study."""


class NoCheckout(RuntimeError):
    """The current folder is no checkout of the project."""


class OutOfReach(RuntimeError):
    """A recipe names a file that the runs of a study, which have folders of their own, would not find."""


@dataclass(frozen=True)
class Checkout:
    """The project's files, and its DVC cache."""

    root: Path
    files: tuple[str, ...]
    """Paths relative to the root."""
    cache: Path
    outputs: tuple[str, ...] = ()
    """What stages make, relative to the root."""

    def inputs_among(self, names: Iterable[str]) -> set[str]:
        """The files that no stage makes: those a run makes itself."""
        return {name for name in names if not any(Path(name).is_relative_to(output) for output in self.outputs)}

    @classmethod
    def of(cls, root: Path) -> Checkout:
        """The files that git knows or would add, and the untracked inputs.

        Raises:
            NoCheckout: the folder has no git repository or no dvc.yaml.
        """
        from dvc.repo import Repo

        git = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(git, cwd=root, capture_output=True, text=True, check=False)
        if listed.returncode or not (root / "dvc.yaml").exists():
            raise NoCheckout(f"{root} is no checkout of Waymark with git and dvc.yaml: run a study in the root of one")
        names = {name for name in listed.stdout.split("\0") if name and not name.startswith(LEFT_OUT)}
        for folder in UNTRACKED_INPUTS:
            names |= {path.relative_to(root).as_posix() for path in (root / folder).rglob("*") if path.is_file()}
        with Repo(str(root)) as repo:
            cache = Path(repo.cache.local.path).parents[1]
            made = [stage for stage in repo.index.stages if stage.cmd and not stage.frozen]
            outputs = tuple(sorted(out.def_path for stage in made for out in stage.outs))
        return cls(root, tuple(sorted(name for name in names if (root / name).is_file())), cache, outputs)


def folder_of(root: Path, study: str, run: str) -> Path:
    """The folder of a run."""
    return root / STUDIES / study / run


@contextlib.contextmanager
def locked(root: Path, study: str) -> Iterator[None]:
    """Hold the study; the kernel releases it when the process ends in any way.

    Raises:
        StudyBusy: another process holds it.
    """
    path = root / STUDIES / study / "lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            raise StudyBusy(f"study {study} is being run by process {holder}: wait for it, or end it") from error
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def prepare(checkout: Checkout, folder: Path, params: str) -> None:
    """Make a run's folder, or bring it up to date with the project's files; results and states in it stay.

    A stage that a killed study left at work is ended first: it holds DVC's locks, and would run changing code. Then the
    files that a killed DVC left are repaired, because DVC reads them when the study is planned.

    Raises:
        Busy: a living process runs a stage in this folder.
        OutOfReach: the recipe names a file by a path that leads out of the checkout.
    """
    process.end_abandoned(folder)
    if (folder / ".dvc").exists():
        repair(folder)
    folder.mkdir(parents=True, exist_ok=True)
    record = folder / _COPIED
    former = set(json.loads(record.read_text())) if record.exists() else set()
    recipe = yaml.safe_load(params)
    copied = {*checkout.files, *checkout.inputs_among(_named_files(checkout.root, recipe))}
    linked = checkout.inputs_among(_files_in_named_folders(checkout.root, recipe)) - copied
    present = sorted(copied | linked)
    store.write_json(record, sorted(former.union(present)))  # if this is killed, the next one knows what is here
    for name in present:
        (_link if name in linked else _copy)(checkout.root / name, folder / name)
    for name in former - set(present):
        (folder / name).unlink(missing_ok=True)
    store.write_json(record, present)
    _write(folder / ".dvc/config.local", _dvc_config(checkout))
    for environment in checkout.root.glob(".venv-*"):  # of vLLM and of sites; `python` itself is found on PATH
        link = folder / environment.name
        if not link.is_symlink():
            link.symlink_to(environment.resolve())
    ignored = folder / ".dvcignore"
    _write(ignored, (checkout.root / ".dvcignore").read_text() + "/.venv-*\n")
    _write(folder / "params.yaml", params)


def _named_files(root: Path, recipe: object) -> Iterator[str]:
    """The files in the project that a recipe names, relative to the root."""
    return (path.as_posix() for path in _named_paths(root, recipe) if (root / path).is_file())


def _files_in_named_folders(root: Path, recipe: object) -> Iterator[str]:
    """The files in the folders of the project that a recipe names, relative to the root. A folder has a slash in its
    name: `demo` is a recipe, and may be a folder, too."""
    for path in _named_paths(root, recipe):
        if len(path.parts) > 1 and not path.parts[0].startswith("."):
            yield from (file.relative_to(root).as_posix() for file in (root / path).rglob("*") if file.is_file())


def _named_paths(root: Path, recipe: object) -> Iterator[Path]:
    """The paths in the project that a recipe names, relative to the root, whether they exist or not."""
    for text in possible_paths(recipe):
        path = Path(os.path.normpath(text))
        if path.parts[:1] == ("..",) and (root / path).exists():
            raise OutOfReach(
                f"the recipe names {text}, which leads out of {root}, and the runs of a study have folders of their "
                f"own: name it by its absolute path, {(root / path).resolve()}"
            )
        if not path.is_absolute():
            yield path


def _dvc_config(checkout: Checkout) -> str:
    """The project's own local settings, without git and with the project's cache."""
    config = configparser.ConfigParser(interpolation=None)
    local = checkout.root / ".dvc/config.local"
    if local.exists():
        config.read(local)
    settings = {"core": {"no_scm": "true", "autostage": "false"}, "cache": {"dir": str(checkout.cache)}}
    for section, values in settings.items():
        if not config.has_section(section):
            config.add_section(section)
        for key, value in values.items():
            config.set(section, key, value)
    return "\n".join([*_lines(config), ""])


def _lines(config: configparser.ConfigParser) -> Iterable[str]:
    for section in config.sections():
        yield f"[{section}]"
        yield from (f"    {key} = {value}" for key, value in config.items(section))


def _copy(source: Path, target: Path) -> None:
    """Copy a file with its time, unless size and time are equal."""
    if target.exists():
        old, new = target.stat(), source.stat()
        if (old.st_size, old.st_mtime_ns) == (new.st_size, new.st_mtime_ns):
            return
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.part")
    shutil.copy2(source, partial)
    os.replace(partial, target)


def _link(source: Path, target: Path) -> None:
    """Make a hard link to a file, or a copy where the file system has none."""
    source = source.resolve()  # of a symbolic link, what it leads to: it may be a relative one
    if target.exists() and target.samefile(source):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.part")
    partial.unlink(missing_ok=True)  # of a killed study; it may be a link to the source
    try:
        os.link(source, partial)
    except OSError:
        _copy(source, target)
    else:
        os.replace(partial, target)


def _write(path: Path, text: str) -> None:
    """Write a file unless it has this text already: DVC hashes files whose time changed."""
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".{path.name}.part")
        partial.write_text(text)
        os.replace(partial, path)
