"""Several attempts per task with the teacher."""

import asyncio
from pathlib import Path

from components import quality
from components.params import SamplingParams
from components.policies.scripted import ScriptedTeacher
from components.records import Task, Trajectory
from components.stages._episodes import roll_out
from components.stages._run import stage
from components.store import read_table, write_table

POOL, OUT = Path("data/pools/sft.parquet"), Path("data/teacher/trajectories.parquet")


def main() -> None:
    with stage("teacher_rollouts", inputs=[POOL]) as run:
        params = run.params
        tasks = read_table(POOL, Task)[: params.teacher.tasks]
        trajectories = asyncio.run(
            roll_out(
                run,
                tasks,
                params.teacher.attempts,
                policy=None,
                version="scripted",
                sampling=SamplingParams(),
                max_steps=params.teacher.max_steps,
                policy_for=lambda spec, session: ScriptedTeacher(
                    session, spec, params.teacher.noise, params.agent.protocol
                ),
            )
        )
        run.check("trajectories", quality.trajectory_frame(trajectories), expected=len(tasks) * params.teacher.attempts)
        write_table(OUT, Trajectory, trajectories)
        terminations: dict[str, int] = {}
        for trajectory in trajectories:
            terminations[trajectory.termination] = terminations.get(trajectory.termination, 0) + 1
        run.result({"tasks": len(tasks), "trajectories": len(trajectories), "terminations": terminations})


if __name__ == "__main__":
    main()
