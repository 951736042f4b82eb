"""The 13 tools of the action space and their arguments (OpenWebRL, appendix A.3, table 6), and those of text protocols.

Coordinates are 0 to 1000 on both axes, whatever the viewport. A number outside is no error here: the session clamps it
and the feedback says so. `check_call` turns a name and raw arguments into a `ToolCall`, with `error` set if they are
wrong, so that one bad call leaves its neighbours alone.

Protocols whose observation is text (WebAgent-R1, table 6; BrowserAgent, table 1) name elements instead of points:
`ELEMENT_TOOLS`. An OpenWebRL response cannot call them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from components.records import ToolCall

SCALE = 1000


class Arguments(BaseModel):
    """Base of all arguments. `category` is the tool's group in table 6."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    category: ClassVar[str]


class Click(Arguments):
    """Mouse-click at a point; single or double, left, right or middle button."""

    category: ClassVar[str] = "pointer"
    x: float
    y: float
    button: Literal["left", "right", "middle"] = "left"
    click_type: Literal["single", "double"] = "single"


class Hover(Arguments):
    """Move the cursor to a point to reveal tooltips or open dropdowns."""

    category: ClassVar[str] = "pointer"
    x: float
    y: float


class Drag(Arguments):
    """Drag and drop from a start point to an end point."""

    category: ClassVar[str] = "pointer"
    x1: float
    y1: float
    x2: float
    y2: float


class Write(Arguments):
    """Clear the focused input and type a string."""

    category: ClassVar[str] = "keyboard"
    text: str = Field(max_length=10_000)


class PressKeys(Arguments):
    """Press keys one after the other, or a hotkey such as "ctrl+a" as a chord."""

    category: ClassVar[str] = "keyboard"
    keys: list[str] = Field(min_length=1, max_length=32)

    @field_validator("keys", mode="before")
    @classmethod
    def _one_is_a_list(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value


class Scroll(Arguments):
    """Scroll the page, or the scrollable element at (x, y), by a fraction of the viewport."""

    category: ClassVar[str] = "navigation"
    direction: Literal["up", "down", "left", "right"]
    amount: float = Field(default=0.5, gt=0, le=100)
    x: float | None = None
    y: float | None = None


class GotoUrl(Arguments):
    """Navigate the current tab to a URL."""

    category: ClassVar[str] = "navigation"
    url: str = Field(min_length=1, max_length=4096)


class GoBack(Arguments):
    """Navigate back in the browser history."""

    category: ClassVar[str] = "navigation"


class Wait(Arguments):
    """Pause for some seconds to let the page settle."""

    category: ClassVar[str] = "navigation"
    seconds: float = Field(default=1, ge=0, le=30)


class NewTab(Arguments):
    """Open a new blank tab."""

    category: ClassVar[str] = "tab"


class SwitchTab(Arguments):
    """Switch to the tab with the given index, counted from 0."""

    category: ClassVar[str] = "tab"
    index: int


class CloseTab(Arguments):
    """Close the current tab."""

    category: ClassVar[str] = "tab"


class Done(Arguments):
    """End the episode with the final answer."""

    category: ClassVar[str] = "termination"
    answer: str = Field(default="", max_length=20_000)


TOOLS: dict[str, type[Arguments]] = {
    "click": Click,
    "hover": Hover,
    "drag": Drag,
    "write": Write,
    "press_keys": PressKeys,
    "scroll": Scroll,
    "goto_url": GotoUrl,
    "go_back": GoBack,
    "wait": Wait,
    "new_tab": NewTab,
    "switch_tab": SwitchTab,
    "close_tab": CloseTab,
    "done": Done,
}


class ClickElement(Arguments):
    """Click an element by its id."""

    category: ClassVar[str] = "pointer"
    element: str = Field(max_length=40)
    button: Literal["left", "right", "middle"] = "left"


class HoverElement(Arguments):
    """Move the cursor over an element."""

    category: ClassVar[str] = "pointer"
    element: str = Field(max_length=40)


class WriteElement(Arguments):
    """Clear a field and type a string into it, then press Enter if `submit`."""

    category: ClassVar[str] = "keyboard"
    element: str = Field(max_length=40)
    text: str = Field(max_length=10_000)
    submit: bool = False


class SelectOption(Arguments):
    """Choose an option of a select element by its label."""

    category: ClassVar[str] = "keyboard"
    element: str = Field(max_length=40)
    option: str = Field(max_length=1000)


class GoForward(Arguments):
    """Navigate forward in the browser history."""

    category: ClassVar[str] = "navigation"


ELEMENT_TOOLS: dict[str, type[Arguments]] = {
    "click_element": ClickElement,
    "hover_element": HoverElement,
    "write_element": WriteElement,
    "select_option": SelectOption,
    "go_forward": GoForward,
}
ALL_TOOLS = TOOLS | ELEMENT_TOOLS


def check_call(name: str, arguments: dict[str, Any], tools: Mapping[str, type[Arguments]] = TOOLS) -> ToolCall:
    """A call with its arguments checked; `error` says what is wrong with the first wrong one."""
    try:
        parse_arguments(name, arguments, tools)
    except ValueError as error:
        return ToolCall(name=name, arguments=arguments, error=str(error))
    return ToolCall(name=name, arguments=arguments)


def parse_arguments(
    name: str, arguments: dict[str, Any], tools: Mapping[str, type[Arguments]] = ALL_TOOLS
) -> Arguments:
    """Typed arguments of a tool.

    Raises:
        ValueError: an unknown tool or wrong arguments, in one short sentence.
    """
    if name not in tools:
        raise ValueError(f"unknown tool; tools are {', '.join(tools)}")
    try:
        return tools[name].model_validate(arguments)
    except ValidationError as error:
        detail = error.errors()[0]
        field = ".".join(str(part) for part in detail["loc"]) or "arguments"
        if detail["type"] == "missing":
            raise ValueError(f"{field} is missing") from error
        if detail["type"] == "extra_forbidden":
            raise ValueError(f"unknown argument {field}") from error
        raise ValueError(f"{field}: {detail['msg'].lower()}") from error


_KEYS = {
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
}
_MODIFIERS = {"Control", "Shift", "Alt", "Meta"}


def normalise_keys(keys: list[str]) -> list[str]:
    """Keys in Playwright's names: ["ctrl", "a"], ["ctrl+a"] and ["Control+A"] are the same chord; others in sequence.

    >>> normalise_keys(["ctrl", "a"]), normalise_keys(["return"]), normalise_keys(["Tab", "Tab", "Enter"])
    (['Control+a'], ['Enter'], ['Tab', 'Tab', 'Enter'])
    """
    pressed = ["+".join(_key(part) for part in _split(key)) for key in keys]
    if len(pressed) > 1 and all(key in _MODIFIERS for key in pressed[:-1]) and pressed[-1] not in _MODIFIERS:
        return ["+".join(pressed)]
    return pressed


def _split(key: str) -> list[str]:
    key = key.strip() or "Space"
    if key == "+" or "+" not in key:
        return [key]
    parts = key.removesuffix("++").split("+") if key.endswith("++") else key.split("+")
    return [part.strip() for part in parts if part.strip()] + (["+"] if key.endswith("++") else [])


def _key(name: str) -> str:
    low = name.lower().replace("_", "").replace(" ", "")
    if low in _KEYS:
        return _KEYS[low]
    if len(low) in (2, 3) and low[0] == "f" and low[1:].isdigit():
        return low.upper()
    return name
