"""Writes an accessibility tree as text for the agent: one line per element, or simplified HTML."""

from __future__ import annotations

import html as markup

from components.browser.axtree import ACTIONABLE, NOTHING, TRANSPARENT, Node, NotShown

MAX_NODES = 1500
"""Elements in one observation. A page with more is cut, and the last line says so."""
MAX_TEXT = 400
"""Characters of one name or text."""
_TAGS = {
    "link": "a", "textbox": "input", "searchbox": "input", "spinbutton": "input", "checkbox": "input", "radio": "input",
    "slider": "input", "combobox": "select", "listbox": "select", "paragraph": "p", "list": "ul", "listitem": "li",
    "row": "tr", "cell": "td", "columnheader": "th", "rowheader": "th", "navigation": "nav", "contentinfo": "footer",
    "banner": "header", "article": "article", "main": "main", "table": "table", "form": "form", "button": "button",
    "option": "option", "iframe": "iframe", "dialog": "dialog", "strong": "strong", "emphasis": "em", "code": "code",
}  # fmt: skip
_INPUT_TYPES = {"textbox": "text", "spinbutton": "number", "slider": "range"}


def as_tree(nodes: list[Node], not_shown: NotShown = NOTHING) -> str:
    """One line per element, indented by depth: `[12] link "Home"`. Static text is `text "…"`.

    Args:
        not_shown: what is not among the nodes; the first and the last lines tell it.
    """
    lines: list[str] = []

    def add(node: Node, depth: int) -> None:
        words = [node.role if node.id is None else f"[{node.id}] {node.role}"]
        if node.name or node.is_text:
            words.append(_quoted(node.text if node.is_text else node.name))
        if node.text and not node.is_text:
            words.append(f"value {_quoted(node.text)}" if node.role in ACTIONABLE else _quoted(node.text))
        lines.append("  " * depth + " ".join([*words, *node.states]))
        for child in node.children:
            add(child, depth + 1)

    for node in nodes:
        add(node, 0)
    return _joined(lines, not_shown)


def as_html(nodes: list[Node], not_shown: NotShown = NOTHING) -> str:
    """Markup with one element per line: `<a id="12">Home</a>`, as models trained on simplified HTML expect.

    Args:
        not_shown: as for `as_tree`.
    """
    lines: list[str] = []

    def add(node: Node, depth: int) -> None:
        pad = "  " * depth
        if node.is_text:
            lines.append(pad + markup.escape(_cut(node.text), quote=False))
            return
        tag, attributes = _tag(node)
        inner = "" if tag == "input" else markup.escape(_cut(_text_of(node)), quote=False)
        opening = f"<{tag}{attributes}>"
        if tag == "input":
            lines.append(pad + opening)
        elif not node.children:
            lines.append(f"{pad}{opening}{inner}</{tag}>")
        else:
            lines.append(pad + opening + inner)
            for child in node.children:
                add(child, depth + 1)
            lines.append(f"{pad}</{tag}>")

    for node in nodes:
        add(node, 0)
    return _joined(lines, not_shown)


def _tag(node: Node) -> tuple[str, str]:
    tag = f"h{min(node.level or 1, 6)}" if node.role == "heading" else _TAGS.get(node.role, "div")
    pairs = [("id", node.id)]
    if tag == "input":
        pairs += [("type", _INPUT_TYPES.get(node.role, node.role)), ("label", node.name), ("value", node.text)]
    elif tag == "select":
        pairs += [("label", node.name)]
    elif tag == "div" and node.role not in TRANSPARENT:
        pairs += [("role", node.role)]
    shown = "".join(f' {key}="{markup.escape(_cut(value))}"' for key, value in pairs if value)
    return tag, shown + "".join(f" {state}" for state in node.states)


def _text_of(node: Node) -> str:
    parts = [] if node.role in ("combobox", "listbox") else [node.name]
    return " ".join(part for part in [*parts, node.text if node.text != node.name else ""] if part)


def _quoted(text: str) -> str:
    return '"' + _cut(text).replace('"', "'") + '"'


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_TEXT else line[: MAX_TEXT - 3] + "..."


def _joined(lines: list[str], not_shown: NotShown) -> str:
    before = [f"(more above: {_screens(not_shown.above)})"] if not_shown.above else []
    after = []
    if more := max(0, len(lines) - MAX_NODES) + not_shown.elements:
        after.append(f"... {more} more elements in view")
    if not_shown.frames:
        verbs = "frame did not answer and is" if not_shown.frames == 1 else "frames did not answer and are"
        after.append(f"... {not_shown.frames} {verbs} left out")
    if not_shown.below:
        after.append(f"(more below: {_screens(not_shown.below)})")
    return "\n".join([*before, *lines[:MAX_NODES], *after])


def _screens(number: float) -> str:
    return f"{max(0.1, number):.1f} screens"
