"""The rule of a task, from its `evaluator`, and the refusal of tasks without a usable one before any episode.

The `eval` object of WebArena's and VisualWebArena's rows is taken as published (`published_eval`), beside whatever
else a task keeps in its evaluator.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from components.judge.rules.conditions import WebArenaRule
from components.judge.rules.published_eval import webarena_rule
from components.judge.verified.client import VerifiedError, find_python
from components.judge.verified.rule import VerifiedRule
from components.records import Record, Task

_PLACEHOLDER = re.compile(r"__[A-Z][A-Z_]*[A-Z]__")
_WEBARENA = ("webarena", "visualwebarena")
"""Evaluators with an `eval` object of WebArena's form."""


class QARule(Record):
    """The answer must equal one of these (open QA)."""

    type: Literal["qa"] = "qa"
    answers: Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1)]


class SiteRewardRule(Record):
    """The reward of the world's own pages or server decides."""

    type: Literal["site_reward"] = "site_reward"


class HintRule(Record):
    """A reference answer of WebVoyager. It cannot decide, because pages change or because many answers are right."""

    type: Literal["webvoyager"] = "webvoyager"
    answer_type: Literal["golden", "possible"]
    notice: str = ""


class NoRule(Record):
    """No rule: a judge model must decide. `type` is the benchmark's, or empty."""

    type: str


Rule = WebArenaRule | VerifiedRule | QARule | SiteRewardRule | HintRule | NoRule


class RuleError(ValueError):
    """An evaluator that cannot be used; the message names the part and the reason."""


def rule_of(evaluator: Mapping[str, Any]) -> Rule:
    """The rule of a task's evaluator: `{"type": "webarena", "eval": …}` (or `visualwebarena`), `{"type":
    "webarena_verified", "row": …, "addresses": …}`, `{"type": "qa",
    "answers": […]}`, `{"type": "site_reward"}`, `{"type": "webvoyager", "answer_type": …, "notice": …}`; the last and
    any other type cannot decide.

    Raises:
        RuleError: the evaluator's form is unknown.
    """
    kind = evaluator.get("type", "")
    try:
        if kind in _WEBARENA:
            return webarena_rule(evaluator["eval"], is_visual=kind == "visualwebarena")
        if kind == "webarena_verified":
            return VerifiedRule(row=evaluator["row"], addresses=evaluator["addresses"])
        if kind == "qa":
            return QARule(answers=evaluator["answers"])
        if kind == "webvoyager" and "answer_type" in evaluator:
            return HintRule(answer_type=evaluator["answer_type"], notice=evaluator.get("notice", ""))
    except KeyError as error:
        raise RuleError(f"the {kind} evaluator has no {error}: copy it from the published benchmark") from error
    except ValidationError as error:
        detail = error.errors()[0]
        place = ".".join(map(str, detail["loc"]))
        raise RuleError(f"the {kind} evaluator's {place}: {detail['msg']}") from error
    except ValueError as error:
        raise RuleError(f"the {kind} evaluator: {error}") from error
    return SiteRewardRule() if kind == "site_reward" else NoRule(type=str(kind))


def require_rules(tasks: Iterable[Task]) -> None:
    """Refuse tasks whose rule has an unknown form, or is about a site without an address.

    Raises:
        RuleError: names the tasks, and the error of the first.
    """
    wrong = {}
    for task in tasks:
        try:
            rule = rule_of(task.evaluator)
        except RuleError as error:
            wrong[task.task_id] = str(error)
            continue
        if isinstance(rule, VerifiedRule) and (problem := _missing_evaluator()):
            wrong[task.task_id] = problem
        if sites := _unplaced(rule):
            wrong[task.task_id] = f"the address of {', '.join(sorted(sites))} is unknown; give it in tasks.sites"
    if wrong:
        first, reason = next(iter(wrong.items()))
        others = f" and {len(wrong) - 1} others" if len(wrong) > 1 else ""
        raise RuleError(f"{first}{others} cannot be judged by their rules; {first}: {reason}")


def _unplaced(rule: Rule) -> set[str]:
    """The placeholders of sites that a rule still has in place of their addresses."""
    match rule:
        case WebArenaRule():
            return set(_PLACEHOLDER.findall(rule.model_dump_json()))
        case VerifiedRule(addresses=addresses):
            return {address for address in addresses.values() if _PLACEHOLDER.search(address)}
    return set()


def _missing_evaluator() -> str:
    """Why webarena-verified's evaluator cannot be called; empty if it can."""
    try:
        find_python()
    except VerifiedError as error:
        return str(error)
    return ""


def undecidable_tasks(tasks: Iterable[Task]) -> list[str]:
    """The ids of tasks that rules alone can never judge.

    Raises:
        RuleError: as `rule_of`.
    """
    return [task.task_id for task in tasks if isinstance(rule_of(task.evaluator), NoRule | HintRule)]


def require_decisive_rules(tasks: Iterable[Task]) -> None:
    """Refuse tasks that rules alone can never judge.

    Raises:
        RuleError: names the tasks.
    """
    if undecidable := undecidable_tasks(tasks):
        raise RuleError(
            f"{len(undecidable)} tasks have no rule that could judge them ({', '.join(undecidable[:3])}…), and "
            "judge.labels is rules: name a judge model in judge.model.endpoint and set judge.labels and judge.reward "
            "to model, or take their file out of tasks.files"
        )
