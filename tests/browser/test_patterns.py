"""Patterns of real pages (`patterns/`): what a person operates there, the tools operate, and the feedback admits it.

A pattern is one file; `pattern_file` describes it. Every control is found in the element list, or on the screenshot
where the file names a text or a point. A pattern on which the harness fails today says why in a line `fails`. It then
has to fail: the change that corrects the harness removes the line.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from components.browser import Session, check_call, parse_elements
from components.browser.feedback import AT_BOUNDARY, NO_EFFECT
from components.records import Observation
from tests.browser.conftest import PARAMS
from tests.browser.pattern_file import POINTED, Pattern, Step, Target

PATTERNS = [Pattern.read(path) for path in sorted((Path(__file__).parent / "patterns").glob("*.html"))]
DENIALS = (NO_EFFECT, AT_BOUNDARY, "no visible change")
MIDDLE_OF_TEXT = """text => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; node = walker.nextNode();) {
    if (node.data.trim() !== text || !node.parentElement.checkVisibility()) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const { left, top, width, height } = range.getBoundingClientRect();
    return [left + width / 2, top + height / 2];
  }
  return null;
}"""


class Visitor:
    """Acts on the last observation, and checks each line of feedback."""

    def __init__(self, session: Session, observation: Observation) -> None:
        self.session = session
        self.observation = observation
        self.line = ""

    async def act(self, step: Step) -> None:
        """Run one step of a pattern."""
        if step.word == "expect":
            assert re.search(step.rest, self.line), f"{self.line!r} does not say {step.rest!r}"
            return
        name, arguments = await self.call(step)
        result = await self.session.step([check_call(name, arguments)])
        self.observation, self.line = result.observation, result.feedback[0]
        assert self.line.startswith("Succeed:"), self.line
        denies = any(denial in self.line for denial in DENIALS) and "Options:" not in self.line
        assert not denies, f"the feedback denies the effect: {self.line}"

    async def call(self, step: Step) -> tuple[str, dict]:
        """The tool call of a step."""
        if step.word in POINTED:
            x, y = await self.point(*step.targets)
            if step.word == "hover":
                return "hover", {"x": x, "y": y}
            special = {
                "double": {"click_type": "double"},
                "right": {"button": "right"},
                "ctrl": {"modifiers": ["ctrl"]},
            }
            return "click", {"x": x, "y": y, **special.get(step.word, {})}
        if step.word == "drag":
            (x1, y1), (x2, y2) = [await self.point(target) for target in step.targets]
            return "drag", {"x1": x1, "y1": y1, "x2": x2, "y2": y2}
        if step.word == "write":
            return "write", {"text": step.rest.replace("\\n", "\n")}
        if step.word == "press":
            return "press_keys", {"keys": step.rest.split()}
        if step.word == "wait":
            return "wait", {"seconds": float(step.rest)}
        assert step.word == "scroll", f"unknown step {step.word!r}"
        motion, _, place = step.rest.partition(" at ")
        direction, amount = motion.split()
        point = await self.point(Target.parse(f"at {place}")) if place else None
        at = {} if point is None else {"x": point[0], "y": point[1]}
        return "scroll", {"direction": direction, "amount": float(amount), **at}

    async def point(self, target: Target) -> tuple[float, float]:
        """Where a target is, on the 0-1000 scale."""
        if target.role == "text":
            pixels = await self.session.page.evaluate(MIDDLE_OF_TEXT, target.name)
            assert pixels, f"the page shows no text {target.name!r}"
        elif target.point is not None:
            pixels = target.point
        else:
            text = self.observation.text or ""
            lines = [item for item in parse_elements(text) if (item.role, item.name) == (target.role, target.name)]
            assert len(lines) >= target.number, f"no line {target.role} {target.name!r} in the list:\n{text}"
            return lines[target.number - 1].x, lines[target.number - 1].y
        return pixels[0] / PARAMS.viewport[0] * 1000, pixels[1] / PARAMS.viewport[1] * 1000


def marked(pattern: Pattern) -> object:
    """The test's parameter, marked if the harness fails there today."""
    marks = [pytest.mark.xfail(reason=pattern.fails, strict=True)] if pattern.fails else []
    return pytest.param(pattern, id=pattern.name, marks=marks)


@pytest.mark.every(4)
@pytest.mark.parametrize("pattern", [marked(pattern) for pattern in PATTERNS])
def test_the_tools_operate_what_a_person_operates(pages, visit, pattern):
    pages.pages[f"/{pattern.name}"] = (200, pattern.html, {})

    async def body(session: Session, observation: Observation) -> None:
        state = f"!!({pattern.state})"
        assert not await session.page.evaluate(state), "the state is reached before the first step"
        visitor = Visitor(session, observation)
        for step in pattern.steps:
            await visitor.act(step)
        assert await session.page.evaluate(state), f"the page is not in the state {pattern.state} after {visitor.line}"

    visit(f"{pages.origin}/{pattern.name}", body)


def test_there_are_at_least_sixty_patterns():
    assert len(PATTERNS) >= 60
