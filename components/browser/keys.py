"""Names of keys: what `press_keys` accepts, in Playwright's names.

>>> normalise_keys(["ctrl", "a"]), normalise_keys(["return"]), normalise_keys(["Tab", "Tab", "Enter"])
(['Control+a'], ['Enter'], ['Tab', 'Tab', 'Enter'])
"""

from __future__ import annotations

import re

_ALIASES = {
    "ctrl": "Control",
    "control": "Control",
    "shift": "Shift",
    "alt": "Alt",
    "option": "Alt",
    "cmd": "Meta",
    "command": "Meta",
    "meta": "Meta",
    "win": "Meta",
    "super": "Meta",
    "enter": "Enter",
    "return": "Enter",
    "esc": "Escape",
    "escape": "Escape",
    "tab": "Tab",
    "space": "Space",
    "backspace": "Backspace",
    "delete": "Delete",
    "del": "Delete",
    "insert": "Insert",
    "home": "Home",
    "end": "End",
    "pageup": "PageUp",
    "pgup": "PageUp",
    "pagedown": "PageDown",
    "pgdn": "PageDown",
    "up": "ArrowUp",
    "down": "ArrowDown",
    "left": "ArrowLeft",
    "right": "ArrowRight",
    "arrowup": "ArrowUp",
    "arrowdown": "ArrowDown",
    "arrowleft": "ArrowLeft",
    "arrowright": "ArrowRight",
    "capslock": "CapsLock",
    "contextmenu": "ContextMenu",
}
_CONTROLS = {"\n": "Enter", "\r": "Enter", "\r\n": "Enter", "\t": "Tab"}
MODIFIERS = ("Control", "Shift", "Alt", "Meta")
_CODES = re.compile(
    r"(Key[A-Z]|Digit\d|Numpad(\d|Divide|Multiply|Subtract|Add|Decimal|Enter)|(Control|Shift|Alt|Meta)(Left|Right)"
    r"|AltGraph|Back(quote|slash)|Minus|Equal|Bracket(Left|Right)|Semicolon|Quote|Comma|Period|Slash"
    r"|PrintScreen|ScrollLock|Pause|NumLock)"
)
VALID = (
    "single characters, enter, escape, tab, space, backspace, delete, insert, home, end, pageup, pagedown, up, down, "
    "left, right, f1 to f12, and ctrl, shift, alt or meta before another key, as in ctrl+a"
)


def normalise_keys(keys: list[str]) -> list[str]:
    """Keys in Playwright's names: ["ctrl", "a"], ["ctrl+a"] and ["Control+A"] are the same chord; others in sequence.
    Modifiers belong to the key after them: ["ctrl", "a", "delete"] is a chord and a key.

    A character that the keyboard lacks (`é`, an emoji) stays as it is; see `is_typed`.

    Raises:
        ValueError: a name is no key; the message names the valid ones.
    """
    pressed: list[str] = []
    held: list[str] = []
    for key in ("+".join(_key(part) for part in _split(key)) for key in keys):
        if key in MODIFIERS:
            held.append(key)
        else:
            pressed.append("+".join([*held, key]))
            held = []
    pressed += held
    for key in pressed:
        if len(_split(key)) > 1 and not key.isascii():
            raise ValueError(f'"{key}" cannot be pressed: the keyboard has no key for it; valid keys are {VALID}')
    return pressed


def modifier_names(value: str) -> list[str]:
    """The modifiers that a string such as "ctrl+shift" names, in Playwright's names.

    Raises:
        ValueError: a name is no modifier.
    """
    names = [_ALIASES.get(part.lower(), part) for part in _split(value)]
    for name in names:
        if name not in MODIFIERS:
            raise ValueError(f'"{name}" is no modifier; modifiers are ctrl, shift, alt and meta')
    return names


def is_typed(key: str) -> bool:
    """Whether a normalised key is a character that no key gives, so that it is inserted as text."""
    return not key.isascii()


def _split(key: str) -> list[str]:
    key = _CONTROLS.get(key, key)
    key = key.strip() or ("Space" if key else "")
    if key == "+" or "+" not in key:
        return [key]
    parts = key.removesuffix("++").split("+") if key.endswith("++") else key.split("+")
    return [part.strip() for part in parts if part.strip()] + (["+"] if key.endswith("++") else [])


def _key(name: str) -> str:
    low = name.lower().replace("_", "").replace(" ", "")
    if low in _ALIASES:
        return _ALIASES[low]
    if re.fullmatch(r"f([1-9]|1[0-2])", low):
        return low.upper()
    if len(name) == 1 or not name.isascii() or _CODES.fullmatch(name):
        return name
    raise ValueError(f'unknown key "{name[:40]}"; valid keys are {VALID}')
