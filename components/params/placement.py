"""The section `placement`: which machines run which stages."""

from __future__ import annotations

from difflib import get_close_matches
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from components.params.section import Section

STAGES = (
    "collect_tasks", "filter_tasks", "dedup_tasks", "teacher_rollouts", "label_trajectories", "curate_sft",
    "train_sft", "judge_rollouts", "distill_judge", "train_rl@short", "train_rl@long",
    "evaluate@base", "evaluate@sft", "evaluate@rl", "report",
)  # fmt: skip
"""The stages of a run in their order; a test compares them with dvc.yaml. `pretrain_base` is frozen."""
STORES = ("s3", "gs", "oss", "webdav", "gdrive", "ssh", "hdfs", "webhdfs")
"""Kinds of stores beside folders: those that DVC and fsspec know by the same name and write. A test compares them with
both."""


class PlacementParams(Section):
    """The machines that run the stages. The keys change no result, so no stage depends on them."""

    store: str | None = None
    """What all machines can read and write: a folder with the same absolute path on each, or a bucket such as
    `s3://bucket/folder` (its keys and endpoint come from the environment). Artifacts travel through it, and so does
    what a running stage has written, so that another machine can continue the stage. One run at a time uses a store."""
    pools: dict[str, str] = Field(default_factory=dict)
    """Prefect work pool by stage: `{"train_*": gpu, "evaluate@*": browsers}`. The first pattern that matches counts. A
    stage that no pattern matches runs on the machine of the pipeline's flow."""
    sync_s: float = Field(default=5.0, gt=0)
    """Seconds between two copies of a running stage's state to `store`: what a lost machine may have done in vain."""
    lost_after_s: float = Field(default=60.0, ge=5)
    """A machine whose stage gives no sign of life for this many seconds is lost, and another one continues the stage.
    It must be more than the longest time for which a machine or `store` may be out of reach."""

    @model_validator(mode="after")
    def _store_is_named(self) -> PlacementParams:
        if self.pools and not self.store:
            raise ValueError(
                "placement.pools sends stages to other machines: set placement.store to a folder or bucket that all of "
                "them can read and write"
            )
        return self

    @model_validator(mode="after")
    def _store_is_the_same_everywhere(self) -> PlacementParams:
        if self.store and "://" not in self.store and not self.store.startswith("/"):
            raise ValueError(
                f"placement.store = {self.store} is another folder on each machine: give an absolute path, or the "
                "address of a bucket"
            )
        return self

    @model_validator(mode="after")
    def _store_is_of_a_known_kind(self) -> PlacementParams:
        store = self.store or ""
        kind, is_address, place = store.partition("://")
        if not is_address:
            return self
        if kind == "file":
            raise ValueError(f"placement.store = {store}: write the folder alone, {urlsplit(store).path}")
        if kind not in STORES:
            others = ", ".join(f"{other}://" for other in STORES[1:])
            raise ValueError(
                f"placement.store = {self.store}: there is no store {kind}://: write s3://BUCKET/FOLDER or an absolute "
                f"path (or {others} with the packages that DVC and fsspec need for it)"
            )
        if not place.partition("/")[0]:
            raise ValueError(f"placement.store = {self.store} names no bucket or host: write {kind}://BUCKET/FOLDER")
        return self

    def unmatched(self) -> list[str]:
        """A sentence about each pattern that matches no stage of a run."""
        return [
            f"{pattern!r} matches no stage: {_fix(pattern)}"
            for pattern in self.pools
            if not any(fnmatchcase(stage, pattern) for stage in STAGES)
        ]

    def pool(self, stage: str) -> str | None:
        """The work pool that runs a stage; None: the machine of the pipeline's flow."""
        return next((pool for pattern, pool in self.pools.items() if fnmatchcase(stage, pattern)), None)


def _fix(pattern: str) -> str:
    """What to write in place of a pattern that matches no stage."""
    phases = f"{pattern}@*"
    if any(fnmatchcase(stage, phases) for stage in STAGES):
        return f"write {phases!r}, which is all of its parts"
    near = get_close_matches(pattern, [*STAGES, "train_rl@*", "evaluate@*"], n=1)
    return f"write {near[0]!r}" if near else f"there are {', '.join(STAGES)}"
