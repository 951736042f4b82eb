"""The rollouts of one RL iteration whose groups stream (`rl.open_groups`), by simulation.

When a group begins is decided by `rollout.OpenGroups`, as in a run. An endpoint judges each answer when its episode has
ended, the distilled judge a group's answers when its last episode has ended; the other groups go on meanwhile.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from components.params import RLPhase
from components.plan.distilled_judge import served_judge
from components.plan.episodes import draw_episodes
from components.plan.rollout_time import (
    Batch,
    IterationRollouts,
    Timed,
    episode_tokens,
    facilities_of,
    rewarded,
)
from components.plan.setting import Setting
from components.plan.simulation import Episode, Machines, Process, Usage
from components.rollout import OpenGroups, Step

if TYPE_CHECKING:
    import simpy


def streamed_rollouts(setting: Setting, phase: RLPhase, stage: str) -> IterationRollouts:
    """The rollouts and the judging of one iteration, as `rollout_time.iteration_rollouts` has them for waves. The part
    `judging` is the time in which a judge works and no episode runs.

    Args:
        stage: with its phase, such as `train_rl@short`.
    """
    return _Stream(setting, phase, stage).run()


@dataclass
class _Busy:
    """Seconds in which some episode runs, and those in which only a judge works."""

    world: simpy.Environment
    rolled_s: float = 0.0
    judged_s: float = 0.0
    rolling: int = 0
    judging: int = 0
    since: float = field(default=0.0)

    def change(self, rolling: int, judging: int) -> None:
        elapsed = self.world.now - self.since
        if self.rolling:
            self.rolled_s += elapsed
        elif self.judging:
            self.judged_s += elapsed
        self.rolling, self.judging, self.since = self.rolling + rolling, self.judging + judging, self.world.now


class _Stream:
    """One iteration."""

    def __init__(self, setting: Setting, phase: RLPhase, stage: str) -> None:
        import simpy

        self.setting, self.stage = setting, stage
        rl, rates = setting.params.rl, setting.rates
        self.habits, numbers = rates.habits_of(stage), setting.turns(stage, phase.max_steps)
        self.turns = numbers.mean
        self.batch = Batch(stage, rl.max_sampled_groups * (rl.group_size + rl.extra_attempts), phase.max_steps)
        self.shape = setting.prompt_shape(stage)
        drawn = draw_episodes(self.batch.episodes, self.shape, rates, numbers, setting.has_servers, f"{stage}:stream")
        self.episodes: Iterator[Episode] = iter(drawn)
        self.rng = random.Random(f"{setting.params.seed}:{stage}")
        self.played: list[Episode] = []
        self.judge_s = 0.0
        """Sum over the groups."""
        self.world = simpy.Environment()
        self.busy = _Busy(self.world)
        self.machines = Machines(self.world, facilities_of(setting, self.batch, self.shape.mean_length(self.turns)))
        self.by_model, served = setting.params.judge.reward == "model", served_judge(setting.params) is not None
        self.judges = simpy.Resource(self.world, setting.units(stage)["judge"] if self.by_model or served else 1)
        """A unit judges one answer at a time, or one group with the distilled judge."""

    def run(self) -> IterationRollouts:
        rl, rates = self.setting.params.rl, self.setting.rates
        share = rates.effective_share_of(self.stage)
        rate = rl.task_sampling.min_wave_rate
        plan = OpenGroups(rl.effective_groups, rl.max_sampled_groups, rl.open_groups or 1, share, rate)
        self.world.run(until=self.world.process(self._control(plan, share)))
        self.busy.change(0, 0)
        rolled = Usage(self.busy.rolled_s, self.machines.busy).times(rates.rollout_scale.get(self.stage, 1.0))
        tokens = episode_tokens(self.setting, self.batch, self.played, self.shape)
        answers = rewarded(self.setting, self.stage, len(self.played) * self.habits.judged, self.turns)
        busy = {name: self.judge_s if name == "judge" else seconds for name, seconds in answers.usage.busy.items()}
        judging = Timed(Usage(self.busy.judged_s, busy), answers.tokens)
        counts = plan.begun, sum(plan.known), len(self.played)
        return IterationRollouts(Timed(rolled, tokens), judging, *counts, 0, self.turns)

    def _control(self, plan: OpenGroups, share: float) -> Process:
        groups: list[simpy.Process] = []
        while (step := plan.step()) is not Step.END:
            if step is Step.BEGIN:
                groups.append(self.world.process(self._group()))
                plan.begun += 1
            else:
                yield groups[len(plan.known)]
                plan.known.append(self.rng.random() < share)

    def _group(self) -> Process:
        rl = self.setting.params.rl
        yield from self._attempt(rl.group_size)
        if rl.extra_attempts and self.rng.random() < self.setting.rates.failed_share:
            yield from self._attempt(rl.extra_attempts)

    def _attempt(self, count: int) -> Process:
        episodes = [next(self.episodes) for _ in range(count)]
        self.played += episodes
        self.busy.change(1, 0)
        running = [self.world.process(self.machines.run(episode)) for episode in episodes]
        answers = count * self.habits.judged
        alone = running[: round(answers)] if self.by_model else []
        questions = [self.world.process(self._judge(1.0, episode)) for episode in alone]
        yield self.world.all_of(running)
        self.busy.change(-1, 0)
        yield self.world.all_of(questions) if self.by_model else self.world.process(self._judge(answers))

    def _judge(self, answers: float, episode: simpy.Process | None = None) -> Process:
        """Judge some answers together, once their episode has ended."""
        if episode is not None:
            yield episode
        verdicts = rewarded(self.setting, self.stage, answers, self.turns, servers=1)
        self.judge_s += verdicts.usage.busy.get("judge", 0.0)
        if verdicts.usage.seconds:
            with self.judges.request() as judge:
                self.busy.change(0, 1)
                yield judge
                yield self.world.timeout(verdicts.usage.seconds)
                self.busy.change(0, -1)
