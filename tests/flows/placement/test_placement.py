"""A pipeline whose stage runs on other machines: three clones, two workers, a Prefect server and a bucket, all real."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest
import yaml

from components.ports import free_port
from flows.crash_safe_dvc import repro
from flows.placement import handover
from flows.placement.shared_store import SharedStore
from tests.flows.placement.clones import journal, make_clones
from tests.flows.prefect_server import Prefect
from tests.postgres import postgres

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]


@pytest.fixture
def prefect(tmp_path: Path, bucket: str, request: pytest.FixtureRequest) -> Iterator[Prefect]:
    """A server whose database is a SQLite file or PostgreSQL."""
    server = Prefect(tmp_path / "home", free_port())
    with ExitStack() as stack:
        if request.param == "postgres":
            address = stack.enter_context(postgres("prefect"))
            server.environment["PREFECT_SERVER_DATABASE_CONNECTION_URL"] = f"postgresql+asyncpg://{address}/prefect"
        stack.enter_context(server.running("server", "start", "--host", "127.0.0.1", "--port", str(server.port)))
        server.wait_until_healthy()
        server.run("work-pool", "create", "gpu", "--type", "process")
        yield server


def pipeline(prefect: Prefect, clone: Path) -> subprocess.Popen[bytes]:
    """Start the pipeline flow in a clone; its output goes to `flow.log` beside it."""
    code = "from flows.pipeline import pipeline; print(pipeline())"
    command = [sys.executable, "-c", code]
    with clone.with_name("flow.log").open("wb") as log:
        return subprocess.Popen(command, cwd=clone, env=prefect.environment, stdout=log, stderr=log)


def processes_of(clone: Path) -> list[psutil.Process]:
    """All processes of the worker in a clone: the worker, its flow run, DVC and the stage."""
    chosen = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("WAYMARK_PROJECT") == str(clone):
                chosen.append(process)
        except psutil.Error:
            continue
    return chosen


def copied_bytes(bucket: str) -> int:
    """The size of the journal of `train` as far as the store has it."""
    listed = handover.state_of_stage(SharedStore(bucket), "train").read_json("files.json") or {"files": {}}
    return sum(file["size"] for file in listed["files"].values())


def wait_for(is_so: Callable[[], bool], flow: subprocess.Popen[bytes], seconds: float = 150.0) -> None:
    """Wait until something is so, while the pipeline runs."""
    ends = time.monotonic() + seconds
    while not is_so():
        assert flow.poll() is None, "the pipeline has ended"
        assert time.monotonic() < ends, "it takes too long"
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("is_killed", "prefect"),
    [(True, "sqlite"), pytest.param(False, "postgres", marks=pytest.mark.exhaustive)],
    ids=["killed", "frozen for a while"],
    indirect=["prefect"],
)
def test_a_lost_machine_is_replaced_and_nothing_is_done_twice(prefect, bucket, tmp_path, is_killed):
    leader, *others = make_clones(tmp_path, bucket, 3)
    if is_killed:
        text = (leader / "params.yaml").read_text()
        (leader / "params.yaml").write_text(text.replace("gpu", "gpus"))
        assert pipeline(prefect, leader).wait(150) != 0
        assert "does not exist: prefect work-pool create gpus --type process" in (tmp_path / "flow.log").read_text()
        assert not (leader / "data/collect.txt").exists()
        (leader / "params.yaml").write_text(text)
    with ExitStack() as stack:
        for clone in others:
            stack.enter_context(prefect.running("worker", "start", "--pool", "gpu", WAYMARK_PROJECT=str(clone)))
            stack.callback(lambda clone=clone: [process.kill() for process in processes_of(clone)])
        flow = stack.enter_context(pipeline(prefect, leader))
        wait_for(lambda: copied_bytes(bucket) > 1000, flow)  # about ten steps
        (victim,) = [clone for clone in others if journal(clone)]
        (other,) = [clone for clone in others if clone != victim]
        struck, struck_processes = time.monotonic(), processes_of(victim)
        for process in struck_processes:
            process.kill() if is_killed else process.suspend()
        wait_for(lambda: any(line["clone"] == str(other) for line in journal(other)), flow)
        noticed = time.monotonic() - struck
        for process in [] if is_killed else struck_processes:
            process.resume()
        flow.wait(timeout=200)
        if not is_killed:
            length = len(journal(victim))
            assert length < 60, "the machine that was replaced has gone on"
    output = (tmp_path / "flow.log").read_text()
    assert flow.returncode == 0, output
    assert "{'collect': 'ran', 'train': 'ran', 'report': 'ran'}" in output
    assert noticed < 120
    lines = journal(other)
    assert [line["step"] for line in lines] == list(range(60))
    by_victim = [line for line in lines if line["clone"] == str(victim)]
    assert {line["try"] for line in lines} == {0, len(by_victim)}
    assert len(by_victim) >= 5, "what was copied to the store is not taken over"
    text = 'collected+collect+{"steps": 1}+train+{"steps": 60}+report\n'
    assert (leader / "reports/report.txt").read_text() == text
    alone = make_clones(tmp_path / "alone", bucket, 1)[0]
    for stage in ("collect", "train", "report"):
        repro(stage, alone)
    assert yaml.safe_load((leader / "dvc.lock").read_text()) == yaml.safe_load((alone / "dvc.lock").read_text())


@pytest.mark.exhaustive
@pytest.mark.parametrize("prefect", ["sqlite"], indirect=True)
def test_a_pipeline_that_was_killed_goes_on_beside_its_clones_worker(prefect, bucket, tmp_path):
    clone = make_clones(tmp_path, bucket, 1)[0]
    (clone / "stage.py").write_text((clone / "stage.py").read_text().replace("sleep(0.2)", "sleep(1)"))
    with ExitStack() as stack:
        worker = prefect.running("worker", "start", "--pool", "gpu", "--limit", "1", WAYMARK_PROJECT=str(clone))
        stack.enter_context(worker)
        stack.callback(lambda: [process.kill() for process in processes_of(clone)])
        killed = stack.enter_context(pipeline(prefect, clone))
        wait_for(lambda: len(journal(clone)) > 5, killed)
        killed.kill()
        killed.wait()
        restarted = stack.enter_context(pipeline(prefect, clone))
        restarted.wait(timeout=200)
    output = (tmp_path / "flow.log").read_text()
    assert "{'collect': 'up to date', 'train': 'ran', 'report': 'ran'}" in output, output
    lines = journal(clone)
    assert [line["step"] for line in lines] == list(range(60))
    first, second = sorted({line["try"] for line in lines})
    assert first == 0 < second, "the stage that ran was not replaced"
