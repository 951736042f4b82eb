"""A model proposes rubrics for tasks, and tasks for parts of a rubric (WebGym, section 3.2, appendices E.5 and E.6).

The prompts are this project's own. The model answers in one JSON object; after an unusable answer it is asked again
with the reason. Two checks need no second model: each fact quotes the words of the task that ask for it, so that a
rubric demands only what the task demands; a proposed task quotes, for each of its fact groups, its own words that ask
for it, so that no group is forgotten. Case, spaces and Unicode form do not matter in a quote.

Not covered: whether a proposed task still asks for a group that was left out, which quotes cannot show; and the paper's
guess of a website for tasks without one, since a Task has a start page.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Annotated, NamedTuple, Protocol, TypeVar

from pydantic import AfterValidator, Field, ValidationError

from components.records import FactGroup, Record, Task, Text
from components.tasks.filters import normalise

MAX_GROUPS = 8
MAX_FACTS = 12
"""Facts per group."""
MAX_CHARACTERS = 2000
"""Characters of a fact, a quote, a description or a task."""
SHOWN = 2000
"""Characters of an unusable answer that the next question repeats."""

_THOUGHT = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_FENCED = re.compile(r"\A```(?:json)?\s*\n(.*)\n\s*```\Z", re.DOTALL)

RUBRIC = f"""\
You prepare web tasks for an agent that browses real websites. For one task, write down what has to be established \
before anybody may call the task done.

Rules
1. A fact is one thing that can be checked by itself, by looking at the agent's answer and its screenshots: a property \
that the result must have, or a piece of information that the answer must contain. Never join two with "and".
2. Facts that belong to the same part of the task form a group: the conditions that pick an item out are one group, \
the details to report about it another.
3. Ask for nothing that the task does not ask for. For every fact, quote the words of the task that it comes from, \
copied letter by letter.
4. Leave nothing out that the task asks for, and state no fact twice.
5. Do not say how to navigate and do not answer the task.
6. At most {MAX_GROUPS} groups, at most {MAX_FACTS} facts each. A simple task has one group with one fact.

Answer with one JSON object and nothing else:
{{"groups": [{{"description": "what this part is about", "facts": [{{"fact": "…", "quote": "words of the task"}}]}}]}}\
"""

TASK = """\
You write web tasks for an agent that browses real websites. You are given a task whose requirements are sorted into \
fact groups, and the groups to keep. Write the smaller task that asks for these groups alone.

Rules
1. Everything in the kept groups is asked for; nothing is asked for that belongs only to the other groups.
2. The new task can be understood by somebody who has never seen the first one. Carry over names, places and dates \
from it where the kept groups would be ambiguous without them.
3. It is one instruction in plain language, in the language of the first task, with no list of requirements and no \
mention of groups, facts or another task.
4. It is not the first task again.
5. For every kept group, quote the words of your new task that ask for it, copied letter by letter.

Answer with one JSON object and nothing else; the keys of "quotes" are the ids of the kept groups:
{"task": "…", "quotes": {"G1": "words of the new task"}}"""


class Answer(NamedTuple):
    """A model's answer and its price in US dollars."""

    text: str
    usd: float = 0.0


class Ask(Protocol):
    """Asks a model one question; it may retry, limit and cache.

    It raises `Unusable` if the endpoint refuses this one question, such as a task that is too long. Any other error
    ends the work.
    """

    async def __call__(self, system: str, user: str) -> Answer:
        """The model's answer to one question."""


class Unusable(RuntimeError):
    """No answer of the model could be used. The message has the last reason; `usd` is what the answers cost."""

    def __init__(self, message: str, usd: float = 0.0) -> None:
        super().__init__(message)
        self.usd = usd


def _require_text(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty")
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"has more than {MAX_CHARACTERS} characters")
    return text.strip()


LimitedText = Annotated[Text, AfterValidator(_require_text)]


class _Fact(Record):
    fact: LimitedText
    quote: LimitedText


class _Group(Record):
    description: LimitedText
    facts: list[_Fact] = Field(min_length=1, max_length=MAX_FACTS)


class _Rubric(Record):
    groups: list[_Group] = Field(min_length=1, max_length=MAX_GROUPS)


class _Task(Record):
    task: LimitedText
    quotes: dict[str, LimitedText]


R = TypeVar("R", bound=Record)


async def propose_rubric(task: Task, ask: Ask, max_tries: int) -> tuple[list[FactGroup], float]:
    """The fact groups of a task, with ids G1, G2, …, and their cost in US dollars.

    Raises:
        Unusable: none of `max_tries` answers is a rubric.
    """

    def check(rubric: _Rubric) -> None:
        facts = [fact for group in rubric.groups for fact in group.facts]
        _require_quotes(task.intent, [(f"the fact {fact.fact!r}", fact.quote) for fact in facts], "the task")
        seen: set[str] = set()
        for fact in facts:
            if normalise(fact.fact) in seen:
                raise ValueError(f"the fact {fact.fact!r} is stated twice")
            seen.add(normalise(fact.fact))

    shown = {"task": task.intent, "website": task.website}
    rubric, usd = await ask_until(ask, RUBRIC, shown, _Rubric, check, max_tries)
    groups = [
        FactGroup(id=f"G{number}", description=group.description, facts=[fact.fact for fact in group.facts])
        for number, group in enumerate(rubric.groups, start=1)
    ]
    return groups, usd


async def propose_task(parent: Task, groups: Sequence[FactGroup], ask: Ask, max_tries: int) -> tuple[str, float]:
    """The words of a task that asks for some of its parent's fact groups, and their cost in US dollars.

    Raises:
        Unusable: none of `max_tries` answers is such a task.
    """
    kept = {group.id for group in groups}

    def check(proposed: _Task) -> None:
        cited = set(proposed.quotes)
        if unknown := sorted(cited - kept):
            raise ValueError(f"quotes: {', '.join(unknown)} are not among the kept groups {', '.join(sorted(kept))}")
        if missing := sorted(kept - cited):
            raise ValueError(f"quotes: the kept groups {', '.join(missing)} have no quote: add one for each")
        quotes = [(f"the group {name}", quote) for name, quote in proposed.quotes.items()]
        _require_quotes(proposed.task, quotes, "the new task")
        if normalise(proposed.task) == normalise(parent.intent):
            raise ValueError("task: it is the first task again")

    shown = {
        "first task": parent.intent,
        "website": parent.website,
        "keep": [group.model_dump() for group in groups],
        "leave out": [group.model_dump() for group in parent.rubric if group.id not in kept],
    }
    proposed, usd = await ask_until(ask, TASK, shown, _Task, check, max_tries)
    return proposed.task, usd


async def ask_until(
    ask: Ask, system: str, shown: dict, kind: type[R], check: Callable[[R], None], max_tries: int
) -> tuple[R, float]:
    """Ask until an answer is usable; the error of the last answer is part of the next question."""
    question = json.dumps(shown, ensure_ascii=False, indent=1)
    answer, problem, usd = "", "", 0.0
    for _ in range(max_tries):
        user = question if not problem else f"{question}\n\n{_correction(answer, problem)}"
        user = user.encode(errors="replace").decode()  # a lone surrogate cannot be sent
        try:
            answer, cost = await ask(system, user)
        except Unusable as error:
            raise Unusable(str(error), usd + error.usd) from error
        usd += cost
        try:
            value = kind.model_validate(_json_object(answer))
            check(value)
        except ValidationError as error:
            problem = "; ".join(
                f"{'.'.join(map(str, detail['loc']))}: {detail['msg'].removeprefix('Value error, ')}"
                for detail in error.errors()[:5]
            )
        except ValueError as error:
            problem = str(error)
        else:
            return value, usd
    raise Unusable(f"no usable answer in {max_tries} tries; the last: {problem}", usd)


def _correction(answer: str, problem: str) -> str:
    quoted = json.dumps(answer if len(answer) <= SHOWN else answer[: SHOWN - 1] + "…", ensure_ascii=False)
    return f"Your last answer was {quoted}.\nIt cannot be used: {problem}.\nAnswer again, with the JSON object alone."


def _json_object(answer: str) -> dict:
    """The JSON object of an answer, without leading reasoning and one fence around it; other text is an error.

    Raises:
        ValueError: it is not one JSON object, or has a key twice.
    """
    text = _THOUGHT.sub("", answer).strip()
    fenced = _FENCED.match(text)
    try:
        value = json.loads(fenced[1] if fenced else text, object_pairs_hook=_unique_keys)
    except json.JSONDecodeError as error:
        raise ValueError(f"not one JSON object: {error}") from error
    except RecursionError as error:
        raise ValueError("not one JSON object: nested too deeply") from error
    if not isinstance(value, dict):
        raise ValueError(f"not a JSON object but a {type(value).__name__}")
    return value


def _unique_keys(pairs: list[tuple[str, object]]) -> dict:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("an object has the same key twice")
    return value


def _require_quotes(text: str, quotes: Sequence[tuple[str, str]], where: str) -> None:
    """Check that every quote is in the text.

    Raises:
        ValueError: a quote is not in it; the message names its purpose.
    """
    normal_text = normalise(text)
    for purpose, quote in quotes:
        if normalise(quote) not in normal_text or not normalise(quote):
            raise ValueError(f"the quote {quote!r} for {purpose} is not in {where}")
