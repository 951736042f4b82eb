"""Select the demonstrations of SFT: the shortest success per task, capped per website, and those by people."""

from pathlib import Path

from components import quality
from components.lazy_records import TableRecords
from components.params import load
from components.pipeline.demonstrations import read_demonstrations
from components.pipeline.stage_run import stage
from components.records import Task, Trajectory, Verdict
from components.store import read_table, write_table
from components.tasks import curate

TRAJECTORIES, VERDICTS = Path("data/teacher/trajectories.parquet"), Path("data/teacher/verdicts.parquet")
EVALUATION = [Path(f"data/pools/{pool}.parquet") for pool in ("eval", "heldout", "validation")]
"""The tasks that no demonstration may have: on those of the last pool, RL chooses the policy that it publishes."""
OUT = Path("data/sft/trajectories.parquet")


def main() -> None:
    """Run the stage."""
    files = [Path(path) for path in load().curate.demonstrations]
    with stage("curate_sft", inputs=[TRAJECTORIES, VERDICTS, *EVALUATION, *filter(Path.exists, files)]) as run:
        demonstrations = read_demonstrations(files, run.params)
        trajectories = TableRecords(TRAJECTORIES, Trajectory)
        evaluation = [task for path in EVALUATION for task in read_table(path, Task)]
        selected, funnel = curate(trajectories, read_table(VERDICTS, Verdict), run.params.curate, run.params.seed)
        chosen = [*selected, *demonstrations]
        run.check(
            "training",
            quality.trajectory_frame(chosen),
            evaluation=quality.task_frame(evaluation),
            max_rows=len(trajectories) + len(demonstrations),
        )
        write_table(OUT, Trajectory, chosen)
        websites = {trajectory.task.website for trajectory in chosen}
        figures = {"trajectories": len(chosen), "websites": len(websites), "demonstrations": len(demonstrations)}
        run.result({**figures, "funnel": funnel.rows()})


if __name__ == "__main__":
    main()
