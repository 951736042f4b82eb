"""The 13 tools of the action space (OpenWebRL, appendix A.3, table 6) and those of the text protocols, with arguments.

Coordinates are 0 to 1000 on both axes, whatever the viewport is. A number outside is no error here: the session clamps
it, and the feedback says so. `check_call` turns a name and raw arguments into a `ToolCall`, with `error` set if they
are wrong, so that one bad call does not affect the others.

Protocols whose observation is text (WebAgent-R1, table 6; BrowserAgent, table 1) name elements instead of points:
`ELEMENT_TOOLS`. An OpenWebRL response cannot call them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    field_validator,
    model_validator,
)

from components.browser.keys import modifier_names
from components.records import ToolCall

SCALE = 1000
"""Largest coordinate."""
EXTENSION: dict[str, JsonValue] = {"extension": True}
"""Marks arguments that the paper's tools do not have. They are always accepted; only the prompt `extended` describes
them."""


class Arguments(BaseModel):
    """Base of all arguments. `category` is the tool's group in table 6."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    category: ClassVar[str]
    remark: ClassVar[str] = ""
    """What only the prompt `extended` says of the tool."""


def _wrap_single_modifier(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _normalise_modifiers(value: list[str]) -> list[str]:
    return [name for names in value for name in modifier_names(names)]


Modifiers = Annotated[list[str], BeforeValidator(_wrap_single_modifier), AfterValidator(_normalise_modifiers)]
"""Keys held during a click, as `["ctrl", "shift"]` or `"ctrl+shift"`; normalised to Playwright's names."""


class Click(Arguments):
    """Mouse-click at a point; single or double, left, right or middle button."""

    category: ClassVar[str] = "pointer"
    x: float
    y: float
    button: Literal["left", "right", "middle"] = "left"
    click_type: Literal["single", "double"] = "single"
    modifiers: Modifiers = Field(default=[], max_length=4, json_schema_extra=EXTENSION)


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
    remark: ClassVar[str] = (
        "A click on a drop-down list (`select`) gives it the focus and draws no options; then write the label of the "
        "option to choose it."
    )
    text: str = Field(max_length=10_000)
    clear: bool = Field(default=True, json_schema_extra=EXTENSION)
    """With false, the text is added at the end of what the input holds."""


class PressKeys(Arguments):
    """Press keys one after the other, or a hotkey such as "ctrl+a" as a chord."""

    category: ClassVar[str] = "keyboard"
    keys: list[str] = Field(min_length=1, max_length=32)

    @field_validator("keys", mode="before")
    @classmethod
    def _wrap_single_key(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value


class Scroll(Arguments):
    """Scroll the page, or the scrollable element at (x, y), by a fraction of the viewport."""

    category: ClassVar[str] = "navigation"
    direction: Literal["up", "down", "left", "right"]
    amount: float = Field(default=0.5, gt=0, le=100)
    x: float | None = None
    y: float | None = None

    @model_validator(mode="after")
    def _has_a_whole_point(self) -> Scroll:
        if (self.x is None) != (self.y is None):
            raise ValueError(
                f"{'y' if self.y is None else 'x'} is missing: give both for a point, or none for the page"
            )
        return self


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
    click_type: Literal["single", "double"] = "single"
    modifiers: Modifiers = Field(default=[], max_length=4, json_schema_extra=EXTENSION)


class HoverElement(Arguments):
    """Move the cursor over an element."""

    category: ClassVar[str] = "pointer"
    element: str = Field(max_length=40)


class WriteElement(Arguments):
    """Clear a field and type a string into it, or add the string without `clear`; then press Enter if `submit`."""

    category: ClassVar[str] = "keyboard"
    element: str = Field(max_length=40)
    text: str = Field(max_length=10_000)
    submit: bool = False
    clear: bool = True


class DragElement(Arguments):
    """Drag an element and drop it on another one."""

    category: ClassVar[str] = "pointer"
    element: str = Field(max_length=40)
    to: str = Field(max_length=40)


class PressElement(PressKeys):
    """Focus an element and press keys, as `press_keys` does."""

    element: str = Field(max_length=40)


class SelectOption(Arguments):
    """Choose an option of a select element by its label, beside those chosen before if it takes several."""

    category: ClassVar[str] = "keyboard"
    element: str = Field(max_length=40)
    option: str = Field(max_length=1000)


class GoForward(Arguments):
    """Navigate forward in the browser history."""

    category: ClassVar[str] = "navigation"


ELEMENT_TOOLS: dict[str, type[Arguments]] = {
    "click_element": ClickElement,
    "hover_element": HoverElement,
    "drag_element": DragElement,
    "write_element": WriteElement,
    "press_element": PressElement,
    "select_option": SelectOption,
    "go_forward": GoForward,
}
ALL_TOOLS = TOOLS | ELEMENT_TOOLS
SHORT_NAMES = {name.removesuffix("_element").removesuffix("_option"): name for name in ELEMENT_TOOLS}
"""The tools on element ids by the names that people and other programs use: `click` is `click_element`."""
PASSIVE = frozenset({"scroll", "wait", "done"})
"""Tools that do nothing to a page."""


def named_tools(element_ids: bool) -> Mapping[str, type[Arguments]]:
    """The tools by the names that people and other programs use.

    Args:
        element_ids: whether calls name elements by id, with `SHORT_NAMES`, or points.
    """
    if not element_ids:
        return TOOLS
    by_id = {short: ELEMENT_TOOLS[name] for short, name in SHORT_NAMES.items()}
    without_points = {name: tool for name, tool in TOOLS.items() if tool.category != "pointer"}
    return {**without_points, **by_id}


def acts(call: ToolCall) -> bool:
    """Whether a call is an action: it could be read, and is not `PASSIVE`."""
    return call.error is None and call.name not in PASSIVE


def check_call(name: str, arguments: dict[str, Any], tools: Mapping[str, type[Arguments]] = TOOLS) -> ToolCall:
    """A call with its arguments checked; `error` describes the first wrong argument."""
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
        ValueError: the tool is unknown or its arguments are wrong; the message is one short sentence.
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
        reason = detail["msg"].lower().removeprefix("value error, ")
        raise ValueError(f"{field}: {reason}") from error
