"""Roll out several attempts per task with the teacher."""

import asyncio
from dataclasses import asdict
from pathlib import Path

from components import quality
from components.params import Params, ScriptedTeacherParams
from components.pipeline.rollouts import EpisodeLimits, roll_out
from components.pipeline.stage_run import WORLD_SETTINGS, stage
from components.policies import EndpointPolicy
from components.policies.scripted import ScriptedTeacher, scripted_policy
from components.records import Task, Trajectory
from components.rollout import episode_specs, harness_errors, termination_counts
from components.store import read_table, write_table
from components.worlds import worlds_of

POOL, OUT = Path("data/pools/sft.parquet"), Path("data/teacher/trajectories.parquet")


def main() -> None:
    """Run the stage."""
    with stage("teacher_rollouts", inputs=[POOL, WORLD_SETTINGS]) as run:
        params = run.params
        tasks = read_table(POOL, Task)[: params.teacher.tasks]
        model = _model(params, run.state)
        version = model.version if model is not None else ScriptedTeacher.version
        episodes = episode_specs(tasks, params.teacher.attempts, version, params.seed)

        noise = params.teacher.noise if isinstance(params.teacher, ScriptedTeacherParams) else 0.0
        policy = model or scripted_policy(worlds_of(params), noise, params.agent.protocol)
        limits = EpisodeLimits(params.teacher.sampling, params.teacher.max_steps)
        trajectories = asyncio.run(roll_out(run, episodes, policy, limits, in_memory=False))
        if model is not None:
            run.result({"spent": asdict(model.spent)})
        frame = quality.trajectory_frame(trajectories)
        expected = len(tasks) * params.teacher.attempts
        run.check("trajectories", frame, expected=expected, max_aborted=params.quality.max_aborted)
        write_table(OUT, Trajectory, trajectories)
        ended = list(frame["termination"])
        counts = {"terminations": termination_counts(ended), "harness_errors": harness_errors(ended)}
        run.result({"tasks": len(tasks), "trajectories": len(trajectories), **counts})


def _model(params: Params, state: Path) -> EndpointPolicy | None:
    """The model behind an endpoint that teaches, or None if the teacher is a script."""
    teacher = params.teacher
    if isinstance(teacher, ScriptedTeacherParams):
        return None
    return EndpointPolicy(teacher.endpoint, state / "spent.json")


if __name__ == "__main__":
    main()
