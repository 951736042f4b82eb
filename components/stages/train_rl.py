"""RL, or rejection fine-tuning, on real pages: one phase of the horizon curriculum, `short` or `long`."""

import asyncio
import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path

import torch

from components import tracking
from components.endpoint import ANSWERS
from components.judge import JudgeClients, JudgeFn
from components.judge.distilled import DistilledJudge
from components.params import Params, load
from components.policies import VLM, follow
from components.records import Task, Trajectory, Verdict
from components.rollout import SamplerState
from components.stages._curve import write_curve
from components.stages._episodes import open_pool
from components.stages._judging import by_rules, open_auditor, tell_spent
from components.stages._launch import team
from components.stages._run import StageRun, stage
from components.stages._trust import measured_on, trust_distilled, trusted_model
from components.store import digest, read_json, read_table
from components.training.health import health_line
from components.training.learner import Learner, enlist, gather
from components.training.rl import Trained, train_rl
from components.training.team import Team

POOL, JUDGE = Path("data/pools/rl.parquet"), Path("models/judge/distilled")
DEMONSTRATIONS = Path("data/sft/trajectories.parquet")
SAMPLER = "task_sampler.json"
INIT = {"short": Path("models/sft"), "long": Path("models/rl-short")}


def main(phase: str) -> None:
    if phase not in INIT:
        raise SystemExit(f"unknown phase {phase!r}: one of {', '.join(INIT)}")
    with team("components.stages.train_rl", phase) as together:
        if together.leads:
            lead(together, phase)
        else:
            together.follow()


def lead(together: Team, phase: str) -> None:
    """The stage."""
    name = f"train_rl@{phase}"
    with stage(name, inputs=_inputs(load(), phase)) as run:
        params = run.params
        torch.manual_seed(params.seed)
        together.run(enlist, INIT[phase], params, DEMONSTRATIONS if params.rl.objective == "rft" else None)
        learner: Learner = together.held["learner"]
        trained = asyncio.run(_train(run, learner, together, phase))
        if trained.ended:
            print(f"the phase ends after {len(trained.figures)} iterations: {trained.ended}", flush=True)
        state = together.run(gather)
        learner.vlm.publish(Path(f"models/rl-{phase}"), {SAMPLER: asdict(trained.sampler)}, state)
        write_curve(Path(f"reports/curves/rl-{phase}.csv"), trained.figures)
        version = run.tracker.register(Path(f"models/rl-{phase}"), tracking.POLICY)
        run.result({"iterations": trained.figures, "ended": trained.ended, "version": version})


def _inputs(params: Params, phase: str) -> list[Path]:
    """What the phase reads under this recipe; DVC's deps name all of it but the files of `judge.trust_labels`."""
    inputs = [POOL, INIT[phase]]
    if params.judge.reward == "distilled":
        inputs.append(JUDGE)
    inputs += measured_on(params.judge)
    if params.rl.objective == "rft":
        inputs.append(DEMONSTRATIONS)
    return inputs


async def _train(run: StageRun, learner: Learner, together: Team, phase: str) -> Trained:
    params = run.params

    def report(figures: dict[str, float], trajectories: list[Trajectory], verdicts: list[Verdict]) -> None:
        run.metrics(figures, int(figures["iteration"]))
        if figures["iteration"] == 1:
            run.traces(trajectories, verdicts)
        print(health_line(figures), flush=True)
        if figures.get("judge_agreement", 1.0) < params.judge.min_agreement:
            print(
                f"warning: the judge that rewards is right on {figures['judge_agreement']:.1%} of what was audited, "
                f"judge.min_agreement is {params.judge.min_agreement:.1%}: look for what the policy gains by",
                flush=True,
            )

    served = partial(together.run, gather, params.model.lora is not None)
    serving = follow(learner.vlm, learner.encoder, INIT[phase], params, run.state, served)
    async with JudgeClients(params.judge, run.state, ANSWERS) as clients:
        reward, audit = await _judge(run, clients), await open_auditor(params, clients)
        async with open_pool(params) as pool, serving as open_policy:
            trained = await train_rl(
                learner,
                params.rl.short if phase == "short" else params.rl.long,
                f"rl-{phase}",
                read_table(POOL, Task),
                pool,
                open_policy,
                reward,
                run.state,
                run.progress,
                report,
                SamplerState(**read_json(INIT[phase] / SAMPLER)) if phase == "long" else None,
                together,
                audit,
            )
        tell_spent(run, clients)
        return trained


async def _judge(run: StageRun, clients: JudgeClients) -> JudgeFn:
    """Who rewards, as the recipe says."""
    params = run.params
    match params.judge.reward:
        case "rules":
            return by_rules(params, clients)
        case "model":
            return await trusted_model(run, clients)
    trust_distilled(JUDGE / "agreement.json", params.judge)
    return DistilledJudge(VLM.load(JUDGE, params.model), digest(JUDGE), params)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) == 2 else "")
