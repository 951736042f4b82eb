"""What the pipeline flow refuses before any stage starts, and what it does without its store or its Prefect server."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterState, FlowRunFilterStateType
from prefect.client.schemas.objects import FlowRun, StateType
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.states import Crashed, Pending, Running
from pydantic import ValidationError

from components.params.placement import STORES, PlacementParams
from components.ports import free_port
from flows import process
from flows.crash_safe_dvc import InfrastructureFailed, StageFailed
from flows.graph import Stage
from flows.placement import handover
from flows.placement.pool import Pools, placement_of
from flows.placement.shared_store import SharedStore, StoreError
from tests.flows.prefect_server import Prefect

STAGES = {name: Stage(name, "", "true", (), ()) for name in ("collect_tasks", "train_sft", "train_rl@short")}


def test_the_first_pattern_that_matches_names_the_pool():
    placement = PlacementParams(store="/shared", pools={"train_rl@*": "large", "train_*": "gpu"})
    assert [placement.pool(stage) for stage in STAGES] == [None, "gpu", "large"]


def test_pools_without_a_store_are_refused():
    with pytest.raises(ValidationError, match=r"set placement\.store to a folder or bucket"):
        PlacementParams(pools={"train_*": "gpu"})


def test_a_relative_store_is_refused():
    with pytest.raises(ValidationError, match="is another folder on each machine: give an absolute path"):
        PlacementParams(store="shared", pools={"train_*": "gpu"})


def test_the_known_stores_are_those_that_dvc_and_fsspec_know_and_write():
    from dvc.config_schema import REMOTE_SCHEMAS
    from fsspec.registry import known_implementations

    read_only = {"http", "https"}
    assert {*STORES} == {*REMOTE_SCHEMAS} & {*known_implementations} - read_only


def test_a_recipe_without_placement_sends_nothing_away(tmp_path):
    assert not any(Pools(placement_of(tmp_path), STAGES, tmp_path).has(stage) for stage in STAGES)


def test_a_wrong_section_is_an_error_that_names_the_key(tmp_path):
    (tmp_path / "params.yaml").write_text("placement: {store: /shared, pool: {train_sft: gpu}}\n")
    with pytest.raises(StageFailed, match=r"(?s)params\.yaml, placement: .*pool\b.*Extra inputs are not permitted"):
        placement_of(tmp_path)


@pytest.mark.parametrize("pattern", ["train_rl", "trian_sft"])
def test_a_pattern_that_matches_no_stage_is_refused(tmp_path, pattern):
    placement = PlacementParams(store=str(tmp_path / "store"), pools={"train_sft": "gpu", pattern: "gpu"})
    with pytest.raises(StageFailed, match=rf"'{pattern}' matches no stage; there are .*train_rl@short"):
        Pools(placement, STAGES, tmp_path)


def test_pools_need_a_server_that_their_workers_can_reach(tmp_path, monkeypatch):
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    placement = PlacementParams(store=str(tmp_path / "store"), pools={"train_*": "gpu"})
    with pytest.raises(StageFailed, match=r"as in docs/how-to/use-several-machines\.md, and set PREFECT_API_URL"):
        Pools(placement, STAGES, tmp_path)


def test_a_store_that_cannot_be_written_stops_the_pipeline_at_once(tmp_path, monkeypatch):
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    (tmp_path / "file").write_text("no folder")
    placement = PlacementParams(store=str(tmp_path / "file"), pools={"train_*": "gpu"})
    with pytest.raises(StoreError, match=r"placement\.store: .*/pipeline\.json"), Pools(placement, STAGES, tmp_path):
        pass


def pools_of(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Pools:
    """Pools with a store, for a Prefect server that does not answer."""
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    (folder / "clone").mkdir()
    (folder / "clone/params.yaml").write_text("{}\n")
    placement = PlacementParams(store=str(folder / "store"), pools={"train_*": "gpu"}, lost_after_s=5)
    pools = Pools(placement, STAGES, folder / "clone")
    pools._deployments = {("gpu", False): uuid.uuid4()}
    return pools


def test_no_try_begins_with_a_recipe_that_was_replaced(tmp_path, monkeypatch):
    def refuse() -> None:
        raise StageFailed("params.yaml changed since this run began")

    pools = pools_of(tmp_path, monkeypatch)
    with pytest.raises(StageFailed, match="changed since this run began"):
        pools.run(STAGES["train_sft"], lambda progress: None, before_try=refuse)
    assert handover.report_of(pools._store, "train_sft") is None


@pytest.mark.slow
def test_a_prefect_server_that_stays_away_is_no_failure_of_the_stage(tmp_path, monkeypatch):
    pools = pools_of(tmp_path, monkeypatch)
    with (
        temporary_settings({PREFECT_API_URL: "http://127.0.0.1:9/api"}),
        pytest.raises(
            InfrastructureFailed, match=r"Prefect \(PREFECT_API_URL=http://127\.0\.0\.1:9/api\) was out of reach"
        ),
    ):
        pools.run(STAGES["train_sft"], lambda progress: None)


@pytest.mark.slow
def test_a_store_that_comes_back_in_time_gets_the_order(tmp_path, monkeypatch):
    pools = pools_of(tmp_path, monkeypatch)
    (tmp_path / "store").write_text("no folder")
    tries, send = [], handover.send

    def noted(store: SharedStore, order: handover.Order) -> None:
        tries.append(order.token)
        if len(tries) == 3:
            (tmp_path / "store").unlink()
        send(store, order)

    monkeypatch.setattr(handover, "send", noted)
    with (
        temporary_settings({PREFECT_API_URL: "http://127.0.0.1:9/api"}),
        pytest.raises(InfrastructureFailed, match=r"^Prefect "),  # it goes on to the next step
    ):
        pools.run(STAGES["train_sft"], lambda progress: None)
    assert len(tries) == 3
    assert handover.receive(pools._store, "train_sft", tries[0]).stage == "train_sft"


@pytest.mark.slow
def test_a_store_that_stays_away_is_no_failure_of_the_stage(tmp_path, monkeypatch):
    pools = pools_of(tmp_path, monkeypatch)
    (tmp_path / "store").write_text("no folder")
    with pytest.raises(InfrastructureFailed, match=r"the store was out of reach of train_sft for 5 s: .*/store/stages"):
        pools.run(STAGES["train_sft"], lambda progress: None)


def test_a_stop_ends_the_wait_for_a_store(tmp_path, monkeypatch):
    pools = pools_of(tmp_path, monkeypatch)
    (tmp_path / "store").write_text("no folder")
    process.stop_all()
    try:
        with pytest.raises(process.Stopped):
            pools.run(STAGES["train_sft"], lambda progress: None)
    finally:
        process.allow()


@pytest.fixture
def served(tmp_path, monkeypatch) -> Iterator[tuple[Pools, SyncPrefectClient]]:
    """Pools with a Prefect server of their own, which has the work pool `gpu`."""
    server = Prefect(tmp_path / "home", free_port())
    address = server.environment["PREFECT_API_URL"]
    monkeypatch.setenv("PREFECT_API_URL", address)
    placement = PlacementParams(store=str(tmp_path / "store"), pools={"train_*": "gpu"})
    with server.running("server", "start", "--host", "127.0.0.1", "--port", str(server.port)):
        server.wait_until_healthy()
        server.run("work-pool", "create", "gpu", "--type", "process")
        with (
            temporary_settings({PREFECT_API_URL: address}),
            Pools(placement, STAGES, tmp_path) as pools,
            get_client(sync_client=True) as client,
        ):
            yield pools, client


@pytest.mark.slow
def test_a_pool_runs_one_stage_of_rl_at_a_time(served):
    pools, client = served
    for is_rl, waiting in ((True, 1), (False, 2)):
        deployment = pools._deployments["gpu", is_rl]
        runs = [client.create_flow_run_from_deployment(deployment).id for _ in range(2)]
        for left in (waiting, waiting - 1 if is_rl else 1):
            ready = [found.flow_run.id for found in client.get_scheduled_flow_runs_for_work_pool("gpu")]
            assert len(ready) == left
            if ready:
                client.set_flow_run_state(ready[0], Pending())  # a worker takes it
        if is_rl:
            (first,) = set(runs) - {run.id for run in _unfinished(client, StateType.SCHEDULED)}
            client.set_flow_run_state(first, Crashed(), force=True)  # its machine was lost
            (second,) = client.get_scheduled_flow_runs_for_work_pool("gpu")
            client.set_flow_run_state(second.flow_run.id, Pending())


@pytest.mark.slow
def test_a_run_that_an_earlier_pipeline_left_holds_no_place(served, tmp_path):
    pools, client = served
    deployment = pools._deployments["gpu", True]
    for store in (str(tmp_path / "store"), "s3://another/store"):
        parameters = {"stage": "train_rl@short", "store": store, "token": store}
        run = client.create_flow_run_from_deployment(deployment, parameters=parameters)
        client.set_flow_run_state(run.id, Running(), force=True)
    pools._end_replaced(client, deployment, "train_rl@short")
    (left,) = _unfinished(client, StateType.RUNNING)
    assert left.parameters["store"] == "s3://another/store"


def _unfinished(client: SyncPrefectClient, state: StateType) -> list[FlowRun]:
    of_state = FlowRunFilterState(type=FlowRunFilterStateType(any_=[state]))
    return client.read_flow_runs(flow_run_filter=FlowRunFilter(state=of_state))
