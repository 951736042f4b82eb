"""Pages as `application_pages` makes them, with what sentences speak of: menus whose lines share words, names that
quote other names, articles whose buttons stand below them, and titles with punctuation.

As there, words and names are drawn at random, so that the pages are unlike any site on which an agent is evaluated.
"""

from __future__ import annotations

import html
import random
from collections.abc import Callable

from components.training.application_pages import VERBS, application_page, random_phrase
from components.training.pages import random_word

UNITS = "mm cm m kg l ml pieces persons days".split()
QUOTES = [("“", "”"), ('"', '"'), ("'", "'"), ("", ""), ("«", "»")]


def random_title(rng: random.Random) -> str:
    """Return a title of 2 to 10 words with punctuation inside, such as "Blue rope, 14 mm" or "Re: to sell: oars"."""
    text = random_phrase(rng)
    kind = rng.random()
    if kind < 0.25:
        text = f"{text.rstrip('?!.:')}, {random_phrase(rng, 3).lower()}"
    elif kind < 0.5:
        text = f"{text.rstrip('?!.:')}: {random_phrase(rng, 4).lower()}"
    elif kind < 0.65:
        text = f"{text.rstrip('?!.:')}, {rng.randint(1, 400)} {rng.choice(UNITS)}"
    elif kind < 0.75:
        text = f"{text.rstrip('?!.:')}?"
    return f"Re: {text}" if rng.random() < 0.2 else text


def sentence_page(rng: random.Random) -> str:
    """Return the HTML of one page: an application's, with one or two parts of this module before its end."""
    page = application_page(rng)
    parts = "".join(rng.choice(_PARTS)(rng) for _ in range(rng.choice([1, 1, 2])))
    if rng.random() < 0.5:
        opening, body = page.split(">", 1)
        return f"{opening}>{parts}{body}"
    return page.replace("</body>", f"{parts}</body>")


def _menu(rng: random.Random) -> str:
    """Lines of two to five words, which share a noun and differ in the others."""
    noun, lines = random_word(rng), []
    for verb in rng.sample(VERBS, rng.randint(3, 8)):
        form = rng.choice(
            ["{verb} {noun}", "{verb} {noun}", "{verb} to {word} {noun}", "{verb} {word} {noun}", "{verb}"]
        )
        lines.append(form.format(verb=verb, noun=noun, word=random_word(rng)))
    tag = rng.choice(["<a href='#'>{}</a>", "<a href='#'>{}</a>", "<button>{}</button>"])
    rows = "".join(
        f"<div style='padding:{rng.randint(2, 8)}px'>{tag.format(html.escape(line))}</div>" for line in lines
    )
    return f"<div style='width:240px;border:1px solid #bbb;margin-left:{rng.randint(0, 600)}px'>{rows}</div>"


def _quoting_rows(rng: random.Random) -> str:
    """Checkboxes or buttons whose names quote the title of their row, and buttons for what is chosen."""
    verb, (opening, closing) = rng.choice(VERBS), rng.choice(QUOTES)
    kind = rng.choice(["<input type=checkbox aria-label='{}'>", "<button aria-label='{}'>+</button>"])
    is_link, rows = rng.random() < 0.3, ""
    for _ in range(rng.randint(4, 11)):
        title = random_title(rng)
        name = html.escape(f"{verb} {opening}{title}{closing}")
        text = f"<a href='#'>{html.escape(title)}</a>" if is_link else html.escape(title)
        rows += f"<tr><td>{kind.format(name)}</td><td>{text}</td><td>{html.escape(random_phrase(rng, 2))}</td></tr>"
    buttons = " ".join(f"<button>{name}</button>" for name in rng.sample(VERBS, rng.randint(1, 4)))
    return f"<div>{buttons}</div><table style='border-collapse:collapse;width:100%'>{rows}</table>"


def _articles(rng: random.Random) -> str:
    """Articles with their buttons below the title, to its right or left, as carts have them."""
    verb, rows = rng.choice(VERBS), ""
    has_number, gap, left = rng.random() < 0.6, rng.randint(4, 40), rng.choice([0, 0, 300, 600])
    for _ in range(rng.randint(2, 6)):
        number = f"<input type=number value={rng.randint(1, 9)} aria-label=Quantity size=3>" if has_number else ""
        rows += (
            f"<div style='padding:8px;border-top:1px solid #ccc'><a href='#'>{html.escape(random_title(rng))}</a>"
            f"<div style='margin:{gap}px 0 0 {left}px'>{number} <a href='#'>{verb}</a></div></div>"
        )
    return f"<div>{rows}</div>"


_PARTS: tuple[Callable[[random.Random], str], ...] = (_menu, _menu, _quoting_rows, _quoting_rows, _articles)
