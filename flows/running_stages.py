"""Stages that run in a clone and are not the pipeline's own: those of workers, of a plain dvc, and of killed flows.

DVC refuses to compare the files of a stage that another process writes, so a pipeline looks for such stages before it
changes anything.
"""

from __future__ import annotations

from pathlib import Path

from flows import process
from flows.clone_lock import CloneInUse
from flows.crash_safe_dvc import repair, writers
from flows.placement import worker


def stages_of_workers(root: Path) -> dict[str, str]:
    """The stages that workers run in this clone at present, each with a sentence about its process.

    Ends stages whose flow was killed. Call it while no other pipeline can run in the clone, after
    `flows.crash_safe_dvc.repair`.

    Raises:
        CloneInUse: another process runs a stage here, such as `dvc repro`.
    """
    root = root.resolve()
    stages: dict[str, str] = {}
    for writer in writers(root):
        call = process.call_of(root, writer.pid)
        if call is None:
            raise CloneInUse(
                f"process {writer.pid} works in {root} (`{writer.command}`): wait for it, or end it with Ctrl-C in its "
                "terminal"
            )
        try:
            process.end_abandoned(root, call)
        except process.Busy as error:
            if not worker.carries_out(root, call):
                raise CloneInUse(str(error)) from error
            stages[call] = str(error)
    return stages


def require_none(root: Path) -> None:
    """Repair DVC's files, and refuse to go on while a stage runs in this clone. Stages whose flow was killed are ended.

    Raises:
        CloneInUse: a stage runs here.
    """
    repair(root)
    if stages := stages_of_workers(root):
        raise CloneInUse(f"workers run stages in {root.resolve()}: {'; '.join(stages.values())}")
