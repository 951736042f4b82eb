"""Writes down what a person did as the steps of an oracle, in the form of `site.yaml`.

Typing is one `fill` per field, whatever keys were pressed. A click that only puts the focus into the field, Tab keys
that only lead to it, and scrolling that the oracle does by itself are left out. What no step can say becomes a remark.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

from components.browser.person_input import PersonEvent
from components.worlds.own_site.recording.naming import Name, name_of

PASSWORD = "<password>"
"""What is written in place of a password that is not the site's own."""


@dataclass(frozen=True)
class WrittenStep:
    """A step with what is needed to shorten the list later."""

    kind: str
    value: Any = None
    name: Name | None = None
    """The element that it acts on."""
    scrolls_page: bool = False

    @property
    def raw(self) -> dict[str, Any]:
        """The step as `site.yaml` has it."""
        return {self.kind: self.value}


@dataclass
class Transcription:
    """The steps so far.

    Args:
        own_passwords: passwords that may be written down, because `site.yaml` or the task has them.
    """

    own_passwords: Collection[str] = ()
    remarks: list[str] = field(default_factory=list)
    """What the steps do not have, in sentences."""
    _steps: list[WrittenStep] = field(default_factory=list)
    _field: Name | None = None
    """The field that the last event with an element list wrote in; None if it was in no line."""

    def hear(self, event: PersonEvent) -> None:
        """Write an event down."""
        match event.kind:
            case "click":
                self._click(event)
            case "double":
                self._double()
            case "write":
                self._write(event)
            case "choose":
                self._choose(event)
            case "press":
                self.add("press", [event.key])
            case "scroll":
                self._scroll(event)
            case "drag":
                self._remark(f"Dragging {_thing(event)} was left out: no step drags. Do it in another way.")
            case "file":
                self._remark(f"The file for {_thing(event)} was left out: recipes give files by `browser.uploads`.")

    def add(self, kind: str, value: Any = None) -> None:
        """A step that acts on no element, such as `goto`."""
        self._steps.append(WrittenStep(kind, value))

    def note_dialog(self, kind: str, message: str, accepted: bool, text: str, default: str) -> None:
        """The person answered a dialog. Waymark confirms dialogs, so only another answer is worth a remark."""
        if kind == "beforeunload" or (accepted and (kind != "prompt" or text == default)):
            return
        answer = f'answered with "{text}"' if accepted else "cancelled"
        self._remark(
            f'The dialog "{message[:80]}" was {answer}. An oracle cannot do so: every dialog is confirmed, a prompt '
            "with the text that it holds. Record the task again and confirm it."
        )

    def note_elsewhere(self, url: str) -> None:
        """The person opened a page that the agent cannot open."""
        self._remark(f"Opening {url} was left out: agents reach the pages of this site only.")

    def note_lost(self, error: Exception) -> None:
        """Something that the person did could not be written down, because of a fault of Waymark's own."""
        self._remark(
            f"A step was lost after step {len(self._steps)}, by a fault of Waymark: {error!r}. Please report it."
        )

    def steps(self) -> list[dict[str, Any]]:
        """The steps, without those that the oracle does not need."""
        kept: list[WrittenStep] = []
        needs_scrolls = False
        for step in reversed(self._steps):
            is_last = not kept
            if step.kind in ("goto", "back", "switch_tab", "new_tab"):
                needs_scrolls = False
            if step.name is not None and step.kind != "scroll":
                needs_scrolls |= step.name.depends_on_view
            if step.kind == "scroll" and (is_last or (step.scrolls_page and not needs_scrolls)):
                continue
            if step.raw == {"press": ["Tab"]} and (is_last or kept[-1].name is not None):
                continue
            if step.kind in ("close_tab", "switch_tab") and is_last:  # the person closed the window
                continue
            kept.append(step)
        return [step.raw for step in reversed(kept)]

    # ---- private ----------------------------------------------------------------------------------------------------

    def _click(self, event: PersonEvent) -> None:
        name = _name(event)
        if name is None:
            self._remark(f"A click on {_thing(event)} was left out: it is in no line of the element list.")
            return
        options: dict[str, Any] = {"button": event.button} if event.button != "left" else {}
        if event.modifiers:
            options["modifiers"] = event.modifiers
        self._steps.append(WrittenStep("click", _click_value(name, options), name))

    def _double(self) -> None:
        clicks = [step for step in self._steps[-2:] if step.kind == "click"]
        if not clicks or clicks[0] != clicks[-1] or clicks[0].name is None:
            return
        del self._steps[-len(clicks) :]
        self._steps.append(replace(clicks[0], value=_click_value(clicks[0].name, {"click_type": "double"})))

    def _write(self, event: PersonEvent) -> None:
        text = event.text
        if event.secret and text not in self.own_passwords:
            text = PASSWORD
        is_further = event.lines is None
        name = self._field = self._field if is_further else _name(event)
        if name is None:
            if not is_further:  # else it was said at the first event
                self._remark(f"The text for {_thing(event)} was left out: it is in no line of the element list.")
            return
        if not is_further:
            self._drop_before(name, "click", "choose")
        filled = self._filled(name, is_further)
        if filled is not None:
            self._steps[filled] = replace(self._steps[filled], value={**self._steps[filled].value, "text": text})
        elif is_further:
            self._remark(
                f'What was typed in the {name.role} "{name.name}" after step {len(self._steps)} was left out, because '
                "something else was done in between. Record the task again, and click in the field before you type on."
            )
        else:
            role = {"role": name.role} if name.role != "field" else {}
            self._steps.append(WrittenStep("fill", {"field": name.name, **role, "text": text, **name.place}, name))

    def _filled(self, name: Name, is_same: bool) -> int | None:
        """The place of the step that filled this field, if only scrolling came after it.

        Args:
            is_same: the field is surely the last one. Else a number in view may stand for another one after scrolling.
        """
        for place in range(len(self._steps) - 1, -1, -1):
            step = self._steps[place]
            if step.kind == "fill" and step.name == name:
                return place
            if step.kind != "scroll" or (name.depends_on_view and not is_same):
                return None
        return None

    def _choose(self, event: PersonEvent) -> None:
        name = _name(event)
        if name is None:
            self._remark(f"The choice in {_thing(event)} was left out: it is in no line of the element list.")
            return
        self._drop_before(name, "click", "choose", "fill")
        self._steps.append(WrittenStep("choose", {"select": name.name, "option": event.text, **name.place}, name))

    def _scroll(self, event: PersonEvent) -> None:
        value: dict[str, Any] = {"direction": event.direction, "amount": round(event.amount, 2)}
        name = None if event.page else _name(event)
        if name is None and not event.page:
            self._remark("Scrolling in an area without listed elements was left out.")
            return
        if name is not None:
            value["over"] = f"{name.role} {name.name}"
        self._steps.append(WrittenStep("scroll", value, name, scrolls_page=event.page))

    def _drop_before(self, name: Name, *kinds: str) -> None:
        """Remove the last steps on the same element, such as clicks that led to it and earlier choices in it."""
        while self._steps and self._steps[-1].name == name and self._steps[-1].kind in kinds:
            self._steps.pop()

    def _remark(self, sentence: str) -> None:
        if sentence not in self.remarks:
            self.remarks.append(sentence)


def has_secret(steps: list[dict[str, Any]]) -> bool:
    """Whether a password was kept out of the steps."""
    return any(step.get("fill", {}).get("text") == PASSWORD for step in steps if isinstance(step.get("fill"), dict))


def _name(event: PersonEvent) -> Name | None:
    return name_of(event.listed, event.line, event.counts) if event.line >= 0 else None


def _click_value(name: Name, options: dict[str, Any]) -> Any:
    if name.text is not None and not options:
        return name.text
    return {"role": name.role, "name": name.name, **name.place, **options}


def _thing(event: PersonEvent) -> str:
    if event.line >= 0:
        line = event.listed[event.line]
        return f'the {line.role} "{line.name}"'
    return f"<{event.tag}>"
