"""`write`: puts text into the focused field, as a person would: typed, chosen from a list, or picked.

`write_element` focuses a field by its id and uses `enter` for editors.

A plain field is selected by script and typed over. An editor (`Focus.editor`) is cleared with Ctrl+A and Delete,
because it may keep a selection of its own. A line break inserts a line where the field has lines, and never submits.

An editor of source code changes what is typed: it indents new lines, closes brackets and quotes, and completes names.
It takes a pasted text as it is, so all but plain words are given to it by an event `paste`. No keys are pressed for it,
since a terminal has another meaning for them.
"""

from __future__ import annotations

from collections.abc import Sequence

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Keyboard

from components.browser import feedback, tools
from components.browser.effects import ActingSession, ObservedCall, input_limit
from components.browser.field_values import field_value
from components.browser.focused_frame import ask_frame, focused_element
from components.browser.foreign_frames import FrameWorld
from components.browser.page_state import Chosen, Focus, Focused, NearOptions, Pasted, ValueSet
from components.browser.playwright_errors import ClosedError, NavigatedError
from components.browser.tab import Tab

TYPED_KEY_BY_KEY = 200
"""Characters; of longer text, only the last character is typed and the rest is inserted at once."""
MAX_LISTED = 200
"""Characters of listed options."""
ONE_LINE = "Note: the field takes one line, so line breaks were left out; press enter to submit it."


async def write(session: ActingSession, call: tools.Write) -> str:
    """Write into the focused field and return the line of feedback. Raises as `actions.execute`."""
    tab = session.tabs.active
    frame, focus = await focused_element(tab, "clear" if call.clear else "hold")
    if focus is None:
        return feedback.failed("write", "no field has the focus; click a field first")
    if focus.select:
        return await _choose(session, frame, focus, call)
    if focus.frozen:
        return feedback.failed("write", f"{focus.element} is disabled or read-only")
    if focus.picked:
        return await _pick(session, frame, focus, call)
    if focus.file:
        return feedback.failed("write", f"{focus.element} takes files; click it first, then write a file's name")
    if not focus.editable:
        return feedback.failed("write", f"the focus is on {focus.element}, which takes no text; click a field first")
    text = taken_text(focus, call.text)
    documents = tab.documents
    async with ObservedCall(session) as observed, input_limit(session):
        await enter(tab, frame, focus, text, call.clear)
    actual = await content(tab, frame, focus, text, call.clear) if tab.documents == documents else None
    line = feedback.write(focus.element, text, actual, observed.effect)
    return line if focus.lines or "\n" not in call.text else f"{line} {ONE_LINE}"


def taken_text(focus: Focus, text: str) -> str:
    """A text as the focused field takes it: with line breaks only where it has lines."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text if focus.lines else " ".join(text.split("\n")).rstrip(" " if "\n" in text else "")


async def enter(tab: Tab, frame: FrameWorld | None, focus: Focus, text: str, clear: bool) -> None:
    """Type or paste a text into the focused field, in place of what it holds or, without `clear`, behind it."""
    keyboard = tab.page.keyboard
    if clear:
        await _clear(keyboard, focus)
    elif focus.value != "":
        await keyboard.press("Control+End")
    if not focus.code or not text or text.replace(" ", "").isalnum():
        await _type(keyboard, text, focus)
    elif not (await ask_frame(tab, frame, Pasted, op="paste", text=text)).taken:
        await keyboard.insert_text(text)


async def content(tab: Tab, frame: FrameWorld | None, focus: Focus, text: str, clear: bool) -> str | None:
    """What the field holds after `enter`: `text` if it is as expected; None if it cannot be read any more."""
    after = await _written(tab, frame)
    actual = after.value if after else None
    expected = text if clear else (focus.value or "") + text
    if actual is None:
        return None
    if actual == expected or (focus.editor and actual.split() == expected.split()):
        return text
    return "*" * len(actual) if focus.secret else actual


async def option_notes(session: ActingSession, is_by_id: bool) -> list[str]:
    """What to say of the focused `<select>`, in whatever frame; empty if something else has the focus.

    Args:
        is_by_id: whether the call named an element by its id, so that `select_option` chooses, and not `write`.
    """
    focus = (await focused_element(session.tabs.active, "focus"))[1]
    if focus is None or not focus.select or not focus.options:
        return []
    tool, several = ("select_option", "call") if is_by_id else ("write", "line")
    usage = (
        f"`{tool}` chooses several, one per {several}"
        if focus.multiple
        else f"the list is not drawn; `{tool}` chooses one"
    )
    listed = _listed(focus.options)
    left = len(focus.options) - len(listed) + focus.options_left
    return [f"Options: {', '.join(listed)}{f' and {left} more' if left else ''}; {usage}."]


def no_option(text: str, near: NearOptions, names_options: bool) -> str:
    """Why a text chose no option of a `<select>`: it has none of this name, or several."""
    reason = f'has {"several options" if near.several else "no option"} "{" ".join(text.split())[:60]}"'
    listed = _listed(near.names) if names_options else []
    if not listed:
        return reason
    if near.several:
        return f"{reason}: {', '.join(listed)}"
    which = "its options are" if len(listed) == near.total else f"its {near.total} options include"
    return f"{reason}; {which} {', '.join(listed)}"


def _listed(labels: Sequence[str]) -> list[str]:
    """The first labels, in quotation marks, as many as a line of feedback takes."""
    listed: list[str] = []
    for label in labels:
        if listed and len(", ".join([*listed, f'"{label[:60]}"'])) > MAX_LISTED:
            break
        listed.append(f'"{label[:60]}"')
    return listed


async def _written(tab: Tab, frame: FrameWorld | None) -> Focus | None:
    """The field that was written into, wherever the focus is now; None if it has left the page."""
    if tab.page.is_closed():
        return None
    try:
        return (await ask_frame(tab, frame, Focused, op="written")).focus
    except (PlaywrightError, ClosedError, NavigatedError):
        return None


async def _choose(session: ActingSession, frame: FrameWorld | None, focus: Focus, call: tools.Write) -> str:
    texts = [line for line in call.text.splitlines() if line.strip()] if focus.multiple else [call.text]
    tab = session.tabs.active
    async with ObservedCall(session) as observed, input_limit(session):
        if focus.expanded:
            await tab.page.keyboard.press("Escape")
        choice = await ask_frame(tab, frame, Chosen, op="choose", texts=texts, keep=not call.clear)
    if not choice.missing:
        refused = choice.selected is not None and choice.selected != choice.requested
        actual = ", ".join(choice.selected or ()) if refused else None
        return feedback.write(focus.element, call.text, actual, observed.effect)
    reason = no_option(choice.missing[0], choice.near, session.names_options)
    return feedback.failed("write", f"{focus.element} {reason}", observed.effect.notices)


async def _pick(session: ActingSession, frame: FrameWorld | None, focus: Focus, call: tools.Write) -> str:
    try:
        value = field_value(focus.picked, call.text)
    except ValueError as error:
        return feedback.failed("write", error)
    async with ObservedCall(session) as observed:
        actual = (await ask_frame(session.tabs.active, frame, ValueSet, op="set", value=value)).value
    return feedback.write(focus.element, call.text, actual, observed.effect)


async def _clear(keyboard: Keyboard, focus: Focus) -> None:
    """Delete what the field holds. Its content is selected already, unless it is an editor."""
    if focus.editor and (focus.value is None or focus.value.strip()):
        await keyboard.press("Control+a")
        await keyboard.press("Delete")
    elif focus.value:
        await keyboard.press("Delete")


async def _type(keyboard: Keyboard, text: str, focus: Focus) -> None:
    for index, line in enumerate(text.split("\n")):
        if index and focus.editor:
            await keyboard.press("Shift+Enter" if focus.sends else "Enter")
        elif index:  # in a plain field, Enter may send the text
            await keyboard.insert_text("\n")
        if len(text) > TYPED_KEY_BY_KEY and len(line) > 1:
            await keyboard.insert_text(line[:-1])
            line = line[-1]
        await keyboard.type(line)
