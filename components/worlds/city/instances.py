"""Instances of the templates: task rows by seed, and back from a task to its template and facts."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from components.records import RowChange, Split, StateCheck, Task
from components.worlds.answers import Refusal
from components.worlds.city.params import SEEDS_PER_TASK
from components.worlds.city.server_process import CityServer
from components.worlds.city.tasks.registry import find
from components.worlds.city.tasks.template import Row, Template, Unsuitable
from components.worlds.city.wording import Wording, wordings
from components.worlds.oracle import Detour, Oracle, Step, click, fill
from components.worlds.rewording import reworded
from components.worlds.target import Target

WORLD = "city"
USUAL = Wording()
PASSWORD = "sea-breeze"
"""Of every account of the city."""
RIVALS = frozenset({"numbers"})
"""Facts that only say which names a right answer may not have."""
AS_GUEST = click("link", "login or register")
"""At the top of the shop's pages before a login."""
SHOP, STAFF = "shop.test", "admin"
"""The site that takes a customer's e-mail address in place of the user name, and the user who is no customer."""


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
    wording: Wording = USUAL

    @classmethod
    def of(cls, task: Task) -> Instance:
        """The instance of a task row.

        Raises:
            KeyError: the row is none of this city.
        """
        evaluator = task.evaluator
        wording = Wording.model_validate(evaluator.get("wording", {}))
        modifiers = tuple(evaluator["modifiers"])
        return cls(find(evaluator["template"]), evaluator["facts"], task.seed or 0, modifiers, wording)

    @property
    def key(self) -> tuple[str, str]:
        """The template's name and the facts as JSON: equal for two instances that ask for the same on any seeds."""
        deciding = {name: fact for name, fact in self.facts.items() if name not in RIVALS}
        return self.template.name, json.dumps(deciding, sort_keys=True)

    def users(self) -> dict[str, str]:
        """The users who are logged in at the beginning, by host."""
        return self.template.users(self.facts)

    def check(self, changes: Sequence[RowChange], answer: str | None, opened: Sequence[str] = ()) -> StateCheck:
        """Compare an episode's changes and answer, and the addresses of the pages that it opened, with the task."""
        usual = self.wording.usual(answer) if answer else answer
        return self.template.check(self.facts, changes, usual, opened)

    def oracle(self, rng: random.Random, noise: float = 0.0, intent: str = "") -> Oracle:
        """The scripted teacher of an episode."""
        expected = self.template.answer(self.facts)
        steps = reworded(self.template.oracle(self.facts), self.wording.labels, self.wording.options)
        answer = expected.example if expected is not None else "done"
        interruptions = [dismissal.interruption for dismissal in self.wording.dismissals]
        return Oracle(steps, answer, rng, noise, interruptions, [*self._logins(), *self._second_payment()], intent)

    def _second_payment(self) -> list[Detour]:
        """How the customer pays once more after the shop declined the first payment; none where nothing is paid."""
        steps = reworded(self.template.payment(self.facts), self.wording.labels, {})
        if not steps:
            return []
        return [Detour(steps, [step.target for step in steps[:-1] if step.target is not None], at_end=True)]

    def _logins(self) -> list[Detour]:
        """How the user logs in again where a site asks for it, or where the shop takes a customer for a guest;
        none if no user, or different ones, are logged in at first."""
        users = {*self.users().values()}
        if len(users) != 1:
            return []
        name = next(iter(users))
        is_customer = SHOP in self.users() and name != STAFF
        logins = []
        if is_customer:
            steps, fields = self._login("e-?mail address.*", _address(name))
            links = reworded([AS_GUEST], self.wording.labels, {})
            signs = [step.target for step in links if step.target is not None]
            as_guest = Detour([*links, *steps], signs, interrupts=True, leads_away=True)
            logins += [Detour(steps, fields, interrupts=True), as_guest]
        if not is_customer or len(self.users()) > 1:
            logins.append(Detour(*self._login("user ?name.*", name)))
        return logins

    def _login(self, label: str, name: str) -> tuple[list[Step], list[Target]]:
        """The steps of a login, by the label of the field for the name, and the form's fields."""
        form = [fill(label, name), fill("password.*", PASSWORD), click("button", "log ?in|sign in")]
        steps = reworded(form, self.wording.labels, {})
        return steps, [step.target for step in steps[:2] if step.target is not None]

    def _credentials(self) -> str:
        """The sentence of the task with names and password for logging in again; empty if no session expires.

        It avoids the words by which `filters.drop_login` recognises tasks that need a login.
        """
        users = self.users()
        if "expired_session" not in self.modifiers or not users:
            return ""
        if len({*users.values()}) == 1:
            names = _known_as(next(iter(users.values())), SHOP in users)
        else:
            names = ", ".join(f"{_known_as(name, host == SHOP)} at {host}" for host, name in sorted(users.items()))
        return f" If a site asks who you are: {names}, password {PASSWORD}."

    def row(self, split: Split) -> dict[str, Any]:
        """The task row."""
        template = self.template
        rng = random.Random(f"words {template.name} {self.seed}")
        suffix = "".join(f"+{name}" for name in self.modifiers)
        return {
            "task_id": f"{WORLD}/{template.name}/{self.seed}{suffix}",
            "intent": template.instruction(self.facts, rng) + self._credentials(),
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
                **({"is_impossible": True} if isinstance(template.answer(self.facts), Refusal) else {}),
                **({} if self.wording == USUAL else {"wording": self.wording.model_dump()}),
            },
        }


def instance(
    server: CityServer,
    template: Template,
    seed: int,
    modifiers: tuple[str, ...] = (),
    seeds: range | None = None,
) -> Instance:
    """The instance of a template for a seed, with facts from a copy with this seed's data.

    Args:
        seeds: seeds whose instances are made, too; their wordings are read together.

    Raises:
        Unsuitable: the data of this seed have none.
    """
    key = server.reset(seed, modifiers)["key"]
    try:
        facts = template.facts(CopyData(server, key), random.Random(f"{template.name} {seed}"))
    finally:
        server.drop(key)
    wording = USUAL
    if modifiers:
        whole = wordings(seeds or range(seed, seed + 1), modifiers)[seed]
        wording = whole.needed(template.oracle(facts))
    return Instance(template, facts, seed, modifiers, wording)


def suitable(
    server: CityServer, template: Template, seeds: range, modifiers: Sequence[tuple[str, ...]] = ((),)
) -> Iterator[Instance]:
    """The instances of those seeds that have one, in order.

    Args:
        modifiers: each instance has one of these, in turn by its seed.
    """
    for seed in seeds:
        try:
            yield instance(server, template, seed, modifiers[seed % len(modifiers)], seeds)
        except Unsuitable:
            continue


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
    seeds = range(first_seed, first_seed + SEEDS_PER_TASK * count)
    made = list(islice(suitable(server, template, seeds, modifiers), count))
    if len(made) < count:
        raise Unsuitable(f"{template.name} has {len(made)} instances for {len(seeds)} seeds, not {count}")
    return made


def _address(name: str) -> str:
    """The e-mail address of a person of the city (`server/city/people.py`)."""
    return f"{name}@harbour.test"


def _known_as(name: str, is_in_shop: bool) -> str:
    return f"user name {name}, e-mail address {_address(name)}" if is_in_shop and name != STAFF else f"user name {name}"
