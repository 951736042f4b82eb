"""Does the environment observe single-page applications when they are done, and what does waiting cost?

Five applications (`single_page_apps/`) imitate what React, Vue and live pages do. Each is driven through twenty
navigations, once with the present rule of waiting and once with the rule that it replaced: 250 ms without a change or
an open request. An observation is early if the element list differs from that of the application when it is done, which
only the application itself knows. The last line is JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from dataclasses import dataclass, field
from statistics import fmean
from unittest import mock

from playwright.async_api import Request

from components.browser import BrowserPool, Session, StepResult, parse_elements
from components.browser.page_state import PageState
from components.browser.playwright_errors import NavigatedError
from components.browser.tab import Tab
from components.params import BrowserParams, EgressParams
from components.records import Task, ToolCall
from perf.app_server import NAVIGATIONS, AppServer, Step

TYPES = ("document", "stylesheet", "image", "font", "script", "xhr", "fetch")
DONE_TIMEOUT_S = 6.0
REST_S = 0.4
"""Between two navigations, as a model needs for its answer."""
FIXED = """(async ({limit, pause}) => {
  const frame = () => new Promise((resolve) => { requestAnimationFrame(resolve); setTimeout(resolve, 100); });
  const state = { changes: 0, changed: 0 }, began = performance.now(), end = began + limit;
  const observer = new MutationObserver((records) => {
    if (!records.some(({ target }) => target.nodeType !== 1 || target.checkVisibility())) return;
    state.changes += 1;
    state.changed = performance.now();
  });
  observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  let seen = 0;
  while (performance.now() < end) {
    const animated = document.getAnimations().some((animation) => animation.playState === 'running'
      && Number.isFinite(animation.effect?.getComputedTiming().endTime));
    if (state.changes !== seen || animated) { seen = state.changes; await frame(); await frame(); continue; }
    const left = Math.min(pause - (performance.now() - Math.max(began, state.changed)), end - performance.now());
    if (left <= 0) break;
    await new Promise((resolve) => setTimeout(resolve, left));
  }
  observer.disconnect();
})"""
"""The rule that was replaced, as it ran inside of the page."""


@dataclass
class Outcome:
    """The navigations of one application under one rule."""

    early: list[str] = field(default_factory=list)
    """The navigations that were observed before the application was done."""
    step_s: list[float] = field(default_factory=list)


class OpenRequests:
    """The requests of a page that the replaced rule awaited."""

    def __init__(self, session: Session) -> None:
        self.number = 0
        self._open: dict[Request, int] = {}
        page = session.page
        page.on("request", self._on_request)
        page.on("requestfinished", self._on_end)
        page.on("requestfailed", self._on_end)

    def _on_request(self, request: Request) -> None:
        self.number += 1
        if request.resource_type in TYPES:
            self._open[request] = self.number

    def _on_end(self, request: Request) -> None:
        self._open.pop(request, None)

    def is_loading(self, since: int) -> bool:
        """Whether a request after request number `since` is open."""
        return any(number > since for number in self._open.values())


def fixed_pause(requests: OpenRequests, since: int) -> object:
    """The replaced rule in place of `Tab._look_until`."""

    async def look_until(tab: Tab, end: float, request: dict, _: int) -> PageState:
        while True:
            left_ms = max(0, round((end - time.monotonic()) * 1000))
            try:
                await tab.evaluate(f"{FIXED}({{limit: {left_ms}, pause: {request['still']}}})")
                state = await tab.ask(PageState, **{**request, "settle": 0})
            except NavigatedError:
                continue
            if not requests.is_loading(since) or time.monotonic() >= end:
                return state
            while requests.is_loading(since) and time.monotonic() < end:
                await asyncio.sleep(0.005)

    return look_until


async def timed_step(
    session: Session, requests: OpenRequests, calls: list[ToolCall], outcome: Outcome, fixed: bool
) -> StepResult:
    """Run the calls of a navigation under one rule, and note the time."""
    began = time.monotonic()
    if fixed:
        with mock.patch.object(Tab, "_look_until", fixed_pause(requests, requests.number)):
            result = await session.step(calls)
    else:
        result = await session.step(calls)
    outcome.step_s.append(time.monotonic() - began)
    return result


async def drive(
    pool: BrowserPool, server: AppServer, name: str, fixed: bool = False, limit: int | None = None
) -> Outcome:
    """Drive one application through its navigations, or the first `limit` of them.

    Args:
        fixed: wait by the rule that was replaced.
    """
    outcome = Outcome()
    task = Task(task_id="t", intent="x", start_url=f"{server.origin}/{name}", website="x", source="x")
    async with pool.session() as session:
        observation = await session.start(task)
        requests = OpenRequests(session)
        for number, step in enumerate(NAVIGATIONS[name][:limit]):
            result = await timed_step(session, requests, calls_of(step, observation.text or ""), outcome, fixed)
            await done(session)
            final = await session.oracle()
            if parse_elements(result.observation.text or "") != parse_elements(final):
                outcome.early.append(f"{number} {step.name} {step.text}".strip())
            await asyncio.sleep(REST_S)
            observation = result.observation.model_copy(update={"text": final})
    return outcome


def calls_of(step: Step, elements: str) -> list[ToolCall]:
    """The calls of a navigation: a click on the element, and the text if there is one."""
    listed = [item for item in parse_elements(elements) if (item.role, item.name) == (step.role, step.name)]
    if not listed:
        raise LookupError(f"no {step.role} {step.name!r} among:\n{elements}")
    click = ToolCall(name="click", arguments={"x": listed[0].x, "y": listed[0].y})
    return [click, *([ToolCall(name="write", arguments={"text": step.text})] if step.text else [])]


async def done(session: Session) -> None:
    """Wait until the application says that nothing is under way."""
    end = time.monotonic() + DONE_TIMEOUT_S
    while await session.page.evaluate("app.pending") and time.monotonic() < end:
        await asyncio.sleep(0.02)
    await asyncio.sleep(0.05)


async def measure(names: list[str]) -> dict[str, dict[str, object]]:
    """Early observations and mean steps of each application under both rules."""
    params = BrowserParams(viewport=(800, 600), concurrency=1, egress=EgressParams(private_hosts=["127.0.0.1"]))
    rows: dict[str, dict[str, object]] = {}
    async with BrowserPool(params, text="elements") as pool:
        for name in names:
            outcomes = []
            for fixed in (True, False):
                server = AppServer()
                outcomes.append(await drive(pool, server, name, fixed))
                server.close()
            before, now = outcomes
            rows[name] = {
                "navigations": len(now.step_s),
                "early": len(now.early),
                "early_fixed": len(before.early),
                "step_ms": round(1000 * fmean(now.step_s)),
                "step_fixed_ms": round(1000 * fmean(before.step_s)),
            }
            print(f"{name}: {rows[name]} early now: {now.early}; before: {before.early}", flush=True)
    return rows


def main() -> None:
    """Measure all applications, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(NAVIGATIONS), help="applications")
    rows = asyncio.run(measure(parser.parse_args().names))
    relative = [row["step_ms"] / row["step_fixed_ms"] for row in rows.values()]  # type: ignore[operator]
    print(json.dumps({**rows, "mean_relative_step": round(fmean(relative), 3)}), flush=True)


if __name__ == "__main__":
    main()
