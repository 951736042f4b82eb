"""Several attempts per task with the teacher."""

import asyncio
from dataclasses import asdict
from pathlib import Path

from components import quality
from components.agent import EpisodeSpec, Policy
from components.browser import Environment
from components.params import Params, SamplingParams
from components.policies import EndpointPolicy
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
        model = _model(params, run.state)

        def script(spec: EpisodeSpec, session: Environment) -> Policy:
            return ScriptedTeacher(session, spec, params.teacher.noise, params.agent.protocol)

        trajectories = asyncio.run(
            roll_out(
                run,
                tasks,
                params.teacher.attempts,
                policy=model,
                version=model.version if model is not None else ScriptedTeacher.version,
                sampling=SamplingParams(temperature=params.teacher.temperature),
                max_steps=params.teacher.max_steps,
                policy_for=script if model is None else None,
            )
        )
        if model is not None:
            run.result({"spent": asdict(model.spent)})
        run.check("trajectories", quality.trajectory_frame(trajectories), expected=len(tasks) * params.teacher.attempts)
        write_table(OUT, Trajectory, trajectories)
        terminations: dict[str, int] = {}
        for trajectory in trajectories:
            terminations[trajectory.termination] = terminations.get(trajectory.termination, 0) + 1
        run.result({"tasks": len(tasks), "trajectories": len(trajectories), "terminations": terminations})


def _model(params: Params, state: Path) -> EndpointPolicy | None:
    """The model that teaches, if one does."""
    teacher = params.teacher
    if teacher.policy == "scripted":
        return None
    assert teacher.endpoint is not None
    return EndpointPolicy(teacher.endpoint, state / "spent.json")


if __name__ == "__main__":
    main()
