"""The pipeline flow's side: a stage as a deployment run in a work pool, started, watched and started again."""

from __future__ import annotations

import contextlib
import os
import time
import uuid
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TypeVar

import httpx
import yaml
from prefect import runtime
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import (
    DeploymentFilter,
    DeploymentFilterId,
    FlowRunFilter,
    FlowRunFilterState,
    FlowRunFilterStateType,
)
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.exceptions import ObjectNotFound
from prefect.states import Cancelling, Crashed
from pydantic import ValidationError

from components.params.placement import PlacementParams
from flows import process
from flows.artifacts import Progress
from flows.crash_safe_dvc import InfrastructureFailed, Outcome, StageFailed, keep_good_lock
from flows.graph import Stage
from flows.placement import handover, inputs
from flows.placement.claim import StoreClaim
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
"""After this long without a free worker, the progress says so, and names the command that starts one."""
ALONE = "train_rl@*"
"""Of these stages a pool runs one at a time: RL fills its machine, and may have servers that others would take."""
QUEUE = "rl"
"""Their work queue, whose limit counts runs. A limit of the deployment would lease a place to each run instead, and
Prefect ends a run whose lease is unknown to a server that was started again."""
UNFINISHED = {StateType.SCHEDULED, StateType.PENDING, StateType.RUNNING, StateType.PAUSED, StateType.CANCELLING}

T = TypeVar("T")


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
    """Runs stages in work pools, as a context in which no other pipeline may use the store."""

    def __init__(self, placement: PlacementParams, stages: dict[str, Stage], root: Path) -> None:
        """
        Args:
            placement: which pool runs which stage.
            stages: all stages.
            root: this clone.

        Raises:
            StageFailed: no Prefect server is named that the workers could reach, or a pattern matches no stage.
            StoreError: the address of the shared store is wrong.
        """
        self._placement, self._stages, self._root = placement, stages, root
        for pattern in placement.pools:
            if not any(fnmatchcase(name, pattern) for name in stages):
                raise StageFailed(
                    f"placement.pools: {pattern!r} matches no stage; there are {', '.join(stages)} (`train_rl@*` is "
                    "both phases of RL)"
                )
        self._of = {name: pool for name in stages if (pool := placement.pool(name))}
        self._claim: StoreClaim | None = None
        if not self._of or placement.store is None:
            return
        if not os.environ.get("PREFECT_API_URL"):
            raise StageFailed(
                "placement.pools sends stages to workers, which need a Prefect server that they reach: start one as in "
                "docs/how-to/use-several-machines.md, and set PREFECT_API_URL here and where the workers run"
            )
        self._store = SharedStore(placement.store)
        self._claim = StoreClaim(self._store, root)

    def __enter__(self) -> Pools:
        """Claim the store, and make the deployments.

        Raises:
            StageFailed: a pool does not exist, or another pipeline uses the store.
            StoreError: the shared store cannot be written.
        """
        if self._claim is None:
            return self
        self._claim.__enter__()
        try:
            with get_client(sync_client=True) as client:
                kinds = sorted({(pool, fnmatchcase(name, ALONE)) for name, pool in self._of.items()})
                self._deployments = {kind: _deployment(client, *kind) for kind in kinds}
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._claim is not None:
            self._claim.__exit__()

    def has(self, stage: str) -> bool:
        """Whether a stage runs in a pool."""
        return stage in self._of

    def run(
        self, stage: Stage, on_progress: Callable[[Progress], None], before_try: Callable[[], None] = lambda: None
    ) -> Outcome:
        """Run a stage in its pool, and take its outputs over.

        Args:
            before_try: is called before each try, and may refuse it.

        Raises:
            StageFailed: the stage failed, was cancelled in Prefect, or its machine was lost `ATTEMPTS` times.
            InfrastructureFailed: what it needs, or what it made, could not be moved, or the store or Prefect was out of
                reach for `placement.lost_after_s` seconds.
            process.Stopped: this flow was stopped.
        """
        self._retried(
            lambda: handover.push(self._root, self._store, list(stage.needs), self._needed_files(stage)), stage.name
        )
        reasons = []
        for _ in range(ATTEMPTS):
            before_try()
            self._require_store()
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
            # Another worker would go on from a copy that stays, after a later change.
            self._retried(lambda: handover.state_mirror(self._store, stage.name, self._root).clear(), stage.name)
            handover.add_to_lock(self._root, {stage.name: report.entry})
            self._retried(
                lambda: handover.pull(self._root, self._store, [stage.name], list(stage.uncached)), stage.name
            )
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
            inputs=inputs.untracked(self._root, yaml.safe_load(params), stage.params, stage.reads),
        )
        deployment = self._deployments[pool, fnmatchcase(stage.name, ALONE)]
        self._retried(lambda: handover.send(self._store, order), stage.name)
        with get_client(sync_client=True) as client:
            self._retried(lambda: self._end_replaced(client, deployment, stage.name), stage.name)
            run = self._retried(
                lambda: client.create_flow_run_from_deployment(
                    deployment,
                    parameters={"stage": stage.name, "store": self._store.url, "token": order.token},
                    idempotency_key=order.token,
                    parent_task_run_id=uuid.UUID(runtime.task_run.id) if runtime.task_run.id else None,
                ),
                stage.name,
            )
            try:
                return self._watched(client, run, order, pool, on_progress)
            except MachineLost as error:
                crashed: State[None] = Crashed(message=str(error))
                self._retried(lambda: client.set_flow_run_state(run.id, crashed, force=True), stage.name)
                raise
            except (process.Stopped, StageFailed, InfrastructureFailed):
                with contextlib.suppress(httpx.HTTPError):  # its machine sees that its order is not wanted, or ends it
                    state = client.read_flow_run(run.id).state
                    if state is None or not state.is_final():
                        client.set_flow_run_state(run.id, Cancelling())
                raise

    def _end_replaced(self, client: SyncPrefectClient, deployment: uuid.UUID, stage: str) -> None:
        """Record unfinished runs of a stage that an earlier pipeline left as crashed. Nothing waits for them, a worker
        that has one sees that its order is replaced, and they would hold RL's place in the pool."""
        unfinished = FlowRunFilter(state=FlowRunFilterState(type=FlowRunFilterStateType(any_=list(UNFINISHED))))
        of_deployment = DeploymentFilter(id=DeploymentFilterId(any_=[deployment]))
        for run in client.read_flow_runs(flow_run_filter=unfinished, deployment_filter=of_deployment):
            if (run.parameters.get("store"), run.parameters.get("stage")) == (self._store.url, stage):
                crashed: State[None] = Crashed(message="a later run of the pipeline replaces it")
                client.set_flow_run_state(run.id, crashed, force=True)

    def _require_store(self) -> None:
        if self._claim is not None:
            self._claim.require()

    def _retried(self, action: Callable[[], T], stage: str) -> T:
        """The result of an action that uses the store or Prefect. While they are out of reach, it is tried again.

        Raises:
            InfrastructureFailed: they were out of reach for `placement.lost_after_s` seconds, or Prefect refuses.
            process.Stopped: this flow was stopped.
        """
        ends = time.monotonic() + self._placement.lost_after_s
        while True:
            try:
                return action()
            except (StoreError, httpx.HTTPError) as error:
                if process.stopping():
                    raise process.Stopped(f"{stage}: stopped with the flow") from error
                if time.monotonic() > ends or _is_refusal(error):
                    raise self._out_of_reach(error, stage) from error
                time.sleep(POLL_S)

    def _out_of_reach(self, error: Exception, stage: str) -> InfrastructureFailed:
        name = "the store" if isinstance(error, StoreError) else f"Prefect (PREFECT_API_URL={_server()})"
        seconds = self._placement.lost_after_s
        reason = f"refuses {stage}" if _is_refusal(error) else f"was out of reach of {stage} for {seconds:.0f} s"
        return InfrastructureFailed(
            f"{name} {reason}: {type(error).__name__}: {error}; bring it back and run the pipeline again"
        )

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
            self._require_store()
            now = time.monotonic()
            try:
                report = handover.report_of(self._store, order.stage)
                if report is not None and report.token == order.token:
                    return report
                state, beat = client.read_flow_run(run.id).state, place.read_json(handover.BEAT) or {}
                heard = now
            except (StoreError, httpx.HTTPError) as error:
                if now - heard > order.lost_after_s:
                    raise self._out_of_reach(error, order.stage) from error
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
                # it may have come while Prefect was asked
                report = self._retried(lambda: handover.report_of(self._store, order.stage), order.stage)
                if report is not None and report.token == order.token:
                    return report
                raise MachineLost(reason)
            if not began and now - created > NO_WORKER_S:
                queue = ", or for the end of another phase of RL there" if fnmatchcase(order.stage, ALONE) else ""
                start = f"prefect worker start --pool {pool} starts one"
                on_progress(Progress(0, 0, f"waits for a free worker of the pool {pool}{queue} ({start})"))
            time.sleep(POLL_S)


def _pause(seconds: float) -> None:
    ends = time.monotonic() + seconds
    while time.monotonic() < ends and not process.stopping():
        time.sleep(0.2)


def _server() -> str:
    """The address of the Prefect server without a password."""
    address = httpx.URL(os.environ.get("PREFECT_API_URL", ""))
    return str(address.copy_with(username=None, password=None))


def _is_refusal(error: Exception) -> bool:
    """Whether Prefect has answered that the request is wrong, which it would answer again."""
    return isinstance(error, httpx.HTTPStatusError) and error.response.status_code in (400, 401, 403, 404, 405, 422)


def _deployment(client: SyncPrefectClient, pool: str, is_alone: bool) -> uuid.UUID:
    """The deployment `stage/POOL`, or `stage/POOL-rl` for stages of which one runs at a time, made or brought up to
    date."""
    try:
        client.read_work_pool(pool)
    except ObjectNotFound as error:
        raise StageFailed(
            f"placement.pools names the work pool {pool}, which does not exist: "
            f"prefect work-pool create {pool} --type process"
        ) from error
    if is_alone:
        try:
            client.read_work_queue_by_name(QUEUE, work_pool_name=pool)
        except ObjectNotFound:
            client.create_work_queue(QUEUE, concurrency_limit=1, work_pool_name=pool)
    return client.create_deployment(
        flow_id=client.create_flow(run_order),
        name=f"{pool}-rl" if is_alone else pool,
        entrypoint=f"{run_order.__module__}.run_order",
        work_pool_name=pool,
        work_queue_name=QUEUE if is_alone else None,
        tags=["waymark"],
        description=f"one stage of a pipeline, on a machine of the pool {pool}",
        parameter_openapi_schema=None,
        enforce_parameter_schema=False,
    )
