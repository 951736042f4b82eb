"""Generated pages for pre-training the small base: random layouts rendered in Chromium, with what is visible on them.

The base must learn to point at a named element, on pages unlike any evaluation task: absolute and flowing layouts of
buttons, links, fields, checkboxes, radio buttons, tabs and coloured boxes, with labels from ordinary words, made-up
words and random strings. A page is its screenshot and its element list (`components.browser.elements`). New questions
are generated from the list each time the page is used (`components.training.questions`).
"""

from __future__ import annotations

import html
import random
from dataclasses import dataclass

WORDS = """
ok cancel submit yes no previous next login search send home about help menu open close save delete edit view
more less start stop play back go add cart buy sell news mail chat list item page file copy paste undo redo
cut find sort filter map date time user name pass code key lock sun moon star tree fish bird cat dog agree
later apply reset clear done retry skip accept decline share like follow reply forward archive print export
import upload download sync join leave invite profile settings account orders basket checkout payment shipping
address phone email city country street number first last one two three four five six seven eight nine ten red
green blue left right up down north south east west small large light dark music video photo book game sport
food travel hotel flight train bus car bike ticket price offer sale gift card bank loan
""".split()
NAMES = """
Alba Bruno Chiara Dario Elif Farid Greta Hana Ivo Jana Kofi Lena Milo Nadia Omar Petra Quinn Rosa Sven Tara
Umar Vera Wim Xenia Yusuf Zoe
""".split()
COLOURS = """
red blue olive lime black white grey purple orange yellow cyan pink magenta green brown navy teal maroon
""".split()
ONSETS = """
b c d f g h j k l m n p q r s t v w st tr pl cr fl gr sc
""".split()
VOWELS = """
a e i o u a e i o u ae ia ui
""".split()
CODAS = ["", "", "", "s", "m", "t", "n", "r", "c", "x", "nt"]
ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
SIZE = 160, 210
"""Width and height of the viewport for which the pages are made."""


@dataclass(frozen=True)
class Page:
    """A rendered page: its screenshot as PNG bytes, and the lines of its element list."""

    png: bytes
    lines: list[str]


def random_word(rng: random.Random) -> str:
    """Return an ordinary word, a name, a made-up word or a random string."""
    kind = rng.random()
    if kind < 0.3:
        word = rng.choice(WORDS)
    elif kind < 0.4:
        word = rng.choice(NAMES)
    elif kind < 0.75:
        word = "".join(
            rng.choice(ONSETS) + rng.choice(VOWELS) + rng.choice(CODAS) for _ in range(rng.choice([1, 2, 2, 2, 3, 3]))
        )
    else:
        return "".join(rng.choice(ALPHABET) for _ in range(rng.randint(1, 7)))
    case = rng.random()
    word = word.capitalize() if case < 0.3 else word.upper() if case < 0.4 else word
    return word + rng.choice(".,") if rng.random() < 0.05 else word


def random_label(rng: random.Random) -> str:
    """Return a label of one word in 85% of the draws, else of two."""
    return " ".join(random_word(rng) for _ in range(1 if rng.random() < 0.85 else 2))


def random_page(rng: random.Random) -> str:
    """Return the HTML of one page."""
    size = rng.choice([10, 11, 12, 13])
    height, colour = rng.choice([0, 20, 50, 50, 50]), rng.choice(["#ff0", "#eef", "#fff"])
    header = f'<div style="height:{height}px;background:{colour};overflow:hidden">'
    header += " ".join(random_word(rng) for _ in range(4)) + "</div>"
    body = _scattered(rng) if rng.random() < 0.5 else _flowing(rng)
    return (
        f'<body style="margin:0;font:{size}px {rng.choice(["sans-serif", "serif", "monospace"])};width:160px;'
        f'background:{rng.choice(["#fff", "#fff", "#f4f4f4"])}">{header}{body}</body>'
    )


def _scattered(rng: random.Random) -> str:
    taken: list[tuple[int, int, int, int]] = []
    out = []
    for _ in range(rng.randint(1, 9)):
        content, width, height = _widget(rng)
        for _ in range(30):
            x, y = rng.randint(1, max(1, 158 - width)), rng.randint(50, max(51, 208 - height))
            if all(x + width < a or a + c < x or y + height < b or b + d < y for a, b, c, d in taken):
                taken.append((x, y, width, height))
                out.append(f'<div style="position:absolute;left:{x}px;top:{y}px;white-space:nowrap">{content}</div>')
                break
    return "".join(out)


def _flowing(rng: random.Random) -> str:
    parts = []
    for _ in range(rng.randint(1, 4)):
        kind = rng.random()
        if kind < 0.2:
            words = [random_word(rng) for _ in range(rng.randint(6, 18))]
            parts.append(
                "<p style='margin:4px'>" + " ".join(_link(rng, w) if rng.random() < 0.25 else w for w in words) + "</p>"
            )
        elif kind < 0.4:
            boxes = rng.choice(["checkbox", "radio"])
            rows = [
                f"<label><input type={boxes} name=g {rng.choice(['', '', 'checked'])}>{_label(rng)}</label><br>"
                for _ in range(rng.randint(2, 6))
            ]
            parts.append("<div>" + "".join(rows) + "</div>")
        elif kind < 0.55:
            names = rng.sample([f"{rng.choice(['Tab', 'Tab #', 'Page '])}{i}" for i in range(1, 5)], rng.randint(2, 3))
            look = 'style="padding:3px;border:1px solid #999"'
            tabs = [
                f'<a role=tab href="#" aria-selected={rng.choice(["true", "false"])} {look}>{n}</a> ' for n in names
            ]
            parts.append("<div style='margin:4px'>" + "".join(tabs) + "</div>")
        elif kind < 0.75:
            rows = [
                f"{_label(rng) + ' ' if rng.random() < 0.5 else ''}{_field(rng)}<br>" for _ in range(rng.randint(1, 4))
            ]
            parts.append("<div>" + "".join(rows) + "</div>")
        else:
            parts.append(
                "<div style='padding:3px'>" + " ".join(_widget(rng)[0] for _ in range(rng.randint(1, 4))) + "</div>"
            )
    return "".join(parts)


def _widget(rng: random.Random) -> tuple[str, int, int]:
    kind = rng.random()
    if kind < 0.4:
        label = random_label(rng)
        return f"<button style='padding:{rng.randint(0, 4)}px'>{html.escape(label)}</button>", len(label) * 8 + 20, 28
    if kind < 0.55:
        label = random_label(rng)
        return _link(rng, label), len(label) * 8 + 6, 18
    if kind < 0.7:
        return _field(rng), 104, 26
    if kind < 0.8:
        input_type = rng.choice(["checkbox", "radio"])
        label = random_label(rng)
        return f"<label><input type={input_type}>{html.escape(label)}</label>", len(label) * 8 + 30, 20
    side = rng.choice([16, 20, 30])
    return (
        f'<div style="width:{side}px;height:{side}px;background:{rng.choice(COLOURS)};border:1px solid #000"></div>',
        side + 4,
        side + 4,
    )


def _link(rng: random.Random, label: str) -> str:
    return f'<a href="#">{html.escape(label)}</a>'


def _label(rng: random.Random) -> str:
    return html.escape(random_label(rng))


def _field(rng: random.Random) -> str:
    name = rng.random()
    attributes = f'aria-label="{_label(rng)}"' if name < 0.4 else f'placeholder="{_label(rng)}"' if name < 0.5 else ""
    value = f'value="{_label(rng)}"' if rng.random() < 0.2 else ""
    kind, width = rng.choice(["text", "text", "text", "password"]), rng.choice([60, 80, 100])
    return f'<input type={kind} {attributes} {value} style="width:{width}px">'
