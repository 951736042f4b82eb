"""Questions in sentences, beside those of `application_questions`: an element is meant by a part of its name.

"Please lock the old one" means the link "Lock topic". The thought quotes the words that the sentence and the name
share, as the oracles' thoughts do (`components.worlds.oracle`). A second kind names an article and a button, and means
that button below the article.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from components.agent.grammar import format_call, format_response
from components.browser.elements import Listed, parse_elements
from components.training.application_pages import random_phrase
from components.training.application_questions import ask_on_application
from components.training.pages import WORDS, random_word
from components.training.questions import Question, located
from components.training.sentence_pages import random_title

JOINTS = "the a this that in on at of to for with by from here now then and also please you it is so my our".split()
_WORD = re.compile(r"[^\W_]+")


def ask_in_sentences(lines: list[str], rng: random.Random, count: int) -> list[Question]:
    """Up to `count` questions about a page: half of them those of applications, half in sentences."""
    elements = parse_elements("\n".join(lines))
    makers: list[Callable[[], Question]] = []
    parts = _parts(elements)
    taken = {word for line in elements for word in _WORD.findall(line.name.lower())}
    if parts:
        makers += [lambda: _click_part(rng, *rng.choice(parts), taken)] * 4
    pairs = _followed(elements)
    if pairs:
        makers += [lambda: _click_below(rng, *rng.choice(pairs), taken)] * 2
    fields = [line for line in elements if line.role == "field" and line.name]
    fields = [line for line in fields if sum(other.name == line.name for other in fields) == 1]
    if fields:
        makers += [lambda: _write_title(rng, rng.choice(fields))] * 2
    questions = []
    for _ in range(count):
        if makers and rng.random() < 0.5:
            questions.append(rng.choice(makers)())
        else:
            questions += ask_on_application(lines, rng, 1)
    return questions


def _parts(elements: list[Listed]) -> list[tuple[Listed, list[str]]]:
    """Named elements, each with the runs of its words that no other name has, longest last."""
    names = [" ".join(_WORD.findall(line.name.lower())) for line in elements]
    usable = []
    for line in elements:
        if line.role not in ("link", "button", "checkbox", "tab", "radio"):
            continue
        words = list(_WORD.finditer(line.name))
        runs = []
        for length in range(1, min(len(words), 8) + 1):
            for begin in range(len(words) - length + 1):
                text = line.name[words[begin].start() : words[begin + length - 1].end()]
                plain = " ".join(_WORD.findall(text.lower()))
                is_own = sum(f" {plain} " in f" {other} " for other in names) == 1
                if is_own and any(word not in JOINTS for word in plain.split()):
                    runs.append(text)
        if runs:
            usable.append((line, runs))
    return usable


def _followed(elements: list[Listed]) -> list[tuple[Listed, Listed]]:
    """Elements whose name occurs once, each with the repeated link or button after it and before the next such name."""
    counts: dict[str, int] = {}
    for line in elements:
        counts[line.name] = counts.get(line.name, 0) + 1
    repeated = {
        line.name for line in elements if line.role in ("link", "button") and counts[line.name] > 1 and line.name
    }
    pairs, label = [], None
    if len(repeated) != 1:  # a sentence that names no button means the only kind that there is
        return []
    for line in elements:
        if line.name in repeated:
            if label is not None:
                pairs.append((line, label))
            label = None
        elif line.role == "link" and counts[line.name] == 1 and " " in line.name:
            label = line
    return pairs


def _sentence(rng: random.Random, parts: list[str], taken: set[str], spread: list[str]) -> str:
    """The parts in any order among random words, and at times a title, which are in no name of the page.

    Args:
        taken: the words of all names, in lower case.
        spread: words that several names have; one or two of them stand at the end.
    """
    spare = [word.lower() for word in WORDS if word.lower() not in taken]

    def filler(least: int, most: int) -> list[str]:
        count = rng.randint(least, most)
        return [rng.choice(JOINTS) if rng.random() < 0.6 else rng.choice(spare) for _ in range(count)]

    words = filler(0, 4)
    for part in rng.sample(parts, len(parts)):
        words += [part, *filler(0, 3)]
    title = random_title(rng)
    if rng.random() < 0.4 and not ({*_WORD.findall(title.lower())} - {*JOINTS}) & taken:
        words.insert(rng.randint(0, len(words)), f'"{title}"')
    if spread and rng.random() < 0.5:
        words += [*filler(1, 2), *rng.sample(spread, min(len(spread), rng.randint(1, 2)))]
    text = " ".join(words)
    return text[0].upper() + text[1:] + rng.choice([".", ".", "", "?"])


def _begun_small(rng: random.Random, text: str) -> str:
    """The text, whose first letter is small in half of the draws, as names have it inside a sentence."""
    return text[0].lower() + text[1:] if rng.random() < 0.5 else text


def _click_part(rng: random.Random, element: Listed, runs: list[str], taken: set[str]) -> Question:
    run = rng.choice(runs[-3:]) if rng.random() < 0.5 else rng.choice(runs)
    words = _begun_small(rng, run)
    outside = {*_WORD.findall(element.name)} - {*_WORD.findall(run)}
    spread = sorted(word.lower() for word in outside if [word] not in (_WORD.findall(other) for other in runs))
    part = f'"{words}"' if rng.random() < 0.4 else words
    thought = f'for "{words}": click {located(element, True)}'
    calls = [format_call("click", x=element.x, y=element.y)]
    return Question(_sentence(rng, [part], taken, spread), format_response(thought, calls))


def _click_below(rng: random.Random, button: Listed, label: Listed, taken: set[str]) -> Question:
    words = _begun_small(rng, button.name)
    thought = f'for "{words}": click {located(button, True)}'
    calls = [format_call("click", x=button.x, y=button.y)]
    return Question(_sentence(rng, [words, f'"{label.name}"'], taken, []), format_response(thought, calls))


def _write_title(rng: random.Random, field: Listed) -> Question:
    text = random_title(rng)
    forms = [
        f'write "{text}" in "{field.name}"',
        f'{field.name}: "{text}"',
        f'{random_word(rng)} "{text}" {random_phrase(rng, 3)}, in {field.name}',
    ]
    calls = [format_call("click", x=field.x, y=field.y), format_call("write", text=text)]
    return Question(rng.choice(forms), format_response(f"write in {located(field, True)}", calls))
