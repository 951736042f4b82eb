"""The environment's feedback: one line per tool call (OpenWebRL, appendix A.2, table 5).

Every line starts with `Succeed:` or `Failed:`. These functions compose text from what was observed before and after the
call. Coordinates are integers of the 0-1000 scale. Additions to the paper's rules: a click on a checkbox or a radio
button reports the new state, a click on a field reports that the field has the focus, and the line reports a page that
changed without navigating and a clamped coordinate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

NO_EFFECT = "Note: no visible navigation or new tab detected."
FOCUSED = "the field is focused"
CHANGED = "The page changed."
ENDED = "The page has ended its task and no longer reacts."
TOO_LATE = "it was not run, because the turn's time is over"
UNMOVED = "Note: page scroll position did not change"
AT_BOUNDARY = f"{UNMOVED} and may be at a boundary."
TOOK_WHEEL = f"{UNMOVED}; the page took the wheel without a visible change."
UNKNOWN_SCROLL = f"{UNMOVED}; whether the frame at the point scrolled is unknown."
DIFFERS = "which differs from the typed text."
MAX_TEXT = 300
"""Characters of a quoted text or a reason."""


@dataclass(frozen=True)
class Element:
    """An element as feedback names it: `<input> role=combobox "Search"`."""

    tag: str
    role: str = ""
    name: str = ""

    def __str__(self) -> str:
        return f"<{self.tag}>" + (f" role={self.role}" if self.role else "") + (f' "{self.name}"' if self.name else "")


@dataclass(frozen=True)
class Effect:
    """What happened to the tabs and the page while a call ran."""

    navigated_to: str | None = None
    new_tab: int | None = None
    new_tab_url: str = ""
    now_active: str = ""
    """If the tab was closed, the number and the address of the tab that is active now."""
    changed: bool = False
    """Whether something visible on the page changed."""
    unwatched: tuple[str, ...] = ()
    """Parts of the page in view of which this is not known."""
    loading: int = 0
    """Number of requests that the call caused and that are not answered yet."""
    notices: tuple[str, ...] = ()
    """Sentences about dialogs, downloads and file choosers (`notices`)."""

    def __str__(self) -> str:
        parts = list(self.notices)
        if self.navigated_to:
            parts.append(f"Page navigated to {self.navigated_to}.")
        if self.new_tab is not None:
            parts.append(f"New tab {self.new_tab} opened ({self.new_tab_url}) and is active.")
        if self.now_active:
            parts.append(f"The tab was closed. Tab {self.now_active} is active.")
        if self.changed and not parts:
            parts.append(CHANGED)
        return " ".join([*parts, *self.still_loading])

    @property
    def still_loading(self) -> tuple[str, ...]:
        """The sentence on unanswered requests; empty if there are none, or another page or tab is shown."""
        if not self.loading or self.navigated_to or self.new_tab is not None or self.now_active:
            return ()
        requests = "1 request is" if self.loading == 1 else f"{self.loading} requests are"
        return (f"The page is still loading: {requests} unanswered.",)


def succeed(text: str, *notes: str) -> str:
    """A `Succeed:` line; empty notes are left out. Line breaks of the page or of the call become `\\n`."""
    return _on_one_line(" ".join(["Succeed:", text, *[note for note in notes if note]]))


def failed(tool: str, reason: object, notices: Sequence[str] = ()) -> str:
    """A `Failed:` line with the first line of the reason, and what happened nevertheless."""
    lines = str(reason).strip().splitlines() or ["no reason given"]
    reason = lines[0].strip()
    line = f"Failed: `{tool}` execution failed: {reason[:MAX_TEXT]}" + ("" if reason.endswith(".") else ".")
    return _on_one_line(" ".join([line, *notices]))


def refused(tool: str) -> str:
    """A call that was not run because the page has ended its task."""
    return failed(tool, ENDED[0].lower() + ENDED[1:])


def click(target: Element | None, point: tuple[int, int], effect: Effect, state: str, clamped: bool) -> str:
    """A click: its target, point and effect."""
    target_note = f"on {target} " if target else ""
    state_note = f"{state.capitalize()}." if state else ""
    answered = replace(effect, loading=0)
    note = str(replace(answered, changed=False)) or state_note or str(answered)
    waits = effect.still_loading or ((_no_effect(effect),) if not note else ())
    return succeed(f"`click` {target_note}at {point} executed.", _clamped(clamped), note, *waits)


def hover(target: Element | None, point: tuple[int, int], effect: Effect, clamped: bool) -> str:
    """A move of the cursor."""
    target_note = f"on {target} " if target else ""
    return succeed(f"`hover` {target_note}at {point} executed.", _clamped(clamped), str(effect))


def drag(start: tuple[int, int], end: tuple[int, int], effect: Effect, clamped: bool) -> str:
    """A drag from one point to another."""
    return succeed(f"`drag` from {start} to {end} executed.", _clamped(clamped), str(effect))


def write(
    target: Element, text: str, actual: str | None, effect: Effect, tool: str = "write", submit: bool = False
) -> str:
    """Typed text. `actual` is the field's content afterwards; None if it cannot be read any more."""
    mismatch = ""
    if actual is not None and actual != text and not effect.navigated_to:
        mismatch = f'Note: the field\'s actual value is "{_cut(actual)}", {DIFFERS}'
    entered = " and pressed Enter" if submit else ""
    return succeed(f'`{tool}` typed "{_cut(text)}" into {target}{entered}.', mismatch, str(effect))


def choose(label: str, selected: Sequence[str], multiple: bool, kept: bool, effect: Effect) -> str:
    """An option that was chosen.

    Args:
        selected: the labels of all options that are selected afterwards.
        multiple: whether several may be.
        kept: whether the option is one of them.
    """
    listed = ", ".join(selected)
    refused = (
        "" if kept else f'Note: the field\'s actual value is "{_cut(listed)}", which differs from the chosen option.'
    )
    others = f'Selected: "{_cut(listed)}".' if multiple and kept else ""
    return succeed(f'`select_option` chose "{label}".', refused, others, str(effect))


def press_keys(keys: list[str], effect: Effect) -> str:
    """Pressed keys, by their normalised names."""
    return succeed(f"`press_keys` {keys} executed.", str(effect))


def scroll(
    direction: str, amount: float, moved: bool, clamped: bool, effect: Effect | None = None, kept: str = ""
) -> str:
    """A scroll.

    Args:
        amount: in sizes of what scrolls.
        moved: whether a scroll position changed.
        kept: what is noted, instead of a boundary, if nothing moved and nothing else happened.
    """
    effect = effect or Effect()
    note = str(replace(effect, changed=False)) if moved else str(effect) or kept or AT_BOUNDARY
    return succeed(f"`scroll` {direction} by {round(amount * 100)}% executed.", _clamped(clamped), note)


def unmoved(opaque: bool, taken: bool, unwatched: Sequence[str]) -> str:
    """What is noted of a scroll after which no scroll position and nothing that is watched had changed.

    Args:
        opaque: whether the wheel turned over a frame whose scroll positions cannot be read.
        taken: whether a listener of the page kept the wheel.
        unwatched: as in `Effect`.
    """
    if opaque:
        return UNKNOWN_SCROLL
    if unwatched:
        return f"{UNMOVED}; {_unknown(unwatched)}"
    return TOOK_WHEEL if taken else AT_BOUNDARY


def stepped(before: str, after: str) -> str:
    """What is noted of a scroll that changed the number field under the cursor."""
    return f'Note: the wheel changed the focused number field from "{_cut(before)}" to "{_cut(after)}".'


def not_sent(field: Element, message: str) -> str:
    """What is noted of a form that the browser did not send, because a field is invalid."""
    name = f'"{field.name}": ' if field.name else ""
    return f"The form was not sent: {name}{_cut(message).rstrip('.')}."


def done(answer: str) -> str:
    """The end of the episode."""
    return _on_one_line(f"Succeed: task marked as done. Response: {_cut(answer)}")


def _no_effect(effect: Effect) -> str:
    """The note on a click after which no change was observed."""
    if not effect.unwatched:
        return NO_EFFECT
    return f"Note: no navigation or new tab detected; {_unknown(effect.unwatched)}"


def _unknown(unwatched: Sequence[str]) -> str:
    return f"whether {' or '.join(unwatched)} changed is unknown."


def _clamped(clamped: bool) -> str:
    return "Note: the coordinates were outside 0-1000 and were clamped." if clamped else ""


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 3] + "..."


def _on_one_line(text: str) -> str:
    return "\\n".join(text.splitlines())
