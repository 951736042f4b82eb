"""After any SIGKILL the next call continues and the results are right. The tests use real DVC and real kills."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from flows import crash_safe_dvc, process
from flows.crash_safe_dvc import GOOD_LOCK, InfrastructureFailed, Outcome, StageFailed, repair, repro
from tests.flows.conftest import FINAL, ORDER, make_project, ran

pytestmark = pytest.mark.slow  # each runs DVC several times


def run_all(root: Path) -> list[Outcome]:
    return [repro(stage, root) for stage in ORDER]


@pytest.mark.slow
def test_every_stage_runs_once_and_a_second_call_runs_none(project: Path) -> None:
    assert run_all(project) == [Outcome.RAN] * 4
    assert run_all(project) == [Outcome.UP_TO_DATE] * 4
    assert ran(project) == ORDER
    assert (project / "reports/report.txt").read_text() == FINAL


def test_a_damaged_rwlock_is_removed(project: Path) -> None:
    repro("collect", project)
    rwlock = project / ".dvc/tmp/rwlock"
    damaged = ["", '{"write": {"/a": {"pid"', '{"write": []}', '{"read": {"/a": [{"pid": 1}]}}', "null", "\x00" * 64]
    for text in damaged:
        rwlock.write_text(text)
        assert repair(project) == ["rwlock was damaged: removed"], text
        assert not rwlock.exists(), text
    assert repro("train@left", project) == Outcome.RAN


def test_an_rwlock_entry_of_a_dead_process_with_a_reused_pid_is_dropped(project: Path) -> None:
    """DVC itself would say that the file is busy, for as long as the other process lives."""
    repro("collect", project)
    entry = {"pid": os.getpid(), "cmd": "dvc repro --single-item collect"}
    (project / ".dvc/tmp/rwlock").write_text(json.dumps({"write": {str(project / "data/collect.txt"): entry}}))
    assert repro("train@left", project) == Outcome.RAN


def test_an_rwlock_entry_of_a_living_dvc_stays(project: Path) -> None:
    program = "import time; time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", program, "dvc", "repro", "other"]) as child:
        text = json.dumps({"write": {"/x": {"pid": child.pid, "cmd": "dvc repro other"}}, "read": {}})
        path = project / ".dvc/tmp/rwlock"
        path.write_text(text)
        while len(psutil.Process(child.pid).cmdline()) < 6:  # the program is in place only after the exec
            time.sleep(0.01)
        assert repair(project) == []
        assert path.read_text() == text
        child.kill()


def test_a_cut_off_dvc_lock_is_restored_and_nothing_runs_again(finished: Path) -> None:
    lock = finished / "dvc.lock"
    whole = lock.read_bytes()
    for share in (0.0, 0.1, 0.35, 0.6, 0.99):
        lock.write_bytes(whole[: int(len(whole) * share)].rstrip(b"\n"))
        assert repair(finished) == ["dvc.lock was damaged: restored from the copy of the last stage"], share
        assert lock.read_bytes() == whole, share
    assert run_all(finished) == [Outcome.UP_TO_DATE] * 4


def test_a_dvc_lock_that_ends_between_its_entries_is_restored(finished: Path) -> None:
    lock = finished / "dvc.lock"
    whole = lock.read_text()
    assert (finished / GOOD_LOCK).read_text() == whole
    lines = whole.splitlines(keepends=True)
    for count in range(1, len(lines)):
        lock.write_text("".join(lines[:count]))
        assert repair(finished) == ["dvc.lock was damaged: restored from the copy of the last stage"], count
        assert lock.read_text() == whole


def test_without_a_copy_a_damaged_dvc_lock_comes_back_from_git(finished: Path) -> None:
    name = ["-c", "user.name=test", "-c", "user.email=test@localhost"]
    subprocess.run(["git", "add", "-f", "dvc.lock"], cwd=finished, check=True)
    subprocess.run(["git", *name, "commit", "-q", "-m", "lock"], cwd=finished, check=True)
    (finished / GOOD_LOCK).unlink()
    (finished / "dvc.lock").write_text("")
    assert repair(finished) == ["dvc.lock was damaged: restored from git"]
    assert run_all(finished) == [Outcome.UP_TO_DATE] * 4


def test_the_run_cache_saves_the_work_without_any_lock_to_restore(finished: Path) -> None:
    (finished / GOOD_LOCK).unlink()
    (finished / "dvc.lock").write_text("")
    assert run_all(finished) == [Outcome.RESTORED] * 4
    assert ran(finished) == ORDER


def test_a_lock_file_of_a_dead_dvc_is_ignored(project: Path) -> None:
    (project / ".dvc/tmp/lock").write_text(" 999999\n")
    (project / ".dvc/tmp/rwlock.lock").write_text(" 999999\n")
    assert repro("collect", project) == Outcome.RAN


def test_a_failed_stage_is_reported_with_its_log(project: Path) -> None:
    (project / "source.txt").unlink()
    (project / "source.txt").mkdir()  # the stage cannot read it
    with pytest.raises(StageFailed, match=r"(?s)collect: failed with status 1.*IsADirectoryError"):
        repro("collect", project)


def test_a_missing_dependency_is_a_stage_failure_and_not_the_machines(project: Path) -> None:
    with pytest.raises(StageFailed, match="dvc refused it"):
        repro("report", project)


@pytest.fixture
def refused(project: Path) -> Path:
    """The folder of DVC's cache that takes no file of the output of `collect`, a folder here: /proc takes none."""
    text = (project / "dvc.yaml").read_text()
    text = text.replace("collect 0.05 data/collect.txt", "collect 0.05 data/collected/collect.txt")
    (project / "dvc.yaml").write_text(text.replace("outs: [data/collect.txt]", "outs: [data/collected]"))
    folder = project / ".dvc/cache/files/md5" / hashlib.md5(b"collected+collect\n").hexdigest()[:2]
    folder.parent.mkdir(parents=True)
    folder.symlink_to("/proc")
    return folder


def test_outputs_that_dvc_could_not_store_are_stored_by_the_next_call(project: Path, refused: Path) -> None:
    """DVC ends without an error, and would delete them and run the stage again."""
    for _ in range(2):
        with pytest.raises(InfrastructureFailed, match=r"collect: dvc could not copy .* No such file .* free space"):
            repro("collect", project)
    assert (project / "data/collected/collect.txt").exists()
    refused.unlink()
    assert repro("collect", project) == Outcome.UP_TO_DATE
    assert ran(project) == ["collect"]
    assert len(list(refused.iterdir())) == 1


def test_outputs_of_other_inputs_are_not_stored_for_the_new_ones(project: Path, refused: Path) -> None:
    with pytest.raises(InfrastructureFailed, match="could not copy"):
        repro("collect", project)
    refused.unlink()
    (project / "source.txt").write_text("other\n")
    assert repro("collect", project) == Outcome.RAN
    assert (project / "data/collected/collect.txt").read_text() == "other+collect\n"
    assert repro("collect", project) == Outcome.UP_TO_DATE


def kill_one(root: Path, stage: str, matching: str, after_s: float) -> None:
    """SIGKILL the process of a call whose command line has `matching`, `after_s` seconds after it was first seen.

    The process may have ended by then; the kill has missed in that case.
    """
    record = root / process.CALLS / f"{stage}.json"
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        for candidate in _processes_of(record):
            if matching in _command(candidate):
                time.sleep(after_s)
                with contextlib.suppress(psutil.NoSuchProcess):
                    candidate.kill()
                return
        time.sleep(0.02)


def _processes_of(record: Path) -> list[psutil.Process]:
    """Return the processes of the call that a record describes, or none while nothing runs."""
    try:
        return process._marked_processes(json.loads(record.read_text())["mark"])
    except (FileNotFoundError, ValueError):
        return []


def _command(candidate: psutil.Process) -> str:
    try:
        return " ".join(candidate.cmdline())
    except psutil.Error:
        return ""


def test_a_killed_stage_is_a_machine_failure_and_the_next_call_succeeds(tmp_path: Path) -> None:
    project = make_project(tmp_path / "slow", seconds=30)
    killer = threading.Thread(target=kill_one, args=(project, "collect", "python stage.py", 0.1))
    killer.start()
    with pytest.raises(InfrastructureFailed, match="was killed"):
        repro("collect", project)
    killer.join()
    text = (project / "dvc.yaml").read_text().replace(" 30 ", " 0.05 ")
    (project / "dvc.yaml").write_text(text)
    assert repro("collect", project) == Outcome.RAN


def test_a_killed_dvc_leaves_no_stage_behind(tmp_path: Path) -> None:
    project = make_project(tmp_path / "slow", seconds=30)
    killer = threading.Thread(target=kill_one, args=(project, "collect", "-m dvc", 1.5))
    killer.start()
    with pytest.raises(InfrastructureFailed, match="killed by signal 9"):
        repro("collect", project)
    killer.join()
    assert not [one for one in psutil.process_iter() if str(project) == _cwd(one) and one.pid != os.getpid()]


def _cwd(one: psutil.Process) -> str | None:
    try:
        return one.cwd()
    except psutil.Error:
        return None


KILLED_FLOW = """
import sys
from flows.crash_safe_dvc import repro
print(repro("collect", sys.argv[1]))
"""


def test_processes_of_a_killed_flow_end_before_the_stage_starts_again(tmp_path: Path) -> None:
    project = make_project(tmp_path / "slow", seconds=30)
    flow = subprocess.Popen([sys.executable, "-c", KILLED_FLOW, str(project)], cwd=Path.cwd())
    record = project / process.CALLS / "collect.json"
    while not (project / ".waymark/progress").exists():
        time.sleep(0.05)
    mark = json.loads(record.read_text())["mark"]
    with pytest.raises(process.Busy, match=f"being run by process {flow.pid}"):
        repro("collect", project)
    assert process._marked_processes(mark)
    flow.send_signal(signal.SIGKILL)  # the stage's watchdog ends them, and so does the next call
    flow.wait()
    (project / "dvc.yaml").write_text((project / "dvc.yaml").read_text().replace(" 30 ", " 0.05 "))
    assert repro("collect", project) == Outcome.RAN
    assert not process._marked_processes(mark)
    assert ran(project) == ["collect"]


def kill_at_random(root: Path, moments: int, least: int, seed: int) -> None:
    """Run all stages again and again with dvc killed at a random moment each: `moments` times, and more until `least`
    kills have hit, since on a fast machine a stage is often done before its moment comes.
    """
    source = random.Random(seed)
    hits = moment = 0
    while moment < moments or hits < least:
        assert moment < 8 * moments, "the kills hit nothing"
        (root / "source.txt").write_text(f"version {moment}\n")
        stage = source.choice(ORDER)
        after_s = source.uniform(0.0, 0.9)
        killer = threading.Thread(target=kill_one, args=(root, stage, "-m dvc", after_s))
        killer.start()
        for one in ORDER:
            try:
                repro(one, root)
            except InfrastructureFailed:
                hits += 1
                assert repro(one, root) in set(Outcome)
        killer.join()
        base = f"version {moment}+collect+base"
        assert (root / "reports/report.txt").read_text() == f"{base}+train@left+{base}+train@right+report\n"
        moment += 1


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_dvc_killed_at_five_random_moments_ends_with_the_right_results(project: Path) -> None:
    kill_at_random(project, moments=5, least=3, seed=2)


def test_the_command_tells_a_machine_failure_from_a_stage_failure(project: Path) -> None:
    command = [sys.executable, "-m", "flows.crash_safe_dvc", "report"]
    environment = {**os.environ, "PYTHONPATH": str(Path(crash_safe_dvc.__file__).parent.parent)}
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "dvc refused it" in done.stderr
