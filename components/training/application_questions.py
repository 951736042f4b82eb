"""Questions about pages of applications, beside those about any page (`components.training.questions`).

They ask for one of many equal buttons by the name in its row or card, for an option of a select, and for longer texts
in fields. As there, they leave out what the base must not know: the wording of any world's tasks, and when one ends.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from components.agent.grammar import format_call, format_response
from components.browser.elements import Listed, parse_elements
from components.training.application_pages import random_phrase, random_sentence
from components.training.questions import Question, ask, click, located

SAME_LINE = 12
"""Of 1000: two elements whose middles differ by less in y are in one row, in x in one column."""


def ask_on_application(lines: list[str], rng: random.Random, count: int) -> list[Question]:
    """Up to `count` questions about a page: half of them as about any page, half about what applications have."""
    elements = parse_elements("\n".join(lines))
    makers: list[Callable[[], Question]] = []
    pairs = _pairs(elements)
    if pairs:
        makers += [lambda: _click_of(rng, *rng.choice(pairs))] * 4
    selects = [line for line in elements if line.role == "select" and line.name and len(line.options) > 1]
    if selects:
        makers += [lambda: _choose(rng, rng.choice(selects))] * 2
    fields = [line for line in elements if line.role == "field" and line.name]
    fields = [line for line in fields if sum(other.name == line.name for other in fields) == 1]
    if fields:
        makers += [lambda: _write(rng, rng.choice(fields))] * 4
    questions = []
    for _ in range(count):
        if makers and rng.random() < 0.5:
            questions.append(rng.choice(makers)())
        else:
            questions += ask(lines, rng, random_phrase(rng, 4), 1, points=True, varied=True)
    return questions


def _pairs(elements: list[Listed]) -> list[tuple[Listed, Listed]]:
    """Named elements that occur once, each with a repeated button of its row (to its right) or card (below it)."""
    counts: dict[str, int] = {}
    for line in elements:
        counts[line.name] = counts.get(line.name, 0) + 1
    repeated = [line for line in elements if line.name and counts[line.name] > 1]
    pairs = []
    for label in (line for line in elements if line.name and counts[line.name] == 1):
        in_row = [b for b in repeated if abs(b.y - label.y) < SAME_LINE and b.x > label.x]
        pairs += [(b, label) for b in in_row if sum(other.name == b.name for other in in_row) == 1]
        below = [b for b in repeated if abs(b.x - label.x) < SAME_LINE and b.y > label.y]
        if below and not in_row:
            pairs.append((min(below, key=lambda b: b.y), label))
    return pairs


def _click_of(rng: random.Random, button: Listed, label: Listed) -> Question:
    forms = [
        f'{button.name} "{label.name}"',
        f'click {button.name} of "{label.name}"',
        f'"{label.name}": {button.name}',
        f'the {button.role} {button.name} next to "{label.name}"',
        f"{button.name} {label.name}",
    ]
    return click(rng.choice(forms), [button], points=True)


def _choose(rng: random.Random, select: Listed) -> Question:
    option = rng.choice(select.options)
    forms = [f'choose "{option}" in "{select.name}"', f"{select.name}: {option}", f'set {select.name} to "{option}"']
    calls = [format_call("click", x=select.x, y=select.y), format_call("write", text=option)]
    return Question(rng.choice(forms), format_response(f"choose in {located(select, True)}", calls))


def _write(rng: random.Random, field: Listed) -> Question:
    text = rng.choice([random_sentence, random_phrase])(rng)
    other = random_phrase(rng)
    forms = [
        f'write "{text}" in "{field.name}"',
        f'{field.name}: "{text}"',
        f'{field.name} of "{other}": "{text}"',
        f"set {field.name} to {text}",
        f'about "{other}", put in {field.name}: "{text}"',
    ]
    calls = [format_call("click", x=field.x, y=field.y), format_call("write", text=text)]
    return Question(rng.choice(forms), format_response(f"write in {located(field, True)}", calls))
