"""Rubrics of MiniWoB++ tasks (WebGym, section 3): what must have been done, one fact per thing.

The facts follow from the instruction alone, as the scripted teacher's plan does; families without a plan have none.
Their number is the task's difficulty, by which tasks are drawn (`rl.task_sampling`) and steps are allowed
(`tasks.horizon`).
"""

from __future__ import annotations

from components.records import FactGroup
from components.worlds.miniwob.teacher import ORDINALS, PLANS, Check, Click, Fill, Find, Step, Target, steps_of


def rubric(family: str, intent: str) -> list[FactGroup]:
    """One group with the facts of an instruction; empty if no plan knows the family or the wording."""
    try:
        steps = steps_of(family, intent) if family in PLANS else []
    except ValueError:
        return []
    facts = [fact for step in steps for fact in _facts(step)]
    return [FactGroup(id="1", description=intent, facts=facts)] if facts else []


def _facts(step: Step) -> list[str]:
    match step:
        case Click(target):
            return [f"{_named(target)} was clicked."]
        case Fill(target, text):
            return [f'{_named(target)} holds "{text}".']
        case Check(names):
            return [f'The checkbox "{name}" is checked.' for name in names]
        case Find(name):
            return [f'The tab that has the link "{name}" was opened.', f'The link "{name}" was clicked.']
    raise AssertionError(step)


def _named(target: Target) -> str:
    if target.role == "box":
        return f"The {target.name} box"
    if target.name is not None:
        return f'The {target.role} "{target.name}"'
    return f"The {ORDINALS[target.number - 1]} {target.role}" if target.number else f"The {target.role}"
