"""Rollouts of the SFT policy with labels, for the judge to learn from."""

import asyncio
from pathlib import Path

from components import quality
from components.judge import needs_judge
from components.params import SamplingParams
from components.policies import open_model
from components.records import Task, Trajectory, Verdict
from components.stages._episodes import roll_out
from components.stages._judging import label
from components.stages._run import stage
from components.store import read_table, write_table

POOL, MODEL, OUT = Path("data/pools/sft.parquet"), Path("models/sft"), Path("data/judge")
LABELS = Path("models/judge/model/verdicts.parquet")
"""The labels once more, in the folder that RL depends on where a model rewards: only there does it wait for them."""


def main() -> None:
    with stage("judge_rollouts", inputs=[POOL, MODEL]) as run:
        params = run.params
        tasks = read_table(POOL, Task)[-params.judge.rollout_tasks :]
        version = f"sft:{run.key}"
        trajectories = asyncio.run(
            roll_out(
                run,
                tasks,
                params.judge.rollout_attempts,
                open_model(MODEL, params, version, run.state),
                version,
                SamplingParams(temperature=params.judge.rollout_temperature),
                params.evaluation.max_steps,
            )
        )
        run.check(
            "trajectories", quality.trajectory_frame(trajectories), expected=len(tasks) * params.judge.rollout_attempts
        )
        # a judge is asked only about finished episodes with an answer, so it learns from those
        asked = [trajectory for trajectory in trajectories if needs_judge(trajectory)]
        verdicts = label(run, asked)
        run.check(
            "verdicts",
            quality.verdict_frame(verdicts),
            trajectories=quality.trajectory_frame(asked),
            min_positive=params.quality.min_positive,
            max_positive=params.quality.max_positive,
        )
        write_table(OUT / "trajectories.parquet", Trajectory, asked)
        write_table(OUT / "verdicts.parquet", Verdict, verdicts)
        write_table(LABELS, Verdict, verdicts)
        positives = sum(verdict.outcome == "success" for verdict in verdicts)
        run.traces(asked, verdicts)
        run.result(
            {
                "trajectories": len(trajectories),
                "labelled": len(verdicts),
                "positive_share": positives / max(1, len(verdicts)),
            }
        )


if __name__ == "__main__":
    main()
