"""Questions about a page, generated from its element list, with answers in the agent's own format.

They teach the base what it must know before it becomes an agent: to find an element by its name, role, colour or
position in the list, to copy its coordinates, to type a given text, to click several elements in one turn, to name the
element at a point, and to compare a name with the element at a point. The wordings are a few fixed ones, or a name
among random words, so that only the name shows which element is meant. The questions leave out what the base must not
know: the wording of any world's tasks, feedback, and the end of a task.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

from components.agent.grammar import format_call, format_response
from components.browser.elements import Listed, parse_elements
from components.training.pages import WORDS

_JOINTS = "the a this that one on in at of to for with by from here there now then and also please you it is".split()
_ORDINALS = ["1st", "2nd", "3rd", "4th", "5th", "6th"]


def target(element: Listed) -> str:
    """The words with which a thought names an element; they are those of the list."""
    if element.role == "box":
        return f"box {element.name}"
    return f'{element.role} "{element.name}"' if element.name else element.role


def located(element: Listed, points: bool) -> str:
    """`target` and, if `points`, the element's coordinates, so that the call can copy them from the thought."""
    return f"{target(element)} {element.x} {element.y}" if points else target(element)


class Question(NamedTuple):
    """An instruction and the response to it."""

    instruction: str
    response: str


def click(instruction: str, elements: list[Listed], points: bool) -> Question:
    """A question whose answer clicks all the elements in one turn."""
    calls = [format_call("click", x=element.x, y=element.y) for element in elements]
    thought = "click " + ", ".join(located(element, points) for element in elements)
    return Question(instruction, format_response(thought, calls))


def answer(thought: str, text: str) -> str:
    """A response that ends the task with an answer."""
    return format_response(thought, [format_call("done", answer=text)])


def ask(
    lines: list[str], rng: random.Random, word: str, count: int, points: bool = True, varied: bool = False
) -> list[Question]:
    """Up to `count` questions about a page.

    Args:
        lines: the page's element list.
        word: a text to type, or a name that the page may not have.
        points: thoughts give the coordinates of the elements that they name.
        varied: about half of the questions to click or to write use random words around the names.
    """
    elements = parse_elements("\n".join(lines))
    named: dict[str, list[Listed]] = {}
    for element in elements:
        if element.name and element.role != "box":
            named.setdefault(element.name, []).append(element)
    unique = [group[0] for group in named.values() if len(group) == 1]
    boxes = [element for element in elements if element.role == "box"]
    fields = [element for element in elements if element.role == "field"]
    marks = [element for element in unique if element.role in ("checkbox", "radio")]
    taken = {name.lower() for name in named}
    spare = [other for other in [*WORDS, *_JOINTS * 4] if other not in taken]
    questions: list[Question] = []
    makers: list[Callable[[], Question | None]] = []
    if varied and unique:
        makers += [lambda: _click_worded(rng, [rng.choice(unique)], spare, points)] * 5
        makers += [
            lambda: _click_worded(rng, rng.sample(unique, min(len(unique), rng.randint(2, 4))), spare, points)
        ] * 3
    if varied and len(fields) == 1:
        makers += [lambda: _write_worded(rng, fields[0], word, spare, points)] * 3
    if unique:
        makers += [lambda: _click_named(rng, rng.choice(unique), points)] * 5
        makers += [lambda: _what_is_at(rng.choice(unique)), lambda: _is_there(rng, rng.choice(unique), unique, word)]
        makers += [lambda: _click_several(rng, rng.sample(unique, min(len(unique), rng.randint(2, 4))), points)] * 2
    if boxes:
        makers += [lambda: _click_box(rng, rng.choice(boxes), boxes, points)] * 2
    if fields:
        makers += [lambda: _focus(rng, fields, points)] * 2 + [lambda: _write(rng, fields, word, points)] * 2
    if len(marks) > 1:
        makers += [lambda: _click_several(rng, rng.sample(marks, rng.randint(1, len(marks))), points)] * 2
    for _ in range(count if makers else 0):
        question = rng.choice(makers)()
        if question is not None:
            questions.append(question)
    return questions


def _click_named(rng: random.Random, element: Listed, points: bool) -> Question:
    name = element.name
    forms = [
        f'click "{name}"',
        f"click {name}",
        f'press "{name}"',
        f"open {name}",
        f"{name}",
        f'the {element.role} "{name}"',
        f"{name} please",
    ]
    forms += [f'hit the "{name}" {element.role}', f"choose {name}", f"where is {name}?"]
    return click(rng.choice(forms), [element], points)


def _click_several(rng: random.Random, elements: list[Listed], points: bool) -> Question:
    names = [element.name for element in elements]
    forms = [
        f"click {', '.join(names)}",
        f"press {', then '.join(names)}",
        f"all of: {', '.join(names)}",
        f"mark {' and '.join(names)}",
    ]
    return click(rng.choice(forms), elements, points)


def _worded(rng: random.Random, parts: list[str], spare: list[str]) -> str:
    """The parts in their order, among random words that are not the name of any element."""
    quoted = rng.random() < 0.6
    words = rng.sample(spare, rng.randint(0, 5))
    for number, part in enumerate(parts, start=1):
        words += [f'"{part}"' if quoted else part, *rng.sample(spare, rng.randint(0, 3))]
        if rng.random() < 0.3 and number < len(parts):
            words[-1] += ","
    text = " ".join(words) + rng.choice(["", "", "."])
    return text[0].upper() + text[1:] if words[0] in spare and rng.random() < 0.5 else text


def _click_worded(rng: random.Random, elements: list[Listed], spare: list[str], points: bool) -> Question:
    return click(_worded(rng, [element.name for element in elements], spare), elements, points)


def _click_box(rng: random.Random, element: Listed, boxes: list[Listed], points: bool) -> Question | None:
    if sum(box.name == element.name for box in boxes) > 1:
        return None
    forms = [f"click {element.name} box", f"the {element.name} one", f"press {element.name}"]
    return click(rng.choice(forms), [element], points)


def _focus(rng: random.Random, fields: list[Listed], points: bool) -> Question:
    index = rng.randrange(min(len(fields), len(_ORDINALS)))
    forms = [f"focus {_ORDINALS[index]} field", f"the {_ORDINALS[index]} text field"]
    if len(fields) == 1:
        forms = ["focus the field", "click the text field", "the input"]
    elif index == len(fields) - 1:
        forms.append("focus the last field")
    field = fields[index]
    which = f"{_ORDINALS[index]} field" if len(fields) > 1 else "field"
    thought = f"click {which} {field.x} {field.y}" if points else f"click {which}"
    return Question(rng.choice(forms), format_response(thought, [format_call("click", x=field.x, y=field.y)]))


def _write(rng: random.Random, fields: list[Listed], word: str, points: bool) -> Question:
    field = rng.choice(fields)
    if len(fields) > 1 and not (field.name and sum(f.name == field.name for f in fields) == 1):
        field = fields[0]
        where = rng.choice(["in the 1st field", "in the first field"])
    else:
        where = f'in "{field.name}"' if field.name else rng.choice(["in the field", "in the input"])
    instruction = rng.choice([f'write "{word}" {where}', f"type {word} {where}", f"put {word} {where}"])
    return _written(instruction, field, word, points)


def _write_worded(rng: random.Random, field: Listed, word: str, spare: list[str], points: bool) -> Question:
    verb = rng.choice(["write", "type", "put", "fill in", "insert"])
    words = [*rng.sample(spare, rng.randint(0, 3)), f'{verb} "{word}"', *rng.sample(spare, rng.randint(0, 4))]
    return _written(" ".join(words), field, word, points)


def _written(instruction: str, field: Listed, word: str, points: bool) -> Question:
    calls = [format_call("click", x=field.x, y=field.y), format_call("write", text=word)]
    return Question(instruction, format_response(f'click {located(field, points)}, write "{word}"', calls))


def _what_is_at(element: Listed) -> Question:
    return Question(f"what is at {element.x} {element.y}?", answer(target(element), element.name))


def _is_there(rng: random.Random, element: Listed, unique: list[Listed], word: str) -> Question:
    name = element.name if rng.random() < 0.5 else rng.choice([other.name for other in unique] + [word])
    is_same = name == element.name
    return Question(
        f'is "{name}" at {element.x} {element.y}?',
        answer(f'{target(element)} is {"" if is_same else "not "}"{name}"', "yes" if is_same else "no"),
    )
