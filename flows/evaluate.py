"""The nightly evaluation: the model behind the registry alias `champion` on the evaluation pool, as a Prefect flow.

It runs the stage `nightly`, which resolves the alias and is no stage of dvc.yaml: what it evaluates is not a file of
the project. `prefect.yaml` schedules it; what it publishes looks like any stage's.
"""

from __future__ import annotations

import sys
from pathlib import Path

from prefect import flow, get_run_logger, task
from prefect.cache_policies import NO_CACHE

from flows import process
from flows.crash_safe_dvc import LOGS, InfrastructureFailed, StageFailed
from flows.pipeline import watch
from flows.published import PROGRESS, publish_metrics

NAME = "nightly"
COMMAND = (sys.executable, "-m", f"components.stages.{NAME}")
RESULT = Path("reports/stages/nightly.json")


@flow(name="evaluate")
def evaluate() -> None:
    """Evaluate the champion once.

    Raises:
        StageFailed: there is no champion yet, or its evaluation failed.
    """
    process.allow()
    try:
        nightly()
    except BaseException:
        process.stop_all()
        raise


@task(name=NAME, retries=1, retry_delay_seconds=30, cache_policy=NO_CACHE, persist_result=False)
def nightly() -> None:
    """The stage `nightly` in a process of its own, with its progress and metrics as artifacts."""
    root = Path.cwd()
    log = root / LOGS / f"{NAME}.log"
    (root / PROGRESS / f"{NAME}.json").unlink(missing_ok=True)
    code = process.call(COMMAND, name=NAME, log=log, root=root, on_poll=watch(NAME, root))
    text = "\n".join(log.read_text(errors="replace").strip().splitlines()[-25:])
    if code < 0:
        raise InfrastructureFailed(f"{NAME} was killed by signal {-code}; log: {log}\n{text}")
    if code:
        raise StageFailed(f"{NAME} failed with status {code}; log: {log}\n{text}")
    get_run_logger().info("published %s", ", ".join(publish_metrics(NAME, root / RESULT)))
