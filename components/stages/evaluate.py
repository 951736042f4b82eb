"""Evaluate one model on the test tasks: `base`, `sft` or `rl`. After `rl`, decide whether it becomes champion."""

import sys
from pathlib import Path

from components import quality
from components.params import load
from components.pipeline.champion import decide
from components.pipeline.evaluation import POOLS, evaluate_model, summarise
from components.pipeline.stage_run import WORLD_SETTINGS, stage
from components.records import Task, Trajectory, Verdict
from components.store import read_table, write_table


def main(which: str) -> None:
    """Run the stage for one of the models."""
    models = {"base": Path(load().model.base), "sft": Path("models/sft"), "rl": Path("models/rl-long")}
    if which not in models:
        raise SystemExit(f"unknown model {which!r}: one of {', '.join(models)}")
    model = models[which]
    # a base with a Hugging Face name is not a path; its name is in the parameters
    local = [model] if which != "base" or model.exists() else []
    with stage(f"evaluate@{which}", inputs=[*POOLS, WORLD_SETTINGS, *local]) as run:
        tasks = [task for path in POOLS for task in read_table(path, Task)]
        trajectories, verdicts = evaluate_model(run, model, f"{which}:{run.key}", tasks)
        run.check("trajectories", quality.trajectory_frame(trajectories), expected=len(tasks))
        out = Path("data/evaluation") / which
        write_table(out / "trajectories.parquet", Trajectory, trajectories)
        write_table(out / "verdicts.parquet", Verdict, verdicts)
        summarise(run, trajectories, verdicts)
        if which == "rl":
            decide(run, model, trajectories, verdicts)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) == 2 else "")
