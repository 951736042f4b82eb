"""A model words tasks in other ways, so that an agent learns what is asked and not one sentence for it.

What must stay is checked without a second model: quoted texts, numbers, addresses and names of the task, and every
value of its evaluator that its words contain. The new wording has no number, quoted text or address of its own, and it
still rules something out where the task does ("do not", "only"; of English words only).

Not covered: a wording that turns the meaning round with the same facts ("from A to B"), and names at the beginning of a
sentence that the evaluator does not know.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from pydantic import Field

from components.records import Record, Task
from components.tasks.filters import normalise
from components.tasks.proposal import Ask, LimitedText, ask_until

PARAPHRASE = """\
You write web tasks for an agent that browses real websites. You are given a task. Say the same in other words.

Rules
1. Ask for exactly the same thing: all that the task asks for, nothing more, and the same limits ("only", "do not").
2. Copy everything under "keep" letter by letter; a text that is in quotation marks in the task stays in them.
3. Change the sentence, not only a word of it: another order, a question, a wish, a reason. Write as a person would.
4. Stay in the language of the task. Do not say how to do it.
5. The wordings differ from the task and from each other.

Answer with one JSON object and nothing else:
{"wordings": ["…"]}\
"""

_QUOTED = re.compile(
    r"\"([^\"]+)\"|“([^”]+)”|„([^“”]+)[“”]|«\s*([^»]*[^\s»])\s*»|(?<!\w)(?:'(?!\d)|‘)((?:[^'’]|(?<=\w)['’](?=\w))+)['’](?!\w)"
)
_ADDRESS = re.compile(
    r"https?://[^\s,;)]+|[\w.+-]+@\w[\w-]*(?:\.\w[\w-]*)+|\w[\w-]*(?:\.[A-Za-z][\w-]+)+(?:/[^\s,;)]*)?"
)
_NUMBER = re.compile(r"(?<!\w)\d+(?:[.,:/-]\d+)*(?!\w)")
_PART = r"A\w*(?:(?:[-'’][^\WA]\w*)*[-'’]A\w*)*"
_NAME = re.compile(rf"(?:^|[.?!…][^\w\s]*\s)\W*\w+|(?P<name>(?<!\w){_PART}(?: {_PART})*)", re.MULTILINE)
"""The first word of a sentence, or a name elsewhere, in a text whose capital letters are all "A": `re` has no class of
them. "Dana's" has the name Dana, and "Stratford-upon-Avon" is one."""
_LIMIT = re.compile(r"\b(?:not|no|never|nothing|none|only|without|except)\b|n't\b", re.IGNORECASE)
_NO_FACT = frozenset({"type", "template", "steps", "reference_length"})
"""Keys of evaluators whose values say how a task is judged, not what it asks for."""


class _Wordings(Record):
    wordings: list[LimitedText] = Field(min_length=1)


async def other_wordings(task: Task, count: int, ask: Ask, max_tries: int) -> tuple[list[str], float]:
    """`count` other wordings of a task, and their cost in US dollars.

    Raises:
        Unusable: none of `max_tries` answers has wordings that keep all facts.
    """
    keep = facts_of(task)

    def check(answer: _Wordings) -> None:
        if len(answer.wordings) != count:
            raise ValueError(f"wordings: there are {len(answer.wordings)} and not {count}")
        earlier = {normalise(task.intent)}
        for wording in answer.wordings:
            require_same_facts(task.intent, wording, keep)
            if normalise(wording) in earlier:
                raise ValueError(f"{wording!r} is the task, or another wording, again")
            earlier.add(normalise(wording))

    shown = {"task": task.intent, "wordings": count, "keep": keep}
    answer, usd = await ask_until(ask, PARAPHRASE, shown, _Wordings, check, max_tries)
    return answer.wordings, usd


def paraphrased(task: Task, wordings: Sequence[str]) -> list[Task]:
    """The same task in other words; the ids end with `~1`, `~2` and so on."""
    return [
        task.model_copy(update={"task_id": f"{task.task_id}~{number}", "intent": wording})
        for number, wording in enumerate(wordings, start=1)
    ]


def facts_of(task: Task) -> list[str]:
    """What any wording of the task contains, in the order of its words; quoted texts are without their marks."""
    intent = task.intent
    facts = [*_quoted(intent), *(value for value in _values(task.evaluator) if _has(intent, value))]
    unquoted = _QUOTED.sub(lambda match: re.sub(r"[^.?!…]", " ", match[0]), intent)  # a quoted text may end a sentence
    for pattern in (_ADDRESS, _NUMBER):
        facts += [match[0].rstrip(".?!") for match in pattern.finditer(unquoted)]
    shape = "".join("A" if character.isupper() else character for character in unquoted)
    names = [unquoted[slice(*match.span("name"))] for match in _NAME.finditer(shape) if match["name"]]
    facts += [name for name in names if name != "I"]
    ordered = sorted(dict.fromkeys(facts), key=lambda fact: (intent.find(fact), -len(fact)))
    return [fact for fact in ordered if not any(fact != other and _has(other, fact) for other in ordered)]


def require_same_facts(intent: str, wording: str, facts: Sequence[str]) -> None:
    """Check that a wording has the task's facts and no others.

    Raises:
        ValueError: a fact is missing or new, or what the task rules out is.
    """
    for fact in facts:
        if not _has(wording, fact):
            raise ValueError(f"{wording!r} has not the fact {fact!r}")
    unquoted = _QUOTED.sub(" ", wording)
    texts = {
        "quoted text": _quoted(wording),
        "address": _ADDRESS.findall(unquoted),
        "number": _NUMBER.findall(unquoted),
    }
    for kind, passages in texts.items():
        if new := [text for text in (text.rstrip(".?!") for text in passages) if not _has(intent, text)]:
            raise ValueError(f"{wording!r} has a new {kind}, {new[0]!r}")
    if _LIMIT.search(_QUOTED.sub(" ", intent)) and not _LIMIT.search(unquoted):
        raise ValueError(f"{wording!r} rules nothing out, and the task does ({_LIMIT.findall(intent)[0]!r})")


def _quoted(text: str) -> list[str]:
    return [next(filter(None, match)) for match in _QUOTED.findall(text)]


def _has(text: str, fact: str) -> bool:
    """Whether a text has a fact as whole words, letter by letter."""
    return re.search(rf"(?<!\w){re.escape(fact)}(?!\w)", text) is not None


def _values(value: object) -> Iterator[str]:
    """The texts and numbers in a specification."""
    match value:
        case Mapping():
            for key, inner in value.items():
                if key not in _NO_FACT:
                    yield from _values(inner)
        case str() | int() | float() if not isinstance(value, bool) and str(value).strip():
            yield str(value)
        case Sequence() if not isinstance(value, str):
            for inner in value:
                yield from _values(inner)
