"""Generated pages that look like applications: a bar with a search field, a menu, and tables, forms, cards or articles.

They teach the base what the small pages (`components.training.pages`) cannot: to find one of 15 to 80 elements, names
of several words, one of many buttons of the same name by its row, selects, and long texts to write. Words, names and
numbers are drawn at random, so that the pages are unlike any site on which an agent is evaluated.
"""

from __future__ import annotations

import html
import random
from collections.abc import Callable

from components.training.pages import NAMES, WORDS, random_word

VERBS = """
Save Send Add Remove Delete Edit Open Close Hide Show Move Copy Reply Archive Rename Cancel Apply Update Print Publish
Reopen Assign Follow Mark Choose Change Restore Duplicate Lock Pin Report Book Return
""".split()
SIZE = 1024, 576
"""Width and height of the viewport for which the pages are made."""
JOINTS = "of the a for with in on and to at from by".split()
_ROWS = "border-collapse:collapse;width:100%"


def random_phrase(rng: random.Random, longest: int = 6) -> str:
    """Return a name of 1 to `longest` words, as titles, people, numbers and prices are written."""
    kind = rng.random()
    if kind < 0.1:
        return f"{rng.choice(NAMES)} {random_word(rng).capitalize()}"
    if kind < 0.17:
        return f"{random_word(rng)} {rng.randint(1, 120_000)}"
    if kind < 0.2:
        return f"${rng.randint(1, 300)}.{rng.randint(0, 99):02}"
    words = [random_word(rng)]
    while len(words) < rng.randint(1, longest):
        words.append(rng.choice(JOINTS) if rng.random() < 0.25 else random_word(rng))
    text = " ".join(words)
    return text[0].upper() + text[1:] + (rng.choice("?!.:") if rng.random() < 0.08 else "")


def random_sentence(rng: random.Random) -> str:
    """Return a text of 3 to 12 words, as a person writes it in a field."""
    words = [
        rng.choice([*JOINTS, *WORDS]) if rng.random() < 0.8 else random_word(rng) for _ in range(rng.randint(3, 12))
    ]
    return " ".join(words).capitalize() + rng.choice([".", ".", "?", "!", ""])


def application_page(rng: random.Random) -> str:
    """Return the HTML of one page."""
    colour, grey = rng.choice(["#246", "#363", "#eee", "#fff", "#421"]), rng.random() < 0.5
    bar = _bar(rng, colour)
    main = "".join(rng.choice(_PARTS)(rng) for _ in range(rng.choice([1, 1, 2, 2, 3])))
    if rng.random() < 0.4:
        main = f"<p>{' / '.join(_link(rng, 3) for _ in range(rng.randint(2, 3)))}</p>" + main
    main = f"<h2>{_text(rng)}</h2>{main}"
    if rng.random() < 0.6:
        main = f"<div style='display:flex'>{_menu(rng)}<main style='flex:1'>{main}</main></div>"
    size, face = rng.choice([13, 14, 15, 16]), rng.choice(["sans-serif", "serif", "system-ui"])
    style = f"margin:0;font:{size}px {face};background:{'#f4f4f4' if grey else '#fff'}"
    return f'<body style="{style}">{bar}{main}</body>'


def _bar(rng: random.Random, colour: str) -> str:
    items = [_link(rng, 2) for _ in range(rng.randint(1, 5))]
    if rng.random() < 0.6:
        items.append(
            f'<input aria-label="{rng.choice(["Search", "Search:", "Find", _text(rng, 2)])}" {_value(rng, 0.15)}>'
        )
        items.append(f"<button>{rng.choice(['Go', 'Search', 'OK', 'Find'])}</button>")
    items += [_link(rng, 2) for _ in range(rng.randint(0, 3))]
    style = f"background:{colour};padding:{rng.randint(4, 16)}px;display:flex;gap:{rng.randint(8, 40)}px;flex-wrap:wrap"
    return f"<div style='{style}'>{''.join(items)}</div>"


def _menu(rng: random.Random) -> str:
    lines = [f"<div style='margin:{rng.randint(3, 14)}px'>{_link(rng, 3)}</div>" for _ in range(rng.randint(3, 10))]
    return f"<nav style='width:200px;flex:none'>{''.join(lines)}</nav>"


def _table(rng: random.Random) -> str:
    names = rng.sample(VERBS, rng.randint(1, 3))
    as_button, marked = rng.random() < 0.6, rng.random() < 0.3
    pad = rng.randint(2, 9)
    rows = ""
    for _ in range(rng.randint(3, 12)):
        cells = [_link(rng) if rng.random() < 0.9 else _text(rng), _text(rng, 3), _text(rng, 2)]
        if marked:
            cells.insert(0, f'<input type=checkbox aria-label="{_text(rng, 2)}" {rng.choice(["", "", "checked"])}>')
        cells.append(" ".join(f"<button>{v}</button>" if as_button else f'<a href="#">{v}</a>' for v in names))
        rows += "<tr>" + "".join(f"<td style='padding:{pad}px'>{cell}</td>" for cell in cells) + "</tr>"
    return f"<table style='{_ROWS}'>{rows}</table>"


def _form(rng: random.Random) -> str:
    out = ""
    for _ in range(rng.randint(2, 7)):
        label, kind = _text(rng, 3), rng.random()
        if kind < 0.5:
            field = f"<input type={rng.choice(['text', 'text', 'email', 'password'])} {_value(rng, 0.4)}>"
        elif kind < 0.65:
            field = f"<textarea rows={rng.randint(2, 4)} cols=50>{_text(rng) if rng.random() < 0.3 else ''}</textarea>"
        elif kind < 0.85:
            options = "".join(f"<option>{_text(rng, 2)}</option>" for _ in range(rng.randint(2, 6)))
            field = f"<select>{options}</select>"
        else:
            field = f"<input type={rng.choice(['checkbox', 'radio'])} {rng.choice(['', 'checked'])}>"
        out += f"<p><label>{label}{rng.choice([' ', '<br>'])}{field}</label></p>"
    buttons = " ".join(f"<button>{verb}</button>" for verb in rng.sample(VERBS, rng.randint(1, 3)))
    return f"<div style='padding:8px'>{out}{buttons}</div>"


def _cards(rng: random.Random) -> str:
    name, width = f"{rng.choice(VERBS)}{rng.choice(['', ' to cart', ' it', ' now'])}", rng.choice([150, 190, 230])
    cards = "".join(
        f"<div style='width:{width}px;margin:6px;padding:6px;border:1px solid #ccc'>"
        f"<div style='height:{rng.choice([0, 40, 90])}px;background:#ddd'></div>"
        f"{_link(rng, 4)}<br>{_text(rng, 1)}<br><button>{html.escape(name)}</button></div>"
        for _ in range(rng.randint(3, 12))
    )
    return f"<div style='display:flex;flex-wrap:wrap'>{cards}</div>"


def _thread(rng: random.Random) -> str:
    names = rng.sample(VERBS, rng.randint(1, 4))
    posts = ""
    for _ in range(rng.randint(1, 4)):
        text = html.escape(" ".join(random_sentence(rng) for _ in range(rng.randint(1, 4))))
        posts += f"<div style='padding:8px;border-top:1px solid #ccc'>{_link(rng, 2)}<p>{text}</p>"
        posts += " ".join(f'<a href="#">{name}</a>' for name in names) + "</div>"
    return posts


def _tabs(rng: random.Random) -> str:
    chosen = rng.randrange(4)
    tabs = "".join(
        f'<a role=tab href="#" aria-selected={str(at == chosen).lower()} style="padding:6px">{_text(rng, 2)}</a>'
        for at in range(rng.randint(2, 5))
    )
    return f"<div style='margin:8px;border-bottom:1px solid #999'>{tabs}</div>"


_PARTS: tuple[Callable[[random.Random], str], ...] = (_table, _table, _form, _form, _cards, _thread, _tabs)


def _text(rng: random.Random, longest: int = 6) -> str:
    return html.escape(random_phrase(rng, longest))


def _link(rng: random.Random, longest: int = 6) -> str:
    return f'<a href="#">{_text(rng, longest)}</a>'


def _value(rng: random.Random, share: float) -> str:
    return f'value="{_text(rng, 3)}"' if rng.random() < share else ""
