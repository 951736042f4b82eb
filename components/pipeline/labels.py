"""The judge of a stage, as the recipe names it: the rules, the distilled judge, or models behind endpoints."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import asdict

from components.endpoint import ANSWERS, require_key
from components.judge import JudgeClients, JudgeFn, ModelJudge, assisted_rules, rules_verdict
from components.params import Params
from components.pipeline.stage_run import StageRun
from components.records import Trajectory, Verdict, trajectory_id
from components.rollout import without_run


def require_labeller(params: Params) -> None:
    """Require the keys of the models that label every trajectory, before rollouts that they are to label begin.

    Raises:
        EndpointError: a key is not in the environment.
    """
    if params.judge.labels != "rules" and (model := params.judge.model) is not None:
        for endpoint in (model.endpoint, *model.voters):
            require_key(endpoint)


def label(run: StageRun, trajectories: Iterable[Trajectory]) -> list[Verdict]:
    """A verdict per trajectory, from the judge that `judge.labels` names; a model's cost is in the stage's result.

    Rules that only a model can decide use `judge.model`, if there is one.

    Raises:
        JudgeOutage, EndpointError: see `judge.ModelJudge`; answers so far are kept.
    """
    judge = run.params.judge
    model_params = judge.model
    if model_params is None:
        return [rules_verdict(trajectory) for trajectory in trajectories]

    async def ask() -> list[Verdict]:
        async with JudgeClients(model_params, run.state, ANSWERS) as clients:
            model = ModelJudge(model_params, clients)
            if judge.labels == "rules":
                verdicts = await assisted_rules(trajectories, model)
            else:
                verdicts = await model(trajectories, lambda done: run.progress(0, 1, f"{done} verdicts"))
            report_spending(run, clients)
            return verdicts

    return asyncio.run(ask())


def report_spending(run: StageRun, clients: JudgeClients) -> None:
    """Add the cost of models to the stage's result, if there were any requests."""
    spent = clients.spent
    if spent.requests or spent.cached:
        run.result({"judge_spent": asdict(spent)})


async def open_auditor(params: Params, clients: JudgeClients) -> JudgeFn | None:
    """The auditor, which judges RL's rollouts beside the judge that rewards: rules all of them, a model a share.

    None if no other judge is available: the rules reward, or the labels come from the model that rewards.

    Raises:
        EndpointError: the model that labels has no key in the environment.
    """
    judge = params.judge
    if judge.reward in ("rules", judge.labels):
        return None
    model = await open_labeller(params, clients)
    if judge.labels == "rules" or judge.model is None:
        return model

    async def sample(trajectories: list[Trajectory]) -> list[Verdict]:
        return await model([t for t in trajectories if is_audited(t, judge.trust.audit_share)])

    return sample


async def open_labeller(params: Params, clients: JudgeClients) -> JudgeFn:
    """The judge of the evaluation (`judge.labels`), with which RL validates, whatever rewards.

    Raises:
        EndpointError: the model that labels has no key in the environment.
    """
    judge = params.judge
    if judge.labels == "rules" or judge.model is None:
        return by_rules(params, clients)
    return await ModelJudge(judge.model, clients).connect()


def by_rules(params: Params, clients: JudgeClients) -> JudgeFn:
    """The rules as a judge of RL. Rules that only a model can decide use `judge.model`, if there is one."""
    model = ModelJudge(params.judge.model, clients) if params.judge.model is not None else None

    async def judge(trajectories: list[Trajectory]) -> list[Verdict]:
        if model is None:
            return [rules_verdict(trajectory) for trajectory in trajectories]
        return await assisted_rules(trajectories, model)

    return judge


def is_audited(trajectory: Trajectory, share: float) -> bool:
    """Whether a trajectory is in the sample of this share, which is the same in every run of one recipe."""
    version = without_run(trajectory.policy)
    digest = trajectory_id(trajectory.task_id, trajectory.attempt, version, trajectory.seed)
    return int(digest[:8], 16) < share * 16**8
