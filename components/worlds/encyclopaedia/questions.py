"""Questions with exact answers from the facts of the pages. They replace NQ and HotpotQA, which BrowserAgent uses.

A kind of question is a chain of labels: `capital-time-zone` starts at a country's article, follows its `Capital` and
answers with the `Time zone` of that article. Each label is one hop. A question spells the label as the articles do, so
that a small model finds the line by its words. A question exists only where every fact of its chain has one value, so
its answer is exact; other spellings from the packages are accepted too.

Splits are by entity: the seed shuffles the clusters of `facts` (a country with its cities, a discoverer with the
elements) and divides them. An article on which an evaluation question starts, through which it passes or (if the
article has its own cluster) on which it ends is therefore part of no training question. Values that many entities
share, such as a currency or a region, may be answers in both splits, as in other open-QA sets.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from components.records import Split
from components.worlds import WorldError
from components.worlds.encyclopaedia.facts import Entity, entities

SOURCE = "encyclopaedia"
START_URL = "http://encyclopaedia/"
EVAL_SHARE = 0.4
"""Share of the clusters for evaluation. The other clusters are for training."""


@dataclass(frozen=True)
class Kind:
    """A kind of question: the kind of entity that it starts at, the labels to follow, and its wordings.

    `{}` in a wording stands for the title of the entity.
    """

    start: str
    labels: tuple[str, ...]
    wordings: tuple[str, ...]


KINDS = {
    "capital": Kind("country", ("Capital",), ("What is the Capital of {}?", "Which city is the Capital of {}?")),
    "currency": Kind("country", ("Currency",), ("What is the Currency of {}?", "Which Currency is used in {}?")),
    "demonym": Kind("country", ("Demonym",), ("What is the Demonym of {}?",)),
    "calling-code": Kind("country", ("Calling code",), ("What is the Calling code of {}?",)),
    "domain": Kind("country", ("Internet domain",), ("What is the Internet domain of {}?",)),
    "region": Kind("country", ("Region",), ("In which Region is {}?", "What is the Region of {}?")),
    "country": Kind("city", ("Country",), ("In which Country is {}?", "What is the Country of {}?")),
    "time-zone": Kind("city", ("Time zone",), ("In which Time zone is {}?", "What is the Time zone of {}?")),
    "symbol": Kind("element", ("Symbol",), ("What is the Symbol of {}?",)),
    "atomic-number": Kind("element", ("Atomic number",), ("What is the Atomic number of {}?",)),
    "discoverer": Kind("element", ("Discovered by",), ("Who was {} Discovered by?",)),
    "year": Kind("element", ("Year of discovery",), ("What is the Year of discovery of {}?",)),
    "currency-code": Kind("currency", ("Code",), ("What is the Code of {}?",)),
    "language-code": Kind("language", ("Code",), ("What is the Code of {}?",)),
    "city-currency": Kind(
        "city", ("Country", "Currency"),
        ("What is the Currency of the Country of {}?", "Which Currency is used in the Country where {} is?"),
    ),
    "city-demonym": Kind("city", ("Country", "Demonym"), ("What is the Demonym of the Country of {}?",)),
    "city-calling-code": Kind("city", ("Country", "Calling code"), ("What is the Calling code of the Country of {}?",)),
    "city-domain": Kind("city", ("Country", "Internet domain"), ("What is the Internet domain of the Country of {}?",)),
    "city-region": Kind("city", ("Country", "Region"), ("In which Region is the Country of {}?",)),
    "capital-time-zone": Kind(
        "country", ("Capital", "Time zone"), ("In which Time zone is the Capital of {}?",)
    ),
    "capital-population": Kind(
        "country", ("Capital", "Population"), ("What is the Population of the Capital of {}?",)
    ),
    "discovered-symbol": Kind("discoverer", ("Discovered", "Symbol"), ("What is the Symbol of what {} discovered?",)),
    "discovered-year": Kind(
        "discoverer", ("Discovered", "Year of discovery"), ("What is the Year of discovery of what {} discovered?",)
    ),
}  # fmt: skip


def questions(kinds: Sequence[str], count: int, split: Split, seed: int) -> list[dict[str, Any]]:
    """`count` task rows, drawn evenly from the kinds. The splits `eval` and `heldout` use the same clusters.

    Raises:
        WorldError: a kind does not exist, or the facts give fewer questions.
    """
    unknown = [name for name in kinds if name not in KINDS]
    if unknown:
        raise WorldError(f"the encyclopaedia has no questions of kind {unknown[0]!r}; kinds are {', '.join(KINDS)}")
    allowed = _clusters(seed, evaluation=split != "train")
    rng = random.Random(f"{seed}:{split}")
    pools: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for name in kinds:
        for entity in entities().values():
            if entity.kind == KINDS[name].start and entity.cluster in allowed:
                row = _row(name, entity, split, rng)
                if row is not None:
                    pools[name].append(row)
        rng.shuffle(pools[name])
    rows: list[dict[str, Any]] = []
    while len(rows) < count:
        left = [name for name in kinds if pools[name]]
        if not left:
            raise WorldError(
                f"the facts hold {len(rows)} {split} questions of these kinds, {count} are asked for: lower "
                f"worlds.encyclopaedia.{split}, or name more kinds"
            )
        rows += [pools[name].pop() for name in left][: count - len(rows)]
    return rows


def path(name: str, entity: Entity) -> list[tuple[Entity, str, str]] | None:
    """The hops to the answer: article, label and value of each. None if a fact is missing or has several values, or if
    the question contains its own answer."""
    steps: list[tuple[Entity, str, str]] = []
    here = entity
    for index, label in enumerate(KINDS[name].labels):
        fact = here.fact(label)
        if fact is None or len(fact.values) != 1:
            return None
        (value,) = fact.values
        steps.append((here, label, value.text))
        if index + 1 < len(KINDS[name].labels):
            if value.article is None:
                return None
            here = entities()[value.article]
    return None if steps[-1][2].lower() in entity.title.lower() else steps


def _row(name: str, entity: Entity, split: str, rng: random.Random) -> dict[str, Any] | None:
    steps = path(name, entity)
    if steps is None:
        return None
    last, label, answer = steps[-1]
    fact = last.fact(label)
    assert fact is not None
    return {
        "task_id": f"{SOURCE}/{name}/{entity.title}",
        "intent": rng.choice(KINDS[name].wordings).format(entity.title),
        "start_url": START_URL,
        "website": f"{SOURCE}/{name}",
        "source": SOURCE,
        "split": split,
        "difficulty": len(steps),
        "rubric": [
            {"id": str(index), "description": article.title, "facts": [f"{label}: {value}"]}
            for index, (article, label, value) in enumerate(steps, start=1)
        ],
        "reference_answer": answer,
        "evaluator": {"type": "qa", "answers": list(dict.fromkeys([answer, *fact.aliases]))},
    }


def _clusters(seed: int, evaluation: bool) -> set[str]:
    """The clusters of the evaluation splits, or those of training."""
    names = sorted({entity.cluster for entity in entities().values()})
    random.Random(f"{seed}:clusters").shuffle(names)
    cut = round(EVAL_SHARE * len(names))
    return set(names[:cut] if evaluation else names[cut:])
