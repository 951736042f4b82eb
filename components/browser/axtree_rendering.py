"""Writes an accessibility tree as text for the agent: one line per element, or simplified HTML."""

from __future__ import annotations

import html as markup

from components.browser.axtree import ACTIONABLE, TRANSPARENT, Node

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


def as_tree(nodes: list[Node], left_out: int = 0) -> str:
    """One line per element, indented by depth: `[12] link "Home"`. Static text is `text "…"`.

    Args:
        left_out: number of elements in view that are not among the nodes; the last line adds them.
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
    return _joined(lines, left_out)


def as_html(nodes: list[Node], left_out: int = 0) -> str:
    """Markup with one element per line: `<a id="12">Home</a>`, as models trained on simplified HTML expect.

    Args:
        left_out: as for `as_tree`.
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
    return _joined(lines, left_out)


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


def _joined(lines: list[str], left_out: int) -> str:
    more = max(0, len(lines) - MAX_NODES) + left_out
    return "\n".join([*lines[:MAX_NODES], *([f"... {more} more elements in view"] if more else [])])
