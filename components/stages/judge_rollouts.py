"""Roll out the SFT policy and label the trajectories, as training data for the judge."""

import asyncio
from pathlib import Path

from components import quality
from components.judge import needs_judge
from components.lazy_records import where
from components.params import SamplingParams
from components.pipeline.labels import label, require_labeller
from components.pipeline.rollouts import EpisodeLimits, roll_out
from components.pipeline.stage_run import WORLD_SETTINGS, stage
from components.policies import open_model
from components.records import Task, Trajectory, Verdict
from components.rollout import episode_specs, harness_errors, termination_counts
from components.store import read_table, write_table

POOL, MODEL, OUT = Path("data/pools/sft.parquet"), Path("models/sft"), Path("data/judge")
LABELS = Path("models/judge/model/verdicts.parquet")
"""A copy of the labels in a folder on which RL depends only if a model rewards, so that other recipes need not wait."""


def main() -> None:
    """Run the stage."""
    with stage("judge_rollouts", inputs=[POOL, WORLD_SETTINGS, MODEL]) as run:
        params = run.params
        require_labeller(params)
        tasks = read_table(POOL, Task)[-params.judge.distill.rollout_tasks :]
        version = f"sft:{run.key}"
        episodes = episode_specs(tasks, params.judge.distill.rollout_attempts, version, params.seed)
        policy = open_model(MODEL, params, version, run.state)
        sampling = SamplingParams(temperature=params.judge.distill.rollout_temperature)
        limits = EpisodeLimits(sampling, params.evaluation.max_steps)
        trajectories = asyncio.run(roll_out(run, episodes, policy, limits, in_memory=False))
        frame = quality.trajectory_frame(trajectories)
        expected = len(tasks) * params.judge.distill.rollout_attempts
        run.check("trajectories", frame, expected=expected, max_aborted=params.quality.max_aborted)
        # a judge judges finished episodes with an answer only, so it learns from those
        finished = where(trajectories, needs_judge)
        verdicts = label(run, finished)
        run.check(
            "verdicts",
            quality.verdict_frame(verdicts),
            trajectories=quality.trajectory_frame(finished),
            min_positive=params.quality.min_positive,
            max_positive=params.quality.max_positive,
            max_unanswered=params.quality.max_unanswered,
        )
        write_table(OUT / "trajectories.parquet", Trajectory, finished)
        write_table(OUT / "verdicts.parquet", Verdict, verdicts)
        write_table(LABELS, Verdict, verdicts)
        positives = sum(verdict.outcome == "success" for verdict in verdicts)
        run.traces(finished, verdicts)
        ended = list(frame["termination"])
        run.result(
            {
                "trajectories": len(trajectories),
                "terminations": termination_counts(ended),
                "harness_errors": harness_errors(ended),
                "labelled": len(verdicts),
                "positive_share": positives / max(1, len(verdicts)),
            }
        )


if __name__ == "__main__":
    main()
