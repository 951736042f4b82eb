"""Evaluates the champion again, as the schedule does every night; no DVC stage, since its input is the registry."""

from datetime import UTC, datetime
from pathlib import Path

from components import store, tracking
from components.params import load
from components.pipeline.evaluation import POOLS, evaluate_model, summarise
from components.pipeline.stage_run import RESULTS, stage
from components.records import Task
from components.store import read_table


def main() -> None:
    """Evaluate the champion on the evaluation pools, and write `reports/nightly/<date>.json`."""
    now = datetime.now(UTC)
    champion = tracking.champion(load(), tracking.POLICY)
    if champion is None:
        raise SystemExit(
            f"no model of {tracking.POLICY} has the alias `champion` yet; run the pipeline, which promotes the first"
        )
    foreign = champion.foreign_to(load())
    if foreign:
        raise SystemExit(f"{foreign}; `waymark use` its recipe, or move the alias `champion` in the MLflow UI")
    night = f"{now:%Y-%m-%d}"
    with stage("nightly", inputs=POOLS, occasion=f"{night} {champion.identity}") as run:
        tasks = [task for path in POOLS for task in read_table(path, Task)]
        trajectories, verdicts = evaluate_model(
            run, champion.path, f"champion {champion.identity}@{night}:{run.key}", tasks
        )
        run.result({"version": champion.version, "date": night})
        summarise(run, trajectories, verdicts)
    store.write_json(Path(f"reports/nightly/{night}.json"), store.read_json(RESULTS / "nightly.json"))


if __name__ == "__main__":
    main()
