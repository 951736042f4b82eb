"""Success rates with intervals, and what the episodes took.

Three kinds of tasks count differently:

- a task that the environment ended (`Termination.is_agents_doing` is false) is no success in `rate`, the official
  number, and is left out of `rate_without_aborted` (OpenWebRL, section 5, Evaluation Metrics);
- a task whose verdict is an error or unreadable is left out of every rate and counted in `unjudged`: an outage of the
  judge is no failure of the agent;
- a task that needs no judge, because the agent did not finish with an answer, is a failure.

Intervals are 95% and over tasks, never over episodes: attempts at one task are not independent.
Tasks of the split `heldout` (families never trained on) never enter the headline numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
from pydantic import AliasChoices, Field

from components.evaluation.actions import ActionSummary, summarise_actions
from components.evaluation.breakdowns import Slice, breakdowns
from components.evaluation.episodes import Episode, join_verdicts, scores, task_set
from components.evaluation.errors import EvaluationError
from components.evaluation.pass_at_k import pass_at_k
from components.evaluation.reasoning_markers import MarkerSummary, summarise
from components.evaluation.state_summary import StateSummary, summarise_state
from components.evaluation.taxonomy import GROUP
from components.records import Record, Trajectory, Verdict
from components.statistics import Interval, Rate, SuccessRate, success_rate, wilson


class Usage(Record):
    """What the episodes took: means over episodes, but sums in US dollars. None: it was not recorded.

    `browser_s_mean` includes the browser's start. Prompt tokens are counted again in every turn, as a server without a
    prefix cache reads them. `judged` counts verdicts, over which the judge's means are taken.
    """

    prompt_tokens_mean: float
    policy_s_mean: float
    browser_s_mean: float
    wall_s_mean: float | None = None
    policy_usd: float | None = None
    judged: int = 0
    judge_tokens_mean: float | None = None
    judge_s_mean: float | None = None
    judge_usd: float | None = None


class SuccessSummary(SuccessRate):
    """One evaluation; `model_dump(mode="json", exclude_none=True)` is the stage's JSON.

    `n` counts the judged tasks, `ci95` is the interval over them, `wilson95` the Wilson interval over episodes.
    `valid` is false if more than the allowed share of episodes was ended by the environment or left unjudged, if the
    environment ended most episodes of a family, or if the environment did either to the tasks of `heldout`; `problems`
    says which. Verdicts that are missing on tasks of `heldout` alone leave the evaluation valid.
    `completed` is the share of tasks that were done, whatever else the agent did; `rate` counts only those with nothing
    else done. `actions` is over the successes. `heldout` summarises the tasks of families that are never trained on. It
    is None if there are none, or if it was not measured: `heldout_problems` says why then, and `heldout_unjudged`
    counts the tasks without a verdict. These and the fields after them are missing from summaries that an earlier
    version wrote. `markers` are the lexical reasoning markers, which earlier versions called `proxies`; `task_set`
    is a checksum.
    """

    wilson95: Interval
    rate_without_aborted: float | None = None
    n_without_aborted: int
    aborted: int
    unjudged: int
    valid: bool
    problems: list[str] = Field(default_factory=list)
    families: dict[str, Rate]
    terminations: dict[str, int]
    failures: dict[str, int]
    turns_mean: float
    response_tokens_mean: float
    completed: float | None = None
    actions: ActionSummary | None = None
    heldout: SuccessSummary | None = None
    heldout_unjudged: int = 0
    heldout_problems: list[str] = Field(default_factory=list)
    failure_groups: dict[str, int] = Field(default_factory=dict)
    pass_at_k: dict[str, SuccessRate] = Field(default_factory=dict)
    breakdowns: list[Slice] = Field(default_factory=list)
    markers: MarkerSummary | None = Field(default=None, validation_alias=AliasChoices("markers", "proxies"))
    usage: Usage | None = None
    state: StateSummary | None = None
    task_set: str | None = None

    def slices(self, axis: str) -> list[Slice]:
        """The breakdown by one axis; empty if no task has a value on it."""
        return [part for part in self.breakdowns if part.axis == axis]


SUMMARY_KEYS = frozenset({*SuccessSummary.model_fields, "proxies"})
"""The keys of a stage's result that are of its summary, with those of earlier versions."""


def success(
    trajectories: Iterable[Trajectory], verdicts: Iterable[Verdict], max_aborted: float = 0.1
) -> SuccessSummary:
    """Summarise one evaluation; families that are never trained on are summarised in `heldout`.

    Args:
        max_aborted: share of episodes, 0 to 1, that may be aborted or unjudged before the evaluation is invalid.

    Raises:
        EvaluationError: nothing was evaluated, or an answer has no verdict.
    """
    episodes = join_verdicts(trajectories, verdicts)
    heldout = [episode for episode in episodes if episode.split == "heldout"]
    main = [episode for episode in episodes if episode.split != "heldout"]
    if not main:
        return _summary(heldout, max_aborted)
    whole = _summary(main, max_aborted)
    if not heldout:
        return whole
    unmeasured = _problems(heldout, max_aborted)
    by_environment = unmeasured if _environment_failed(heldout, max_aborted) else []
    problems = [*whole.problems, *(f"of the held-out tasks, {problem}" for problem in by_environment)]
    return whole.model_copy(
        update={
            "heldout": None if unmeasured else _summary(heldout, max_aborted),
            "heldout_unjudged": sum(episode.success is None for episode in heldout) if unmeasured else 0,
            "heldout_problems": unmeasured,
            "valid": not problems,
            "problems": problems,
        }
    )


def _summary(episodes: list[Episode], max_aborted: float) -> SuccessSummary:
    if not episodes:
        raise EvaluationError("there is no episode to evaluate: give tasks to evaluate on, and run the rollouts first")
    judged = [episode for episode in episodes if episode.success is not None]
    if not judged:
        raise EvaluationError(f"none of {len(episodes)} episodes has a verdict; run the rollouts and the judge first")
    scores_N = _judged_scores(judged)
    kept_N = _judged_scores(episode for episode in judged if episode.termination.is_agents_doing)
    problems = _problems(episodes, max_aborted)
    failed = [episode.failure for episode in episodes if episode.failure is not None]
    by_task = {task: score for task, score in scores(judged).items() if score is not None}
    return SuccessSummary(
        **success_rate(scores_N, len(judged)).model_dump(),
        wilson95=wilson(sum(bool(episode.success) for episode in judged) / len(judged), len(judged)),
        rate_without_aborted=float(kept_N.mean()) if len(kept_N) else None,
        n_without_aborted=len(kept_N),
        aborted=_aborted(episodes),
        unjudged=len(episodes) - len(judged),
        valid=not problems,
        problems=problems,
        families=_by_family(judged),
        terminations=_counts(episode.termination for episode in episodes),
        failures=_counts(failed),
        turns_mean=float(np.mean([episode.turns for episode in episodes])),
        response_tokens_mean=float(np.mean([episode.response_tokens for episode in episodes])),
        completed=float(_judged_scores(judged, completed=True).mean()),
        actions=summarise_actions(judged),
        failure_groups=_counts(GROUP[kind] for kind in failed),
        pass_at_k=pass_at_k(judged),
        breakdowns=breakdowns(by_task, {episode.task_id: episode.facets for episode in judged}),
        markers=summarise([step for episode in episodes for step in episode.steps]),
        usage=_usage(episodes),
        state=summarise_state([(part.state, bool(part.success)) for part in judged if part.state is not None]),
        task_set=task_set(episodes),
    )


def _usage(episodes: list[Episode]) -> Usage:
    walls = [episode.wall_s for episode in episodes if episode.wall_s is not None]
    costs = [episode.policy_usd for episode in episodes if episode.policy_usd is not None]
    judges = [episode.judge for episode in episodes if episode.judge is not None]
    return Usage(
        prompt_tokens_mean=float(np.mean([episode.prompt_tokens for episode in episodes])),
        policy_s_mean=float(np.mean([episode.policy_s for episode in episodes])),
        browser_s_mean=float(np.mean([episode.browser_s for episode in episodes])),
        wall_s_mean=float(np.mean(walls)) if walls else None,
        policy_usd=sum(costs) if costs else None,
        judged=len(judges),
        judge_tokens_mean=float(np.mean([use.tokens for use in judges])) if judges else None,
        judge_s_mean=float(np.mean([use.seconds for use in judges])) if judges else None,
        judge_usd=sum(use.usd for use in judges) if judges else None,
    )


def _problems(episodes: list[Episode], max_aborted: float) -> list[str]:
    """Why the rate of these episodes would measure the environment or the judge, in words; empty if it does not."""
    aborted, unjudged = _aborted(episodes), sum(episode.success is None for episode in episodes)
    problems = []
    if aborted + unjudged > max_aborted * len(episodes):
        problems.append(
            f"{aborted} of {len(episodes)} episodes were ended by the environment and {unjudged} were not judged "
            f"(evaluation.max_aborted is {max_aborted:g})"
        )
    elif episodes and unjudged == len(episodes):
        problems.append(f"none of {unjudged} episodes was judged")
    return [*problems, *_lost_families(episodes, max_aborted)]


def _environment_failed(episodes: list[Episode], max_aborted: float) -> bool:
    """Whether the environment alone ended too many of these episodes, whatever the judge said of the others."""
    return _aborted(episodes) > max_aborted * len(episodes) or bool(_lost_families(episodes, max_aborted))


def _lost_families(episodes: list[Episode], max_aborted: float) -> list[str]:
    """The families with at least five episodes of which the environment ended most, in words."""
    problems = []
    families: dict[str, list[Episode]] = {}
    for episode in episodes:
        families.setdefault(episode.family, []).append(episode)
    for name, members in sorted(families.items()):
        if len(members) >= 5 and (ended := _aborted(members)) > max(max_aborted, 0.5) * len(members):
            problems.append(f"{ended} of {len(members)} episodes of {name} were ended by the environment")
    return problems


def _aborted(episodes: list[Episode]) -> int:
    return sum(not episode.termination.is_agents_doing for episode in episodes)


def _by_family(judged: list[Episode]) -> dict[str, Rate]:
    families: dict[str, list[Episode]] = {}
    for episode in judged:
        families.setdefault(episode.family, []).append(episode)
    by_name = {name: _judged_scores(members) for name, members in sorted(families.items())}
    return {name: Rate(rate=float(values_N.mean()), n=len(values_N)) for name, values_N in by_name.items()}


def _judged_scores(episodes: Iterable[Episode], completed: bool = False) -> np.ndarray:
    """The tasks' mean success, or the share of their episodes that were `completed`."""
    if completed:
        episodes = [episode.model_copy(update={"success": episode.completed}) for episode in episodes]
    by_task = scores(episodes)
    return np.array([by_task[task] for task in sorted(by_task)], dtype=float)


def _counts(names: Iterable[str]) -> dict[str, int]:
    return {str(name): count for name, count in sorted(Counter(names).items())}
