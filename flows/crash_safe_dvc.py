"""`dvc repro` of one stage, with repair of the files that a SIGKILL of DVC damages.

The files of DVC 3, and the effect of a SIGKILL on them:

1. `.dvc/tmp/rwlock` is rewritten in place, so it may be empty or truncated; every later dvc then stops with "Unable to
   read RWLock-file". DVC drops entries of dead processes, unless another process has the same id now.
2. `dvc.lock` is rewritten in place, so it may be empty or truncated. This module keeps a good copy after every stage.
3. `.dvc/tmp/lock` stays, which is harmless: it is an flock, which the kernel releases.
4. The stage's own process keeps running; see `flows.process`.

`repair` corrects 1 and 2 under DVC's own locks, so it is safe beside a running dvc. Accepted trade-off: entries of
*living* processes in a damaged rwlock are lost; such a dvc fails when it releases its locks, and is called again. Its
work is in DVC's run cache, so nothing is computed twice. Entries that a damaged `dvc.lock` lost come back in the same
way.

DVC reports success although it could not copy an output into its cache, such as to a full disk, and deletes this output
when the stage runs again. `repro` then fails, and its next call stores the output before DVC compares anything.

As a command: `python -m flows.crash_safe_dvc STAGE` runs one stage, without an argument only repairs.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import psutil
import yaml
import zc.lockfile

from flows import process

GOOD_LOCK = Path(".waymark/dvc.lock.good")
PATIENCE_S = 5.0
"""How long a lock is awaited without a word."""
LOGS = Path(".waymark/logs")
UNSTORED = Path(".waymark/unstored")
"""The folder with a file per stage whose outputs DVC could not copy into its cache."""
ATTEMPTS = 3
EX_TEMPFAIL = 75
"""Exit status of the command if the infrastructure failed, not the stage (sysexits.h)."""

_DAMAGED = re.compile(
    r"Unable to read RWLock-file|RWLock-file .* format error|Unable to acquire lock|AssertionError"
    r"|dvc\.lock' (is invalid|validation failed)|unable to read: '.*dvc\.lock'"
)
_UNSTORED = re.compile(r"^ERROR: failed to transfer '[^']+' - (.*)$", re.MULTILINE)
"""What DVC says of a file that it could not copy into its cache."""
_STAGE_EXIT = re.compile(r"failed to run: .*, exited with (-?\d+)")


class Outcome(StrEnum):
    """The outcome of `dvc repro` for a stage."""

    RAN = "ran"
    """The stage's command ran."""
    RESTORED = "restored"
    """The outputs came from DVC's run cache, which has seen the same inputs."""
    UP_TO_DATE = "up to date"
    """Nothing had changed."""


@dataclass(frozen=True, order=True)
class Writer:
    """A living dvc that writes outputs of a stage, as DVC's rwlock names it."""

    pid: int
    command: str


class StageFailed(RuntimeError):
    """The stage itself failed. It fails again if nothing changes."""


class InfrastructureFailed(RuntimeError):
    """The stage or dvc was killed, or dvc could not work. The same command resumes the work."""


def repro(stage: str, root: Path | str = ".", on_poll: Callable[[], None] | None = None) -> Outcome:
    """Bring one stage up to date with `dvc repro --single-item`.

    Args:
        stage: name as in dvc.yaml, such as `train_rl@short` for a member of a foreach.
        root: the project.
        on_poll: called every half second while the stage runs.

    Raises:
        StageFailed: the stage's command failed, or dvc refused the stage; the message ends with the log.
        InfrastructureFailed: the stage or dvc was killed, dvc's own state stayed damaged, or its cache took no outputs.
        process.Busy: another flow runs this stage.
    """
    root = Path(root).resolve()
    log = root / LOGS / f"{stage}.log"
    dvc = [sys.executable, "-m", "dvc", "--wait-for-lock"]
    unstored = root / UNSTORED / stage
    environment = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "DVC_NO_ANALYTICS": "1"}
    for _ in range(ATTEMPTS):
        repair(root)
        stores = unstored.exists()
        command = [*dvc, "commit", stage] if stores else [*dvc, "repro", "--single-item", stage]
        code = process.call(command, name=stage, log=log, root=root, environment=environment, on_poll=on_poll)
        text = log.read_text(errors="replace")
        if failed := _UNSTORED.search(text):
            _publish(unstored, f"{failed[1]}\n")
            raise InfrastructureFailed(
                f"{stage}: dvc could not copy its outputs into its cache: {failed[1]}; free space if the disk is full, "
                f"then give the same command again, which goes on from there; log: {log}"
            )
        if stores and code >= 0 and not _DAMAGED.search(text):  # else dvc refused it: inputs or outputs changed since
            unstored.unlink()
            continue
        if code == 0:
            keep_good_lock(root)
            return _outcome(text)
        if code < 0:
            raise InfrastructureFailed(f"{stage}: dvc was killed by signal {-code}; the same command resumes")
        if exited := _STAGE_EXIT.search(text):
            status = int(exited[1])
            if status < 0 or status > 128:
                raise InfrastructureFailed(f"{stage}: was killed (status {status}); log: {log}\n{_tail(text)}")
            raise StageFailed(f"{stage}: failed with status {status}; log: {log}\n{_tail(text)}")
        if not _DAMAGED.search(text):
            raise StageFailed(f"{stage}: dvc refused it; log: {log}\n{_tail(text)}")
    raise InfrastructureFailed(f"{stage}: dvc failed {ATTEMPTS} times; log: {log}\n{_tail(text)}")


def repair(root: Path | str = ".") -> list[str]:
    """Repair the files that a killed dvc left; returns a line per repair. Waits for a running dvc."""
    root = Path(root).resolve()
    repairs: list[str] = []
    with held(root / ".dvc/tmp/lock"):
        with held(root / ".dvc/tmp/rwlock.lock"):
            repairs += _repair_rwlock(root / ".dvc/tmp/rwlock")
        repairs += _repair_lockfile(root)
    return repairs


def writers(root: Path | str = ".") -> list[Writer]:
    """The living processes of dvc that write outputs in a project at present. Call `repair` first."""
    root = Path(root).resolve()
    with held(root / ".dvc/tmp/rwlock.lock"):
        locks = json.loads(_read(root / ".dvc/tmp/rwlock") or "{}")
    holders = [_holder(entry) for entry in locks.get("write", {}).values()]
    return sorted({Writer(holder["pid"], holder["cmd"]) for holder in holders if _lives(holder)})


def keep_good_lock(root: Path | str = ".") -> None:
    """Keep a copy of dvc.lock, if it is complete, for later repairs."""
    root = Path(root).resolve()
    with held(root / ".dvc/tmp/lock"):
        text = _read(root / "dvc.lock")
    if text and _is_complete(text):
        _publish(root / GOOD_LOCK, text)


@contextlib.contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold a lock file, such as one of DVC's own, as `dvc --wait-for-lock` does. Only a living process can hold it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    tells_at = time.monotonic() + PATIENCE_S
    while True:
        try:
            lock = zc.lockfile.LockFile(str(path))
            break
        except zc.lockfile.LockError:
            time.sleep(0.05)
        if time.monotonic() > tells_at:
            print(f"waiting for {path}, which another process holds, such as `dvc push`", file=sys.stderr, flush=True)
            tells_at = float("inf")
    try:
        yield
    finally:
        lock.close()


def _repair_rwlock(path: Path) -> list[str]:
    text = _read(path)
    if text is None:
        return []
    try:
        locks = json.loads(text)
        readers = {name: [_holder(entry) for entry in holders] for name, holders in locks.get("read", {}).items()}
        writers = {name: _holder(entry) for name, entry in locks.get("write", {}).items()}
    except (ValueError, TypeError, AttributeError, KeyError):
        path.unlink()
        return [f"{path.name} was damaged: removed"]
    alive = {name: [holder for holder in holders if _lives(holder)] for name, holders in readers.items()}
    repaired = {
        "write": {name: holder for name, holder in writers.items() if _lives(holder)},
        "read": {name: holders for name, holders in alive.items() if holders},
    }
    if repaired == {"write": writers, "read": readers}:
        return []
    _publish(path, json.dumps(repaired))
    return [f"{path.name} had entries of dead processes: dropped"]


def _holder(entry: dict) -> dict:
    return {"pid": int(entry["pid"]), "cmd": str(entry["cmd"])}


def _lives(holder: dict) -> bool:
    """True if the process that wrote the entry is alive; another process with the same id does not count."""
    try:
        command = " ".join(psutil.Process(holder["pid"]).cmdline()).split()
    except psutil.AccessDenied:
        return True
    except psutil.Error:
        return False
    return bool(command) and command[-1] == holder["cmd"].split()[-1]


def _repair_lockfile(root: Path) -> list[str]:
    path = root / "dvc.lock"
    text = _read(path)
    copy = _read(root / GOOD_LOCK)
    is_cut = text is not None and copy is not None and len(text) < len(copy) and copy.startswith(text)
    if text is None or (_is_complete(text) and not is_cut):
        return []
    for source, good in (("the copy of the last stage", copy), ("git", _committed(root))):
        if good and _is_complete(good):
            _publish(path, good)
            return [f"dvc.lock was damaged: restored from {source}"]
    path.unlink()
    return ["dvc.lock was damaged: removed; the run cache knows the outputs"]


def _is_complete(text: str) -> bool:
    """True if DVC can have written the text to its end: an entry of a truncated text lacks its command or hashes."""
    if not text.endswith("\n"):
        return False
    try:
        stages = yaml.safe_load(text)["stages"]
        return all(isinstance(stage["cmd"], str | list) and _has_hashes(stage) for stage in stages.values())
    except (yaml.YAMLError, TypeError, KeyError, AttributeError):
        return False


def _has_hashes(stage: dict) -> bool:
    return all("path" in entry and "hash" in entry and entry["hash"] in entry for entry in stage.get("outs", []))


def _committed(root: Path) -> str | None:
    command = ["git", "show", "HEAD:./dvc.lock"]
    git = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    return git.stdout if git.returncode == 0 else None


def _read(path: Path) -> str | None:
    try:
        return path.read_text(errors="replace")
    except FileNotFoundError:
        return None


def _publish(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.{time.monotonic_ns()}.part")
    partial.write_text(text)
    os.replace(partial, path)


def _outcome(text: str) -> Outcome:
    if re.search(r"^Running stage '", text, re.MULTILINE):
        return Outcome.RAN
    return Outcome.RESTORED if "is cached - skipping run" in text else Outcome.UP_TO_DATE


def _tail(text: str, lines: int = 25) -> str:
    return "\n".join(text.strip().splitlines()[-lines:])


def main(arguments: list[str]) -> int:
    """Repair, then run the named stages; exit status 1 if a stage failed, 75 if the infrastructure failed."""
    parser = argparse.ArgumentParser(
        prog="python -m flows.crash_safe_dvc",
        description="Repairs the files that a killed `dvc repro` was writing, then runs the stages that are named.",
    )
    parser.add_argument("stages", nargs="*", metavar="STAGE", help="such as train_sft; none: repair only")
    options = parser.parse_args(arguments)
    for line in repair():
        print(line)
    for stage in options.stages:
        try:
            print(f"{stage}: {repro(stage)}")
        except StageFailed as error:
            print(error, file=sys.stderr)
            return 1
        except (InfrastructureFailed, process.Busy, process.Stopped) as error:
            print(error, file=sys.stderr)
            return EX_TEMPFAIL
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
