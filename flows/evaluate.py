"""Scheduled evaluation as a Prefect flow: the champion on the evaluation pool, or any model on a published benchmark.

The flow runs `components.benchmarks.nightly`, which resolves the alias `champion`, or `waymark evaluate`. Neither is a
stage of dvc.yaml, because the evaluated model is no file of the project. `prefect.yaml` schedules the flow, and it
publishes the same artifacts as a stage. Each night is an occasion: a run resumes only the work of the same night.

The flow holds the clone's lock, because a pipeline beside it would need the same GPUs and replace files that it reads.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

from prefect import flow, get_run_logger, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.states import Cancelled

from flows import process
from flows.artifacts import PROGRESS, publish_metrics
from flows.clone_lock import CloneInUse, only_pipeline
from flows.crash_safe_dvc import LOGS, InfrastructureFailed, StageFailed
from flows.pipeline import was_killed, watch
from flows.running_stages import require_none

NAME = "nightly"
RESULTS = Path("reports/stages")


@flow(name="evaluate")
def evaluate(
    benchmark: str | None = None,
    model: str = "champion",
    limit: int | None = None,
    minutes: float | None = None,
    usd: float | None = None,
) -> State | None:
    """Evaluate one model, unless a pipeline or a stage runs in this clone.

    Args:
        benchmark: a name in recipes/benchmarks; None evaluates the champion on the evaluation pool and ignores the
            other arguments.
        model, limit, minutes, usd: options of `waymark evaluate`; a run that its budget stops does not fail.

    Returns:
        None, or the state "Skipped", a kind of Cancelled, whose message names what runs here.

    Raises:
        StageFailed: there is no champion yet, or the evaluation failed or is invalid.
    """
    process.allow()
    name, command = NAME, [sys.executable, "-m", f"components.benchmarks.{NAME}"]
    if benchmark is not None:
        options = {"--limit": limit, "--budget-minutes": minutes, "--budget-usd": usd}
        name, command = f"benchmark@{benchmark}", [sys.executable, "-m", "components.cli.main", "evaluate", benchmark]
        command += ["--model", model, "--occasion", f"{datetime.now(UTC):%Y-%m-%d}"]
        command += [text for key, value in options.items() if value is not None for text in (key, str(value))]
    try:
        with only_pipeline(Path.cwd()):
            require_none(Path.cwd())
            measure(name, command)
        return None
    except CloneInUse as error:
        get_run_logger().warning("skipped: %s", error)
        return Cancelled(name="Skipped", message=str(error))
    except BaseException:
        process.stop_all()
        raise


@task(
    task_run_name="{name}",
    retries=1,
    retry_delay_seconds=30,
    retry_condition_fn=was_killed,
    cache_policy=NO_CACHE,
    persist_result=False,
)
def measure(name: str, command: list[str]) -> None:
    """Run a command as a child process, with its progress and metrics as artifacts; once more if it is killed."""
    root = Path.cwd()
    log = root / LOGS / f"{name}.log"
    (root / PROGRESS / f"{name}.json").unlink(missing_ok=True)
    code = process.call(tuple(command), name=name, log=log, root=root, on_poll=watch(name, root))
    text = "\n".join(log.read_text(errors="replace").strip().splitlines()[-25:])
    if code < 0:
        raise InfrastructureFailed(f"{name} was killed by signal {-code}; log: {log}\n{text}")
    if code:
        raise StageFailed(f"{name} failed with status {code}; log: {log}\n{text}")
    get_run_logger().info("published %s", ", ".join(publish_metrics(name, root / RESULTS / f"{name}.json")))
