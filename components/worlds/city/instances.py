"""Instances of the templates: task rows by seed, and back from a task to its template and facts."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from components.records import RowChange, Split, StateCheck, Task
from components.worlds.city.params import SEEDS_PER_TASK
from components.worlds.city.server_process import CityServer
from components.worlds.city.tasks.registry import find
from components.worlds.city.tasks.template import Row, Template, Unsuitable
from components.worlds.oracle import Oracle

WORLD = "city"


class CopyData:
    """The data of one copy (`template.Data`)."""

    def __init__(self, server: CityServer, key: str) -> None:
        self._server = server
        self._key = key

    def rows(self, sql: str, *parameters: Any) -> list[Row]:
        """The rows of a SELECT statement."""
        return self._server.query(self._key, sql, *parameters)


@dataclass(frozen=True)
class Instance:
    """One task of the city."""

    template: Template
    facts: dict[str, Any]
    seed: int
    modifiers: tuple[str, ...] = ()

    @classmethod
    def of(cls, task: Task) -> Instance:
        """The instance of a task row.

        Raises:
            KeyError: the row is none of this city.
        """
        evaluator = task.evaluator
        return cls(find(evaluator["template"]), evaluator["facts"], task.seed or 0, tuple(evaluator["modifiers"]))

    def users(self) -> dict[str, str]:
        """The users who are logged in at the beginning, by host."""
        return self.template.users(self.facts)

    def check(self, changes: Sequence[RowChange], answer: str | None) -> StateCheck:
        """Compare an episode's changes and answer with the task."""
        return self.template.check(self.facts, changes, answer)

    def oracle(self, rng: random.Random, noise: float = 0.0) -> Oracle:
        """The scripted teacher of an episode."""
        expected = self.template.answer(self.facts)
        steps = self.template.oracle(self.facts)
        return Oracle(steps, expected.example if expected is not None else "done", rng, noise)

    def row(self, split: Split) -> dict[str, Any]:
        """The task row."""
        template = self.template
        rng = random.Random(f"words {template.name} {self.seed}")
        suffix = "".join(f"+{name}" for name in self.modifiers)
        return {
            "task_id": f"{WORLD}/{template.name}/{self.seed}{suffix}",
            "intent": template.instruction(self.facts, rng),
            "start_url": f"http://{template.sites[0]}.test{template.start.format(**self.facts)}",
            "website": f"{WORLD}/{template.name}",
            "source": WORLD,
            "domain": "+".join(template.sites),
            "subdomain": template.length,
            "split": split,
            "seed": self.seed,
            "difficulty": len(template.rubric(self.facts)),
            "rubric": [
                {"id": str(number), "description": fact, "facts": [fact]}
                for number, fact in enumerate(template.rubric(self.facts), start=1)
            ],
            "evaluator": {
                "type": "site_reward",
                "template": template.name,
                "facts": self.facts,
                "modifiers": [*self.modifiers],
                "variant": "+".join(self.modifiers) or "plain",
                "reference_length": len(template.oracle(self.facts)),
            },
        }


def instance(server: CityServer, template: Template, seed: int, modifiers: tuple[str, ...] = ()) -> Instance:
    """The instance of a template for a seed, with facts from a copy with this seed's data.

    Raises:
        Unsuitable: the data of this seed have none.
    """
    key = server.reset(seed, modifiers)["key"]
    try:
        facts = template.facts(CopyData(server, key), random.Random(f"{template.name} {seed}"))
    finally:
        server.drop(key)
    return Instance(template, facts, seed, modifiers)


def instances(
    server: CityServer,
    template: Template,
    first_seed: int,
    count: int,
    modifiers: Sequence[tuple[str, ...]] = ((),),
) -> list[Instance]:
    """The instances of the first `count` suitable seeds from `first_seed` on.

    Args:
        modifiers: each instance has one of these, in turn by its seed.

    Raises:
        Unsuitable: fewer than one in four seeds are suitable.
    """
    suitable: list[Instance] = []
    for seed in range(first_seed, first_seed + SEEDS_PER_TASK * count):
        if len(suitable) == count:
            break
        try:
            suitable.append(instance(server, template, seed, modifiers[seed % len(modifiers)]))
        except Unsuitable:
            continue
    if len(suitable) < count:
        raise Unsuitable(
            f"{template.name} has {len(suitable)} instances for {SEEDS_PER_TASK * count} seeds, not {count}"
        )
    return suitable
