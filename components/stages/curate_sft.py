"""The shortest success per task, capped per website."""

from pathlib import Path

from components import quality
from components.records import Task, Trajectory, Verdict
from components.stages._run import stage
from components.store import read_table, write_table
from components.tasks import curate

TRAJECTORIES, VERDICTS = Path("data/teacher/trajectories.parquet"), Path("data/teacher/verdicts.parquet")
EVALUATION = [Path("data/pools/eval.parquet"), Path("data/pools/heldout.parquet")]
OUT = Path("data/sft/trajectories.parquet")


def main() -> None:
    with stage("curate_sft", inputs=[TRAJECTORIES, VERDICTS, *EVALUATION]) as run:
        trajectories = read_table(TRAJECTORIES, Trajectory)
        evaluation = [task for path in EVALUATION for task in read_table(path, Task)]
        chosen, funnel = curate(trajectories, read_table(VERDICTS, Verdict), run.params.curate, run.params.seed)
        run.check(
            "training",
            quality.trajectory_frame(chosen),
            evaluation=quality.task_frame(evaluation),
            max_rows=len(trajectories),
        )
        write_table(OUT, Trajectory, chosen)
        websites = {trajectory.task.website for trajectory in chosen}
        run.result({"trajectories": len(chosen), "websites": len(websites), "funnel": funnel.rows()})


if __name__ == "__main__":
    main()
