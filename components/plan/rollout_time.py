"""Times of rollouts and of judges: a batch of episodes, and the rollouts of one RL iteration.

An iteration works as `rollout.sampling.sample_groups` and `training.rl_rollouts` do (`stream_time` has the other way,
`rl.open_groups`). A wave of groups ends with its last episode. Then its answers are judged; an endpoint judges them
already while the other episodes run. Failed tasks get further attempts, which are judged too. Waves follow until enough
groups are effective. Then their branches run.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cache

from components.judge.protocols import judge_protocol
from components.params import EndpointTeacherParams, RLPhase
from components.plan.distilled_judge import judge_rows, served_judge
from components.plan.episodes import FEEDBACK, PromptShape, draw_episodes
from components.plan.setting import Setting
from components.plan.simulation import Episode, Facilities, Usage, queue, roll_out

MOST_SIMULATED = 400
"""Episodes of a stage that are simulated; the time of more is in proportion."""
JUDGE_INSTRUCTIONS = {"full": 350, "extended": 350, "compact": 40}
"""Tokens of a judge's instructions with the task, by `agent.prompt`; an endpoint gets the full ones."""
CALL = 20
"""Tokens of a turn's calls in a question to a judge, which does not get the reasoning."""
VERDICT = 0.3
"""Tokens of a verdict as a share of their limit."""
ENDPOINT_VERDICT = 250
"""Tokens of a verdict from an endpoint."""


@dataclass(frozen=True)
class Tokens:
    """Tokens and questions of a stage."""

    prompt: float = 0.0
    """Tokens of the policy's prompts, those in a cache included."""
    response: float = 0.0
    trained: float = 0.0
    """Tokens of all training passes, prefixes that samples share counted once in each pass."""
    judge_calls: float = 0.0
    judge_prompt: float = 0.0
    judge_response: float = 0.0
    endpoint_usd: float = 0.0
    """Dollars for endpoints, at the prices of the recipe."""

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(*(a + b for a, b in zip(self._values, other._values, strict=True)))

    def times(self, factor: float) -> Tokens:
        """As often as `factor` says."""
        return Tokens(*(factor * value for value in self._values))

    @property
    def _values(self) -> tuple[float, ...]:
        judge = (self.judge_calls, self.judge_prompt, self.judge_response)
        return (self.prompt, self.response, self.trained, *judge, self.endpoint_usd)


@dataclass(frozen=True)
class Timed:
    """A part of a stage: its seconds and busy resources, and its tokens."""

    usage: Usage = field(default_factory=Usage)
    tokens: Tokens = Tokens()

    def __add__(self, other: Timed) -> Timed:
        return Timed(self.usage + other.usage, self.tokens + other.tokens)

    def times(self, factor: float) -> Timed:
        """As often as `factor` says."""
        return Timed(self.usage.times(factor), self.tokens.times(factor))


@dataclass(frozen=True)
class Batch:
    """Episodes that begin together.

    Attributes:
        stage: whose habits and rates apply.
        seed: of the draws.
        is_evaluation: their tasks are not those of training, which may have step limits of their own (`tasks.horizon`).
    """

    stage: str
    episodes: int
    max_steps: int
    seed: str = ""
    is_evaluation: bool = False


@dataclass(frozen=True)
class IterationRollouts:
    """The rollouts of one iteration."""

    rollouts: Timed
    judging: Timed
    groups: int
    effective: int
    trajectories: int
    waves: int
    """Batches of episodes that begin together; 0 for a stream of groups."""
    turns: float
    """Of a trajectory, on average."""
    branches: int = 0
    """Episodes that begin at a turn of another one (`rl.branches`), among `trajectories`."""


def rollouts(setting: Setting, batch: Batch) -> Timed:
    """The time of a batch of episodes, by simulation."""
    if not batch.episodes:
        return Timed()
    rates, shape = setting.rates, setting.prompt_shape(batch.stage)
    turns = setting.turns(batch.stage, batch.max_steps, batch.is_evaluation)
    facilities = facilities_of(setting, batch, shape.mean_length(turns.mean))
    count = min(batch.episodes, max(MOST_SIMULATED, 2 * setting.params.browser.concurrency))
    is_cached = setting.has_servers or batch.stage == "teacher_rollouts"
    episodes = draw_episodes(count, shape, rates, turns, is_cached, f"{batch.stage}:{batch.seed}")
    simulated = Timed(roll_out(episodes, facilities), episode_tokens(setting, batch, episodes, shape))
    scaled = simulated.times(batch.episodes / count)
    return Timed(scaled.usage.times(rates.rollout_scale.get(batch.stage, 1.0)), scaled.tokens)


def episode_tokens(setting: Setting, batch: Batch, episodes: list[Episode], shape: PromptShape) -> Tokens:
    """Tokens of the policy, or of the teacher, in episodes of a batch."""
    prompt = sum(shape.length(index) for episode in episodes for index in range(len(episode.turns)))
    response = sum(turn.response_tokens for episode in episodes for turn in episode.turns)
    teacher = setting.params.teacher
    if batch.stage != "teacher_rollouts":
        return Tokens(prompt, response)
    if not isinstance(teacher, EndpointTeacherParams):
        return Tokens()
    prices = teacher.endpoint.usd_per_million_prompt, teacher.endpoint.usd_per_million_completion
    return Tokens(prompt, response, endpoint_usd=(prices[0] * prompt + prices[1] * response) / 1e6)


def facilities_of(setting: Setting, batch: Batch, context: float) -> Facilities:
    """What the episodes of a batch share; `context` is the mean of tokens that a sequence has."""
    units = setting.units(batch.stage)
    browsers, cores, servers = units["browsers"], units["cores"], units["servers"]
    if batch.stage == "teacher_rollouts":
        token_s = 1 / setting.rates.endpoint_tokens_per_s
        return Facilities(browsers, cores, servers, 1, token_s=lambda sequences: token_s)
    speeds = setting.serving()
    patches = setting.policy.image_patches(setting.params.browser.viewport)
    has_images = setting.params.agent.shows_screenshots

    @cache
    def prefill_s(tokens: int) -> float:
        return speeds.prefill_s(tokens, float(has_images), patches)

    @cache
    def token_s_of(sequences: int) -> float:
        return speeds.token_s(sequences, context)

    return Facilities(browsers, cores, servers, setting.slots(context), prefill_s, token_s_of)


def pages_of(turns: float) -> int:
    """Pages of a trajectory: one before each turn, and the last one."""
    return math.ceil(turns) + 1


def judged_by_model(setting: Setting, stage: str, calls: float, turns: float, resource: str = "judge") -> Timed:
    """Questions to the judge's endpoint, and to its voters; no time without one. Servers are asked at the same time."""
    model = setting.params.judge.model
    if model is None or not round(calls):
        return Timed()
    endpoints = [model.endpoint, *model.voters]
    questions = judge_protocol(model.protocol, model.screenshots).questions(pages_of(turns))
    verdicts = round(calls * len(endpoints))
    image = setting.policy.image_tokens(setting.params.browser.viewport)
    history = JUDGE_INSTRUCTIONS["full"] + turns * (CALL + FEEDBACK["full"])
    prompt = questions.requests * history + questions.screenshots * image
    completion = questions.requests * ENDPOINT_VERDICT
    usd = sum(
        calls * (endpoint.usd_per_million_prompt * prompt + endpoint.usd_per_million_completion * completion) / 1e6
        for endpoint in endpoints
    )
    tokens = Tokens(0, 0, 0, verdicts * questions.requests, verdicts * prompt, verdicts * completion, usd)
    verdict_s = _verdict_s(setting, questions.requests)
    usages = []
    for server, models in Counter(endpoint.url for endpoint in endpoints).items():
        own = server == model.endpoint.url
        limit = next(endpoint.max_in_flight for endpoint in endpoints if endpoint.url == server)
        jobs = [verdict_s] * round(calls * models)
        usages.append(queue(jobs, setting.units(stage)[resource] if own else limit, resource))
    return Timed(max(usages, key=lambda usage: usage.seconds), tokens)


def _verdict_s(setting: Setting, questions: int) -> float:
    """Seconds of a verdict of a judge behind an endpoint that asks so many questions: as measured, if it was."""
    measured = setting.rates.verdict_s
    return setting.rates.judge_s * questions if measured is None else measured


def distilled_prompt(setting: Setting, turns: float) -> float:
    """Tokens of a question to the distilled judge."""
    params = setting.params
    image = setting.judge.image_tokens(params.browser.viewport)
    history = turns * (CALL + FEEDBACK[params.agent.prompt])
    return JUDGE_INSTRUCTIONS[params.agent.prompt] + history + params.judge.distill.screenshots * image


def judged_by_distilled(setting: Setting, calls: float, turns: float, servers: int = 1) -> Timed:
    """Questions to the distilled judge, which answers in batches, on each of its servers alike."""
    if not round(calls):
        return Timed()
    params, speeds = setting.params, setting.judging()
    prompt, answer = distilled_prompt(setting, turns), VERDICT * params.judge.distill.max_response_tokens
    patches = setting.judge.image_patches(params.browser.viewport)
    seconds, rows_left = 0.0, math.ceil(round(calls) / servers)
    while rows_left:
        rows = min(judge_rows(params), rows_left)
        seconds += rows * speeds.prefill_s(prompt, params.judge.distill.screenshots, patches)
        seconds += answer * speeds.token_s(rows, prompt + answer)
        rows_left -= rows
    tokens = Tokens(0, 0, 0, calls, calls * prompt, calls * answer)
    return Timed(Usage(seconds, {"judge": servers * seconds}), tokens)


def rewarded(setting: Setting, stage: str, calls: float, turns: float, servers: int | None = None) -> Timed:
    """The judge that rewards RL, and the auditor beside it.

    Args:
        servers: of the distilled judge, over which the questions are spread; None takes all that it has.
    """
    judge = setting.params.judge
    if judge.reward == "model":
        return judged_by_model(setting, stage, calls, turns)
    if judge.reward == "rules":
        return Timed()
    audit = calls * judge.trust.audit_share if judge.labels == "model" else 0.0
    if servers is None:
        servers = 1 if served_judge(setting.params) is None else setting.units(stage)["judge"]
    distilled = judged_by_distilled(setting, calls, turns, servers)
    return distilled + judged_by_model(setting, stage, audit, turns, "auditor")


def rewarded_after(setting: Setting, stage: str, calls: float, turns: float, rolled_s: float) -> Timed:
    """What a batch's questions to the judge take after its last episode. An endpoint is asked as episodes end, so what
    is left is the last question, or what it cannot answer while the batch runs."""
    answers = rewarded(setting, stage, calls, turns)
    if setting.params.judge.reward != "model" or not answers.usage.seconds:
        return answers
    left = max(_verdict_s(setting, 1), answers.usage.seconds - rolled_s)
    return Timed(Usage(left, answers.usage.busy), answers.tokens)


def iteration_rollouts(setting: Setting, phase: RLPhase, stage: str) -> IterationRollouts:
    """The rollouts and the judging of one iteration. The sampler knows the rate of effective groups by then.

    Args:
        stage: with its phase, such as `train_rl@short`.
    """
    rl, rates = setting.params.rl, setting.rates
    habits, share = rates.habits_of(stage), rates.effective_share_of(stage)
    turns = setting.turns(stage, phase.max_steps).mean
    rng = random.Random(f"{setting.params.seed}:{stage}")
    rolled, judging = Timed(), Timed()
    groups = effective = trajectories = waves = 0
    while effective < rl.effective_groups and groups < rl.max_sampled_groups:
        rate = max(effective / groups if groups else share, rl.task_sampling.min_wave_rate)
        wave = max(round((rl.effective_groups - effective) / rate), rl.task_sampling.min_wave)
        wave = min(wave, rl.max_sampled_groups - groups)
        for episodes in (wave * rl.group_size, round(wave * rates.failed_share) * rl.extra_attempts):
            waves += episodes > 0
            batch = rollouts(setting, Batch(stage, episodes, phase.max_steps, str(waves)))
            rolled += batch
            judging += rewarded_after(setting, stage, episodes * habits.judged, turns, batch.usage.seconds)
            trajectories += episodes
        groups += wave
        effective += sum(rng.random() < share for _ in range(wave))
    return IterationRollouts(rolled, judging, groups, effective, trajectories, waves, turns)


def with_branches(setting: Setting, phase: RLPhase, stage: str, rolled: IterationRollouts) -> IterationRollouts:
    """The rollouts of an iteration and then its branches (`rl.branches`), which run when all groups have ended.

    They are counted as whole episodes, though the policy answers in a part of their turns only.
    """
    params, habits = setting.params.rl.branches, setting.rates.habits_of(stage)
    branches = rolled.effective * params.per_group * params.continuations if params is not None else 0
    if not branches:
        return rolled
    batch = rollouts(setting, Batch(stage, branches, phase.max_steps, "branches"))
    answers = rewarded_after(setting, stage, branches * habits.judged, rolled.turns, batch.usage.seconds)
    return replace(
        rolled,
        rollouts=rolled.rollouts + batch,
        judging=rolled.judging + answers,
        trajectories=rolled.trajectories + branches,
        branches=branches,
    )
