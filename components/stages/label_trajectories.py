"""Label every trajectory of the teacher with a verdict."""

from collections import Counter
from pathlib import Path

from components import quality
from components.pipeline.labels import label
from components.pipeline.stage_run import stage
from components.records import Outcome, Trajectory, Verdict
from components.store import iter_table, write_table

TRAJECTORIES, OUT = Path("data/teacher/trajectories.parquet"), Path("data/teacher/verdicts.parquet")


def main() -> None:
    """Run the stage."""
    with stage("label_trajectories", inputs=[TRAJECTORIES]) as run:
        limits = run.params.quality
        verdicts = label(run, iter_table(TRAJECTORIES, Trajectory))
        run.check(
            "verdicts",
            quality.verdict_frame(verdicts),
            trajectories=quality.trajectory_frame(iter_table(TRAJECTORIES, Trajectory)),
            min_positive=limits.min_positive,
            max_positive=limits.max_positive,
            max_unanswered=limits.max_unanswered,
        )
        write_table(OUT, Verdict, verdicts)
        run.traces(iter_table(TRAJECTORIES, Trajectory), verdicts)
        outcomes = Counter(verdict.outcome for verdict in verdicts)
        run.result({"labelled": len(verdicts), **{outcome.value: outcomes[outcome] for outcome in Outcome}})


if __name__ == "__main__":
    main()
