"""Rollouts of a benchmark on local or live sites: paced per host, within a budget, with a journal."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from components.agent import EpisodeSettings, EpisodeSpec, Policy, Renderer
from components.benchmarks.spec import BenchmarkError, Politeness
from components.benchmarks.subject import Subject
from components.browser import Environment
from components.journal import Journal
from components.judge import probes_of
from components.params import Params
from components.pipeline.rollouts import open_pool
from components.pipeline.stage_run import StageRun
from components.policies.scripted import scripted_policy
from components.records import Task, Trajectory
from components.rollout import Budget, CollectOptions, PacedSessions, RunCost, collect, episode_specs
from components.store import read_json
from components.worlds import WorldError, Worlds, world_class, worlds_of


@dataclass(frozen=True)
class RolledOut:
    """The ended episodes, the number of repeated ones, their cost, and the limit that stopped them, if any."""

    trajectories: list[Trajectory]
    retried: int
    spent: RunCost
    stopped_by: str | None


class CostMeter:
    """The cost of a run over all of its tries, from its clock, its journal and the ledgers of endpoints."""

    def __init__(self, run: StageRun, journal: Journal[Trajectory], ledger: Path | None) -> None:
        self._run = run
        self._journal = journal
        self._ledger = ledger
        self._counted = self._tokens = 0

    @property
    def judging(self) -> RunCost:
        """The cost of judges in earlier tries."""
        ledgers = self._run.state.glob("spent-judge-*.json")
        return RunCost(usd=sum(read_json(ledger)["usd"] for ledger in ledgers))

    @property
    def spent(self) -> RunCost:
        """The cost without judges."""
        minutes = round(self._run.seconds / 60, 2)
        if self._ledger is not None:
            entries = read_json(self._ledger) if self._ledger.exists() else {}
            tokens = entries.get("prompt_tokens", 0) + entries.get("completion_tokens", 0)
            return RunCost(usd=round(entries.get("usd", 0.0), 6), minutes=minutes, tokens=tokens)
        for trajectory in self._journal.records[self._counted :]:
            self._tokens += trajectory.response_tokens + sum(turn.prompt_tokens for turn in trajectory.turns)
        self._counted = len(self._journal.records)
        return RunCost(minutes=minutes, tokens=self._tokens)


async def roll_out_paced(
    run: StageRun,
    params: Params,
    tasks: list[Task],
    repeats: int,
    subject: Subject,
    politeness: Politeness,
    budget: Budget,
    occasion: str = "",
) -> RolledOut:
    """Run `repeats` episodes per task, first one of each task, then the second; a spent budget starts no more.

    Episodes on local sites are not paced, and those of another occasion have other seeds.

    Args:
        params: the recipe with the benchmark's settings.
        tasks: all on one world, in the order in which they begin.

    Raises:
        BenchmarkError: the tasks are on several worlds, or the scripted teacher cannot do one of them, or `repeats` is
            above 1 and an episode on their world finds what another one changed, or the model cannot be opened.
    """
    worlds = benchmark_worlds(params, tasks)
    if repeats > 1:
        try:
            worlds.require_independent(tasks, f"repeats = {repeats}")
        except WorldError as error:
            raise BenchmarkError(str(error)) from error
    params = params.model_copy(update={"worlds": {world.key: world.params for world in worlds}})
    is_live = all(map(worlds.is_live, tasks))
    if subject.open is None and not all(worlds.of(task).can_teach(task) for task in tasks):
        raise BenchmarkError("the scripted teacher cannot do all of these tasks: name a model with --model")
    version = f"{subject.key}{occasion and f'@{occasion}'}:{run.key}"
    try:
        policy = subject.open(params, version, run.state) if subject.open is not None else None
    except OSError as error:
        reason = str(error).split("\n")[0]
        raise BenchmarkError(
            f"the model {subject.label} cannot be opened: {reason}; name another with --model"
        ) from error
    ledger = run.state / "spent.json" if subject.is_priced else None
    episodes = sorted(episode_specs(tasks, repeats, version, params.seed), key=lambda spec: spec.attempt)

    with Journal(run.state / "episodes.jsonl", Trajectory) as journal:
        cost = CostMeter(run, journal, ledger)

        def used_up() -> str | None:
            spent = cost.spent
            return budget.used_up(spent.model_copy(update={"usd": spent.usd + cost.judging.usd}))

        async with policy or nullcontext() as shared_policy, open_pool(params) as pool:
            script = scripted_policy(worlds, speaks=params.agent.protocol)

            def policy_for(spec: EpisodeSpec, session: Environment) -> Policy:
                return shared_policy or script(spec, session)

            per_host, delay_s = (politeness.per_host, politeness.delay_s) if is_live else (len(episodes), 0.0)
            trajectories = await collect(
                episodes,
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
                CollectOptions(
                    progress=lambda done, total: run.progress(done, total, "episodes"),
                    open_session=PacedSessions(pool, max(1, per_host), delay_s, used_up).session,
                ),
            )
        retried = len(journal.records) - len({trajectory.trajectory_id for trajectory in journal.records})
        stopped_by = used_up() if len(trajectories) < len(episodes) else None
        return RolledOut(list(trajectories), retried, cost.spent, stopped_by)


def benchmark_worlds(params: Params, tasks: list[Task]) -> Worlds:
    """The world of a benchmark's tasks, as the recipe sets it up, or with its defaults if the recipe does not have it.

    Raises:
        BenchmarkError: the tasks are on several worlds.
    """
    recipe = worlds_of(params)
    names = sorted({recipe.name_of(task) for task in tasks}) or recipe.names[:1]
    if len(names) > 1:
        raise BenchmarkError(f"the tasks are on {' and '.join(names)}, and a benchmark run is on one world: split them")
    (name,) = names
    world = next((world for world in recipe if world.name == name), None)
    return Worlds([world or world_class(name)(world_class(name).Params())])
