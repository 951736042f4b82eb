"""Multi-turn behaviour cloning of the curated trajectories."""

from pathlib import Path

from components import tracking
from components.params import Params, load
from components.pipeline.curve import write_curve
from components.pipeline.launch import process_group
from components.pipeline.stage_run import local_model, stage
from components.records import Trajectory
from components.store import read_table
from components.training.objectives.sft import SFT
from components.training.supervised import LossReport, TrainedModel, no_report, train_model
from components.training.workers import Workers

DATA, OUT, CURVE = Path("data/sft/trajectories.parquet"), Path("models/sft"), Path("reports/curves/sft.csv")


def main() -> None:
    """Run the stage on the main process, and serve its jobs on the others."""
    with process_group("components.stages.train_sft") as workers:
        if workers.is_main:
            run_stage(workers)
        else:
            workers.serve_jobs()


def run_stage(workers: Workers) -> None:
    """The stage, on the main process."""
    with stage("train_sft", inputs=[DATA, *local_model(load().model.base)], keeps_work=False) as run:
        curve: list[dict[str, float]] = []

        def report(step: int, steps: int, loss: float) -> None:
            curve.append({"step": step, "loss": round(loss, 6)})
            run.metrics({"loss": loss}, step)
            run.progress(step, steps, f"loss {loss:.3f}")

        checkpoint = run.checkpoint = run.state / "training.pt"
        trained = workers.run(clone, run.params, checkpoint, report=report)
        trained.vlm.publish(OUT, state=trained.state)
        write_curve(CURVE, curve)
        version = run.tracker.register(OUT, tracking.POLICY)
        run.result(
            {
                "trajectories": trained.trajectories,
                "turns": trained.samples,
                "loss": curve[-1]["loss"],
                "version": version,
                **trained.packing.figures,
                "losses": curve,
            }
        )


def clone(workers: Workers, params: Params, checkpoint: Path, report: LossReport = no_report) -> TrainedModel:
    """Job: behaviour cloning."""
    objective, trajectories = SFT.from_params(params), read_table(DATA, Trajectory)
    return train_model(workers, params.model.base, params, params.sft, objective, trajectories, report, checkpoint)


if __name__ == "__main__":
    main()
