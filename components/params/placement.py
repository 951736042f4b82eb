"""The section `placement`: which machines run which stages."""

from __future__ import annotations

from fnmatch import fnmatchcase

from pydantic import Field, model_validator

from components.params.section import Section


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

    def pool(self, stage: str) -> str | None:
        """The work pool that runs a stage; None: the machine of the pipeline's flow."""
        return next((pool for pattern, pool in self.pools.items() if fnmatchcase(stage, pattern)), None)
