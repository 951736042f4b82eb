"""The pipeline flow's side: a stage as a deployment run in a work pool, started, watched and started again."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import httpx
import yaml
from prefect import runtime
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.objects import FlowRun
from prefect.exceptions import ObjectNotFound
from prefect.states import Cancelling, Crashed
from pydantic import ValidationError

from components.params.placement import PlacementParams
from flows import process
from flows.artifacts import Progress
from flows.crash_safe_dvc import Outcome, StageFailed, keep_good_lock
from flows.graph import Stage
from flows.placement import handover, inputs
from flows.placement.handover import Order
from flows.placement.shared_store import SharedStore, StoreError
from flows.placement.worker import run_order

ATTEMPTS = 3
"""A stage whose machine was lost, or could not run it, is started this many times in all."""
POLL_S = 1.0
PAUSE_S = 20.0
"""Before the second try of a stage that a machine could not run; twice as long before the third."""
START_S = 180.0
"""A flow run that a worker has taken gives its first sign of life within this time, or its machine is lost."""
NO_WORKER_S = 20.0
"""After this long without a worker, the progress names the command that starts one."""


class MachineLost(RuntimeError):
    """The machine that ran a stage gives no sign of life, or its flow run crashed."""


def placement_of(root: Path) -> PlacementParams:
    """The section `placement` of the recipe in use; its defaults where there is none.

    Raises:
        StageFailed: the section is wrong; the message names the key.
    """
    path = root / "params.yaml"
    section = ((yaml.safe_load(path.read_text()) or {}).get("placement") if path.exists() else None) or {}
    try:
        return PlacementParams.model_validate(section)
    except ValidationError as error:
        raise StageFailed(f"params.yaml, placement: {error}") from error


class Pools:
    """Runs stages in work pools."""

    def __init__(self, placement: PlacementParams, stages: dict[str, Stage], root: Path) -> None:
        """
        Args:
            placement: which pool runs which stage.
            stages: all stages.
            root: this clone.

        Raises:
            StageFailed: a pool does not exist, or no Prefect server is named that its workers could reach.
            StoreError: the shared store cannot be written.
        """
        self._placement, self._stages, self._root = placement, stages, root
        self._of = {name: pool for name in stages if (pool := placement.pool(name))}
        if not self._of or placement.store is None:
            return
        if not os.environ.get("PREFECT_API_URL"):
            raise StageFailed(
                "placement.pools sends stages to workers, which need a Prefect server: start one (`make ui`) and set "
                "PREFECT_API_URL here and where the workers run"
            )
        self._store = SharedStore(placement.store)
        self._store.write_json("pipeline.json", {"started": time.time(), "commit": handover.commit(root)})
        with get_client(sync_client=True) as client:
            self._deployments = {pool: _deployment(client, pool) for pool in sorted({*self._of.values()})}

    def has(self, stage: str) -> bool:
        """Whether a stage runs in a pool."""
        return stage in self._of

    def run(self, stage: Stage, on_progress: Callable[[Progress], None]) -> Outcome:
        """Run a stage in its pool, and take its outputs over.

        Raises:
            StageFailed: the stage failed, was cancelled in Prefect, or its machine was lost `ATTEMPTS` times.
            InfrastructureFailed, StoreError: what it needs, or what it made, could not be moved.
            process.Stopped: this flow was stopped.
        """
        handover.push(self._root, self._store, list(stage.needs), self._needed_files(stage))
        reasons = []
        for _ in range(ATTEMPTS):
            try:
                report = self._tried(stage, on_progress)
            except MachineLost as error:
                reasons.append(str(error))
                on_progress(Progress(0, 0, f"started again: {error}"))
                continue
            if report.is_stages_own:
                raise StageFailed(f"in the pool {self._of[stage.name]}: {report.error}")
            if report.error:
                reasons.append(report.error)
                on_progress(Progress(0, 0, f"tried again soon: {report.error}"))
                _pause(len(reasons) * PAUSE_S)
                continue
            handover.add_to_lock(self._root, {stage.name: report.entry})
            handover.pull(self._root, self._store, [stage.name], list(stage.uncached))
            keep_good_lock(self._root)
            return Outcome(report.outcome)
        raise StageFailed(
            f"{stage.name}: the pool {self._of[stage.name]} failed {ATTEMPTS} times; run the pipeline again to "
            f"continue: {'; '.join(reasons)}"
        )

    def _needed_files(self, stage: Stage) -> list[str]:
        return sorted({file for need in stage.needs for file in self._stages[need].uncached})

    def _tried(self, stage: Stage, on_progress: Callable[[Progress], None]) -> handover.Report:
        pool = self._of[stage.name]
        params = (self._root / "params.yaml").read_text()
        order = Order(
            token=uuid.uuid4().hex,
            stage=stage.name,
            needs=list(stage.needs),
            needed_files=self._needed_files(stage),
            own_files=list(stage.uncached),
            commit=handover.commit(self._root),
            params=params,
            lock=handover.lock_entries(self._root),
            sync_s=self._placement.sync_s,
            lost_after_s=self._placement.lost_after_s,
            inputs=inputs.untracked(self._root, yaml.safe_load(params), stage.params),
        )
        handover.send(self._store, order)
        with get_client(sync_client=True) as client:
            run = client.create_flow_run_from_deployment(
                self._deployments[pool],
                parameters={"stage": stage.name, "store": self._store.url, "token": order.token},
                idempotency_key=order.token,
                parent_task_run_id=uuid.UUID(runtime.task_run.id) if runtime.task_run.id else None,
            )
            try:
                return self._watched(client, run, order, pool, on_progress)
            except process.Stopped:
                client.set_flow_run_state(run.id, Cancelling())
                raise
            except MachineLost as error:
                client.set_flow_run_state(run.id, Crashed(message=str(error)), force=True)
                raise

    def _watched(
        self, client: SyncPrefectClient, run: FlowRun, order: Order, pool: str, on_progress: Callable[[Progress], None]
    ) -> handover.Report:
        """Wait for the report of an order."""
        place = handover.of_stage(self._store, order.stage)
        created = changed = heard = waiting = time.monotonic()
        count, began = None, False
        state, beat = run.state, {}
        while True:
            if process.stopping():
                raise process.Stopped(f"{order.stage}: stopped with the flow")
            now = time.monotonic()
            try:
                report = handover.report_of(self._store, order.stage)
                if report is not None and report.token == order.token:
                    return report
                state, beat = client.read_flow_run(run.id).state, place.read_json(handover.BEAT) or {}
                heard = now
            except (StoreError, httpx.HTTPError):
                if now - heard > order.lost_after_s:
                    raise
            if beat.get("token") == order.token and beat["count"] != count:
                count, changed, began = beat["count"], now, True
                if beat["progress"]:
                    on_progress(Progress(**beat["progress"]))
            if state is not None and state.is_scheduled():
                waiting = now
            if state is not None and state.is_cancelled():
                raise StageFailed(f"{order.stage}: its run {run.name} in the pool {pool} was cancelled")
            reason = None
            if state is not None and state.is_final() and now - changed > POLL_S * 3:
                reason = f"its flow run {run.name} ended without a report: {state.message or state.name}"
            elif began and now - changed > order.lost_after_s:
                reason = f"no sign of life for {order.lost_after_s:.0f} s from the worker of {run.name}"
            elif not began and now - waiting > START_S:
                reason = f"the worker that took {run.name} gave no sign of life for {START_S:.0f} s"
            if reason is not None:
                report = handover.report_of(self._store, order.stage)  # it may have come while Prefect was asked
                if report is not None and report.token == order.token:
                    return report
                raise MachineLost(reason)
            if not began and now - created > NO_WORKER_S:
                on_progress(Progress(0, 0, f"waits for a worker: prefect worker start --pool {pool}"))
            time.sleep(POLL_S)


def _pause(seconds: float) -> None:
    ends = time.monotonic() + seconds
    while time.monotonic() < ends and not process.stopping():
        time.sleep(0.2)


def _deployment(client: SyncPrefectClient, pool: str) -> uuid.UUID:
    """The deployment `stage/POOL`, made or brought up to date."""
    try:
        client.read_work_pool(pool)
    except ObjectNotFound as error:
        raise StageFailed(
            f"placement.pools names the work pool {pool}, which does not exist: "
            f"prefect work-pool create {pool} --type process"
        ) from error
    return client.create_deployment(
        flow_id=client.create_flow(run_order),
        name=pool,
        entrypoint=f"{run_order.__module__}.run_order",
        work_pool_name=pool,
        tags=["waymark"],
        description=f"one stage of a pipeline, on a machine of the pool {pool}",
        parameter_openapi_schema=None,
        enforce_parameter_schema=False,
    )
