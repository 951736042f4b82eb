"""Rollouts of a benchmark: on sites of ours or on anybody's, paced per host, within a budget, journalled."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from components.agent import EpisodeSettings, EpisodeSpec, Policy, Renderer
from components.browser import Environment
from components.evaluation import family
from components.evaluation.benchmarks import BenchmarkError, Politeness
from components.judge import probes_of
from components.params import Params
from components.policies.scripted import ScriptedTeacher
from components.records import Task, Trajectory
from components.rollout import Budget, PacedSeats, Spent, collect, specs
from components.sites import PLANS, world_of
from components.stages._contender import Contender
from components.stages._episodes import open_pool
from components.stages._run import StageRun
from components.store import Journal, read_json


@dataclass(frozen=True)
class Measured:
    """The episodes that ended, how many of them are tries after the first, and what all of it has cost."""

    trajectories: list[Trajectory]
    retried: int
    spent: Spent
    stopped_by: str | None


class Account:
    """What a run has cost over all of its tries: its clock, its journal, and the ledgers of endpoints."""

    def __init__(self, run: StageRun, journal: Journal[Trajectory], ledger: Path | None) -> None:
        self._run = run
        self._journal = journal
        self._ledger = ledger
        self._counted = self._tokens = 0

    @property
    def judging(self) -> Spent:
        """What earlier tries have spent on judges."""
        ledgers = self._run.state.glob("spent-judge-*.json")
        return Spent(usd=sum(read_json(ledger)["usd"] for ledger in ledgers))

    @property
    def spent(self) -> Spent:
        """Without the judges."""
        minutes = round(self._run.seconds / 60, 2)
        if self._ledger is not None:
            said = read_json(self._ledger) if self._ledger.exists() else {}
            tokens = said.get("prompt_tokens", 0) + said.get("completion_tokens", 0)
            return Spent(usd=round(said.get("usd", 0.0), 6), minutes=minutes, tokens=tokens)
        for trajectory in self._journal.records[self._counted :]:
            self._tokens += trajectory.response_tokens + sum(turn.prompt_tokens for turn in trajectory.turns)
        self._counted = len(self._journal.records)
        return Spent(minutes=minutes, tokens=self._tokens)


async def roll_out_paced(
    run: StageRun,
    params: Params,
    tasks: list[Task],
    repeats: int,
    contender: Contender,
    politeness: Politeness,
    budget: Budget,
) -> Measured:
    """Run `repeats` episodes per task, first one of each task, then the next; stop starting when the budget is spent.

    Episodes on a site of ours wait for nobody: it is asked as fast as it answers.

    Args:
        params: the recipe with the benchmark laid over it.
        tasks: all on one site of ours, or all elsewhere, in the order in which they begin.

    Raises:
        BenchmarkError: the tasks are on several of our sites, or on one and elsewhere, or the scripted teacher has
            no plan for one.
    """
    worlds = sorted({world_of(task) for task in tasks})
    if len(worlds) > 1:
        raise BenchmarkError(f"the tasks are on {' and '.join(worlds)}, and a run is on one of them: split them")
    world = worlds[0] if worlds else "live"
    params = params.model_copy(update={"sites": params.sites.model_copy(update={"world": world})})
    is_live = world == "live"
    if contender.open is None and not all(family(task) in PLANS for task in tasks):
        raise BenchmarkError(f"the scripted teacher has plans for {len(PLANS)} pages only: name a model with --model")
    version = f"{contender.label}:{run.key}"
    policy = contender.open(params, version, run.state) if contender.open is not None else None
    ledger = run.state / "spent.json" if contender.is_priced else None
    asked = sorted(specs(tasks, repeats, version, params.seed), key=lambda spec: spec.attempt)

    with Journal(run.state / "episodes.jsonl", Trajectory) as journal:
        account = Account(run, journal, ledger)

        def used_up() -> str | None:
            spent = account.spent
            return budget.used_up(spent.model_copy(update={"usd": spent.usd + account.judging.usd}))

        async with policy or nullcontext() as same, open_pool(params) as pool:

            def policy_for(spec: EpisodeSpec, session: Environment) -> Policy:
                return same or ScriptedTeacher(session, spec, 0.0, params.agent.protocol)

            per_host, delay_s = (politeness.per_host, politeness.delay_s) if is_live else (len(asked), 0.0)
            trajectories = await collect(
                asked,
                pool,
                policy_for,
                EpisodeSettings(
                    Renderer(params.agent, params.observation, params.model.think_prefix),
                    params.agent,
                    params.evaluation.sampling,
                    params.evaluation.max_steps,
                    params.evaluation.max_response_tokens or params.agent.max_response_tokens,
                    probes_of,
                ),
                journal,
                lambda done, total: run.progress(done, total, "episodes"),
                PacedSeats(pool, max(1, per_host), delay_s, used_up).seat,
            )
        retried = len(journal.records) - len({one.trajectory_id for one in journal.records})
        stopped_by = used_up() if len(trajectories) < len(asked) else None
        return Measured(trajectories, retried, account.spent, stopped_by)
