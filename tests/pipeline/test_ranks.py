"""Two real processes under the launcher: it ends as the process that ended the training."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest
import yaml
from torch.distributed.elastic.multiprocessing.errors import ProcessFailure

from components.pipeline.launch import launcher
from components.pipeline.ranks import ending_signal
from flows.crash_safe_dvc import InfrastructureFailed, repro
from tests.flows.conftest import make_project

CHILD = "tests.pipeline.ending_rank"


@pytest.mark.slow
@pytest.mark.parametrize(("ending", "status"), [("killed", 137), ("noticed", 137), ("fails", 1)])
def test_the_launcher_ends_as_the_process_that_ended_first(tmp_path, ending, status):
    """A process that was killed counts, even if another one noticed the loss and failed of it."""
    command = launcher(2, CHILD, ending, str(tmp_path / "mark"))
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == status, done.stderr[-3000:]
    assert ("signal 9 ended a process of the training" in done.stderr) == (status == 137)


@pytest.mark.parametrize(
    ("endings", "ended_by"),
    [
        ([(-9, 0), (-15, 0)], 9),
        ([(1, 0), (-9, 0)], 9),
        ([(-15, 0), (-15, 0)], 15),
        ([(1, 0), (-15, 1)], None),
        ([(1, 0), (-9, 30)], None),
    ],
)
def test_signals_of_the_launcher_itself_do_not_count(endings, ended_by):
    """It sends SIGTERM to the others once one has failed, and SIGKILL after 30 s. Exit codes, and seconds."""
    failures = []
    for rank, (code, seconds) in enumerate(endings):
        failure = ProcessFailure(rank, 1, code, "")
        failure.timestamp = seconds
        failures.append(failure)
    assert ending_signal(failures) == ended_by


@pytest.mark.slow
def test_a_launcher_that_gets_a_signal_names_it_and_ends_its_ranks(tmp_path):
    mark = tmp_path / "mark"
    process = subprocess.Popen(launcher(2, CHILD, "waits", str(mark)), stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not mark.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    ranks = psutil.Process(process.pid).children(recursive=True)
    process.terminate()
    assert process.wait(60) == 128 + signal.SIGTERM
    assert not psutil.wait_procs(ranks, timeout=10)[1]


@pytest.mark.slow
def test_a_stage_with_a_killed_rank_is_a_machine_failure(tmp_path: Path):
    project = make_project(tmp_path / "project")
    stages = yaml.safe_load((project / "dvc.yaml").read_text())
    command = launcher(2, CHILD, "killed", str(tmp_path / "mark"))
    stages["stages"]["collect"]["cmd"] = f"PYTHONPATH={os.getcwd()} {shlex.join(command)}"
    (project / "dvc.yaml").write_text(yaml.safe_dump(stages))
    with pytest.raises(InfrastructureFailed, match=r"was killed \(status 137\)"):
        repro("collect", project)
