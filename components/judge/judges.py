"""The judges by the names that commands take: what each needs, its version, and one way to ask it.

A judge is named `rules` (which ask `judge.model`, if the recipe has one, where only a model can decide), `functional`
(the benchmark's own reward above 0.5, as AgentRewardBench scores it; `rules` want the whole reward), `distilled` (the
model in `models/judge/distilled`), or by a protocol, by which the recipe's `judge.model` judges. Commands may add
protocols with names of their own.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import ClassVar

from components.endpoint import BudgetSpent
from components.judge.assisted import assisted_verdict
from components.judge.clients import JudgeClients
from components.judge.model_judge import ModelJudge, settled_verdict
from components.judge.protocols import JudgeProtocol, judge_protocol, judge_protocol_names
from components.judge.rules import RuleError, rules_verdict
from components.judge.verified.client import VerifiedError
from components.params import JudgeParams, Params
from components.plugins import UnknownKindError
from components.records import ErrorCause, Outcome, Trajectory, Verdict
from components.store import digest

DISTILLED = Path("models/judge/distilled")
WITHOUT_PROTOCOL = ("rules", "functional", "distilled")
BATCH = 32
"""Trajectories that the distilled judge reads at once."""
FUNCTIONAL = 0.5
"""AgentRewardBench's threshold for a benchmark's own reward (its `score_judgments.py`)."""

OnVerdict = Callable[[Verdict], None]


class UnavailableJudge(ValueError):
    """No judge has this name, or the recipe lacks what it needs; the message says what to do."""


class NamedJudge(ABC):
    """A judge of trajectories."""

    version: str
    """Changes with everything that its verdicts depend on, its parser and code excepted."""
    is_costly: ClassVar[bool] = True
    """Whether its verdicts cost money or much time, so that they are worth keeping."""

    @abstractmethod
    async def judge(self, trajectories: Iterable[Trajectory], on_verdict: OnVerdict) -> BudgetSpent | None:
        """Judge each trajectory; only those that are being judged are in memory.

        Args:
            on_verdict: gets each verdict as soon as there is one, in any order.

        Returns:
            The limit that was reached before all were judged; None if none was.

        Raises:
            JudgeOutage, EndpointError: see `ModelJudge`.
        """


def judge_named(
    name: str, params: Params, clients: JudgeClients, further: Mapping[str, JudgeProtocol] | None = None
) -> NamedJudge:
    """The judge of a name.

    Args:
        clients: of the endpoints of `judge.model`.
        further: protocols beside those that are found by name (`judge_protocol`).

    Raises:
        UnavailableJudge: there is none, or the recipe or the disk lacks what it needs.
    """
    further = further or {}
    require_judge(name, params.judge, further)
    model = params.judge.model
    if name == "distilled":
        return _Distilled(params)
    if name == "functional":
        return _Functional()
    if model is None:
        return _Rules()
    if name == "rules":
        return _AssistedRules(ModelJudge(model, clients))
    if name in further:
        return _Protocol(ModelJudge(model, clients, named=(name, further[name])))
    return _Protocol(ModelJudge(model.model_copy(update={"protocol": name}), clients))


def judge_names() -> list[str]:
    """All judges that need no dotted path and are not registered with MLflow."""
    return [*WITHOUT_PROTOCOL, *judge_protocol_names()]


def require_judge(name: str, params: JudgeParams, further: Collection[str] = ()) -> None:
    """Refuse a judge that cannot be asked.

    Raises:
        UnavailableJudge: as `judge_named`.
    """
    if name not in (*WITHOUT_PROTOCOL, *further):
        try:
            judge_protocol(name)
        except UnknownKindError as error:
            others = f"{', '.join(WITHOUT_PROTOCOL)} and mlflow:NAME are judges, too"
            raise UnavailableJudge(f"no judge {name!r}: {error}; {others}") from error
    if name == "distilled" and not DISTILLED.exists():
        raise UnavailableJudge(f"{DISTILLED} does not exist: `dvc repro distill_judge` makes it")
    if name not in WITHOUT_PROTOCOL and params.model is None:
        raise UnavailableJudge(
            f"{name} asks a model: name it in judge.model.endpoint of the recipe or give `judge run` --url and --model"
        )


def available_judges(params: JudgeParams) -> list[str]:
    """The judges that a recipe can ask: `rules`, `distilled` if it is trained, and the protocol of `judge.model`."""
    names = ["rules"]
    if DISTILLED.exists():
        names.append("distilled")
    if params.model is not None:
        names.append(params.model.protocol)
    return names


class _Rules(NamedJudge):
    version = "rules"
    is_costly = False

    async def judge(self, trajectories: Iterable[Trajectory], on_verdict: OnVerdict) -> None:
        for trajectory in trajectories:
            try:
                on_verdict(rules_verdict(trajectory))
            except (RuleError, VerifiedError) as error:
                on_verdict(_broken_rule(trajectory, error))


class _Functional(NamedJudge):
    version = "functional"
    is_costly = False

    async def judge(self, trajectories: Iterable[Trajectory], on_verdict: OnVerdict) -> None:
        for trajectory in trajectories:
            on_verdict(_functional_verdict(trajectory))


def _functional_verdict(trajectory: Trajectory) -> Verdict:
    reward = trajectory.site_reward
    if not trajectory.termination.is_agents_doing:
        outcome, rationale = Outcome.ERROR, f"the environment ended the episode: {trajectory.termination.value}"
    elif reward is None:
        outcome, rationale = Outcome.ERROR, "the record has no reward of its benchmark"
    else:
        outcome = Outcome.SUCCESS if reward > FUNCTIONAL else Outcome.FAILURE
        rationale = f"the reward is {reward:g}"
    return _verdict(trajectory, outcome, rationale, "functional")


class _Distilled(NamedJudge):
    def __init__(self, params: Params) -> None:
        self._params = params
        decided_by = params.judge.distill, params.agent.prompt, params.model.dtype
        self.version = f"distilled-{digest(DISTILLED, *decided_by)}"

    async def judge(self, trajectories: Iterable[Trajectory], on_verdict: OnVerdict) -> None:
        from components.judge.distilled import DistilledJudge  # imports torch
        from components.model import VLM

        judge = DistilledJudge(VLM.load(DISTILLED, self._params.model), self.version, self._params, BATCH)
        remaining = iter(trajectories)
        while batch := list(islice(remaining, BATCH)):
            known = [settled_verdict(trajectory, "distilled", judge.version) for trajectory in batch]
            questions = [trajectory for trajectory, verdict in zip(batch, known, strict=True) if verdict is None]
            for verdict in [*(verdict for verdict in known if verdict is not None), *judge.judge(questions)]:
                on_verdict(verdict)


class _AssistedRules(NamedJudge):
    is_costly = False  # the answers of the model are kept, and the rules may be corrected

    def __init__(self, model: ModelJudge) -> None:
        self._model = model
        self.version = f"rules+{model.comparison_version}"

    async def judge(self, trajectories: Iterable[Trajectory], on_verdict: OnVerdict) -> BudgetSpent | None:
        async def verdict_on(trajectory: Trajectory) -> Verdict:
            try:
                return await assisted_verdict(trajectory, self._model)
            except (RuleError, VerifiedError) as error:
                return _broken_rule(trajectory, error)

        return await _each(self._model, trajectories, verdict_on, on_verdict)


class _Protocol(NamedJudge):
    def __init__(self, model: ModelJudge) -> None:
        self._model = model
        params = model.params
        endpoints = digest(*(json.dumps([voter.url, voter.extra], sort_keys=True) for voter in model.voters))
        limits = f"{params.temperature}-{params.max_answer_tokens}"
        self.version = f"{model.name}-{model.version}-{limits}-{endpoints}"

    async def judge(self, trajectories: Iterable[Trajectory], on_verdict: OnVerdict) -> BudgetSpent | None:
        return await _each(self._model, trajectories, self._model.judge, on_verdict)


async def _each(
    model: ModelJudge,
    trajectories: Iterable[Trajectory],
    ask: Callable[[Trajectory], Awaitable[Verdict]],
    on_verdict: OnVerdict,
) -> BudgetSpent | None:
    async def pass_on(trajectory: Trajectory) -> None:
        on_verdict(await ask(trajectory))

    _, limit = await model.until_spent(trajectories, pass_on)
    return limit


def _broken_rule(trajectory: Trajectory, error: RuleError | VerifiedError) -> Verdict:
    problem = "read" if isinstance(error, RuleError) else "applied"
    return _verdict(trajectory, Outcome.ERROR, f"the task's rule cannot be {problem}: {error}", "rules")


def _verdict(trajectory: Trajectory, outcome: Outcome, rationale: str, judge: str) -> Verdict:
    error_cause = ErrorCause.NO_RULE if trajectory.termination.is_agents_doing else ErrorCause.ENVIRONMENT
    return Verdict(
        trajectory_id=trajectory.trajectory_id,
        outcome=outcome,
        error_cause=error_cause if outcome is Outcome.ERROR else None,
        rationale=rationale,
        judge=judge,
        judge_version="1",
    )
