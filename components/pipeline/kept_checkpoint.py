"""The checkpoint of a training that has finished, kept until DVC has recorded what the stage made.

DVC hashes and copies the outputs of a stage after the stage's process has ended. If DVC is killed meanwhile, it deletes
these outputs and runs the stage again, which then goes on from the checkpoint and trains nothing anew.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import yaml

from components import store

_NOTE = "unrecorded.json"
"""The file in a stage's state with the name of the checkpoint, and with the path and the MD5 of the stage's result."""
_LOCK = Path("dvc.lock")


def end(state: Path, checkpoint: Path, result: Path) -> None:
    """Keep the checkpoint of a stage that ends until DVC has recorded the stage's result, which is another one after
    each try because of its times. If DVC has not started the stage, it will not record it: the checkpoint is deleted.
    """
    note = state / _NOTE
    if "DVC_STAGE" in os.environ:
        digest = hashlib.md5(result.read_bytes(), usedforsecurity=False).hexdigest()
        store.write_json(note, {"checkpoint": checkpoint.name, "result": str(result), "md5": digest})
    else:
        checkpoint.unlink(missing_ok=True)
        note.unlink(missing_ok=True)


def is_kept(state: Path) -> bool:
    """Whether the state of a finished stage has a checkpoint that is still needed."""
    return (state / _NOTE).exists()


def delete_recorded() -> None:
    """Delete the checkpoints of all stages whose results DVC has recorded."""
    notes = sorted((store.STATE / "state").glob(f"*/*/{_NOTE}"))
    recorded = _recorded() if notes else set()
    for path in notes:
        note = store.read_json(path)
        if (note["result"], note["md5"]) in recorded and not store.is_locked(path.with_name("lock")):
            path.with_name(note["checkpoint"]).unlink(missing_ok=True)
            path.unlink(missing_ok=True)


def _recorded() -> set[tuple[str, str]]:
    """Paths and MD5s of all outputs in dvc.lock; none if it is damaged, or just being written."""
    try:
        stages = yaml.safe_load(_LOCK.read_text(encoding="utf-8"))["stages"]
        return {(out["path"], out.get("md5", "")) for stage in stages.values() for out in stage.get("outs", [])}
    except (FileNotFoundError, yaml.YAMLError, TypeError, KeyError, AttributeError):
        return set()
