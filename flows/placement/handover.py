"""What one machine hands to another: an order with the recipe and `dvc.lock`, outputs of stages, and the outcome."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from flows import process
from flows.crash_safe_dvc import LOGS, InfrastructureFailed, held
from flows.placement.shared_store import SharedStore
from flows.placement.state_mirror import StateMirror

REMOTE = "waymark-placement"
"""The name of the DVC remote in the store. `.dvc/config.local` has it."""
DVC_LOCK = Path(".dvc/tmp/lock")
"""DVC's own lock."""
STATE = Path(".waymark/state")
OWNER = "owner"
"""The file with the token of the last order: only who has this order may write."""
ORDER, OUTCOME, BEAT = "order.json", "outcome.json", "beat.json"


class OrderRefused(RuntimeError):
    """This clone cannot carry out an order; the message says what to change."""


@dataclass(frozen=True)
class Order:
    """A stage to run.

    `token` is new with each try. `needs` are the stages before it, `needed_files` their outputs that DVC's cache does
    not keep, `own_files` those of the stage. `commit` is that of the pipeline flow's clone, as `commit` gives it.
    `lock` has the entries of `dvc.lock` by stage. `inputs` are files that the stage reads and git does not have, with
    their fingerprints (`inputs.untracked`).
    """

    token: str
    stage: str
    needs: list[str]
    needed_files: list[str]
    own_files: list[str]
    commit: str
    params: str
    lock: dict[str, Any]
    sync_s: float
    lost_after_s: float
    inputs: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Report:
    """How an order ended: with an outcome and the stage's entry of `dvc.lock`, or with an error."""

    token: str
    outcome: str = ""
    entry: dict[str, Any] = field(default_factory=dict)
    state: list[str] = field(default_factory=list)
    """The folders of the stage's state in which it worked until it ended."""
    ended: float = 0.0
    """When it ended, in Unix seconds."""
    error: str = ""
    is_stages_own: bool = False
    """The error is the stage's own and would come again on any machine."""


def of_stage(store: SharedStore, stage: str) -> SharedStore:
    """The part of the store with the order, the signs of life and the outcome of a stage."""
    return store.child(f"stages/{stage}")


def state_of_stage(store: SharedStore, stage: str) -> SharedStore:
    """The part of the store with the copy of a stage's state."""
    return store.child(f"state/{stage}")


def state_mirror(
    store: SharedStore, stage: str, root: Path, may_write: Callable[[], bool] = lambda: True
) -> StateMirror:
    """The copy of a stage's state directory in a clone."""
    return StateMirror(state_of(root, stage), state_of_stage(store, stage), may_write)


def state_of(root: Path, stage: str) -> Path:
    """A stage's state directory in a clone."""
    return root / STATE / stage


def send(store: SharedStore, order: Order) -> None:
    """Write an order. From now on, who has an older one may not write."""
    place = of_stage(store, order.stage)
    place.write_json(ORDER, asdict(order))
    place.write(OWNER, order.token.encode())


def receive(store: SharedStore, stage: str, token: str) -> Order:
    """Read the order with a token.

    Raises:
        OrderRefused: there is a newer order.
    """
    content = of_stage(store, stage).read_json(ORDER)
    if content is None or content["token"] != token:
        raise OrderRefused(f"{stage}: the order {token} was replaced; nothing is to be done")
    return Order(**content)


def is_last(store: SharedStore, stage: str, token: str) -> bool:
    """Whether no newer order of the stage has replaced the one with this token."""
    return of_stage(store, stage).read(OWNER) == token.encode()


def send_report(store: SharedStore, stage: str, report: Report) -> bool:
    """Write the report of an order, unless a newer one has replaced it: that one's report may be there already.

    Returns:
        whether it was written.
    """
    if not is_last(store, stage, report.token):
        return False
    of_stage(store, stage).write_json(OUTCOME, asdict(report))
    return True


def report_of(store: SharedStore, stage: str) -> Report | None:
    """The last report of a stage, whatever order it belongs to."""
    content = of_stage(store, stage).read_json(OUTCOME)
    return None if content is None else Report(**content)


def commit(root: Path) -> str:
    """The commit of a clone, with a digest of the changes if tracked files differ. Without a commit, as in the images,
    a digest of the code."""
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=False)
    if head.returncode:
        files = sorted(path for name in ("components", "flows") for path in (root / name).rglob("*.py"))
        code = "".join(f"{path.relative_to(root)} {hashlib.sha256(path.read_bytes()).hexdigest()}\n" for path in files)
        return f"without a commit, code {hashlib.sha256(code.encode()).hexdigest()[:12]}"
    ours = ["--", ".", ":!params.yaml", ":!dvc.lock"]  # they travel with each order
    changes = subprocess.run(["git", "diff", "--binary", "HEAD", *ours], cwd=root, capture_output=True, check=True)
    digest = f"+{hashlib.sha256(changes.stdout).hexdigest()[:12]}" if changes.stdout else ""
    return head.stdout.strip() + digest


def lock_entries(root: Path) -> dict[str, Any]:
    """The entries of `dvc.lock` by stage."""
    with held(root / DVC_LOCK):
        return _lock_file(root)["stages"]


def _lock_file(root: Path) -> dict[str, Any]:
    """The content of `dvc.lock`, as DVC reads it: PyYAML takes its 3e-05 for a text."""
    from dvc.utils.serialize import load_yaml

    path = root / "dvc.lock"
    return (load_yaml(path) if path.exists() else None) or {"schema": "2.0", "stages": {}}


def add_to_lock(root: Path, entries: dict[str, Any]) -> None:
    """Write entries of stages into `dvc.lock`, in place of those that it has."""
    from dvc.utils.serialize import dump_yaml

    path = root / "dvc.lock"
    with held(root / DVC_LOCK):
        content = _lock_file(root)
        if all(content["stages"].get(name) == entry for name, entry in entries.items()):
            return
        content["stages"] |= entries
        partial = path.with_name(".dvc.lock.part")
        dump_yaml(partial, content)
        partial.replace(path)


def push(root: Path, store: SharedStore, stages: list[str], uncached: list[str]) -> None:
    """Bring outputs of stages into the store.

    Raises:
        InfrastructureFailed: DVC could not write them.
        StoreError: the store cannot be written.
    """
    if stages:
        _dvc(root, store, f"push-{stages[0]}", "push", *stages)
    for name in uncached:
        for path in _files(root / name):
            store.write(f"files/{path.relative_to(root)}", path.read_bytes())


def pull(root: Path, store: SharedStore, stages: list[str], uncached: list[str]) -> None:
    """Bring outputs of stages from the store into this clone.

    Raises:
        InfrastructureFailed: DVC could not read them, or would overwrite files that it does not know.
        StoreError: the store cannot be read.
    """
    names = store.child("files").names() if uncached else []
    for name in names:
        if any(name == output or name.startswith(f"{output}/") for output in uncached):
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
            partial.write_bytes(store.read(f"files/{name}") or b"")
            partial.replace(path)
    if stages:
        _dvc(root, store, f"pull-{stages[0]}", "pull", *stages)


def _files(path: Path) -> list[Path]:
    return [file for file in sorted(path.rglob("*")) if file.is_file()] if path.is_dir() else [path]


def _dvc(root: Path, store: SharedStore, name: str, command: str, *targets: str) -> None:
    """Call DVC with the store as its remote."""
    remote = [sys.executable, "-m", "dvc", "remote", "add", "--local", "--force", REMOTE, f"{store.url}/dvc"]
    transfer = [sys.executable, "-m", "dvc", "--wait-for-lock", command, "--remote", REMOTE, *targets]
    settings = root / ".dvc/config.local"
    with held(root / ".dvc/tmp/placement.lock"):
        if not settings.exists() or f"url = {store.url}/dvc\n" not in settings.read_text():
            _call(remote, f"remote-{name}", root)
    _call(transfer, name, root)


def _call(command: list[str], name: str, root: Path) -> None:
    """Run a command with a log of its own, which stays if the command fails: several stages may need the same outputs
    at the same time.

    Raises:
        InfrastructureFailed: it failed.
    """
    call = f"{name}-{uuid.uuid4().hex}"
    log = root / LOGS / f"{call}.log"
    code = process.call(command, name=call, log=log, root=root, environment={"DVC_NO_ANALYTICS": "1"})
    if code:
        tail = "\n".join(log.read_text(errors="replace").strip().splitlines()[-15:])
        raise InfrastructureFailed(f"`{' '.join(command[2:])}` failed with status {code}; log: {log}\n{tail}")
    log.unlink()
