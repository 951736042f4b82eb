"""Plays plans with BrowserGym. `perf.rollouts` runs this file with a Python that has browsergym-miniwob.

It reads a request as JSON from stdin and prints JSON. `as_shipped` uses BrowserGym's defaults for MiniWoB++: a delay of
0.5 s before an observation, and 100 ms per Playwright operation. `no_delays` sets both to 0, which is not how
BrowserGym is used.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any


def action(call: dict[str, Any], viewport: tuple[int, int]) -> str:
    """A tool call as BrowserGym's Python code."""
    arguments = call["arguments"]
    match call["name"]:
        case "click":
            x, y = (arguments[axis] / 1000 * size for axis, size in zip("xy", viewport, strict=True))
            return f"mouse_click({x:.1f}, {y:.1f})"
        case "write":
            return f"keyboard_type({arguments['text']!r})"
        case "press_keys":
            return f"keyboard_press({'+'.join(arguments['keys'])!r})"
        case "scroll":
            return f"scroll(0, {(0.5 if arguments['direction'] == 'down' else -0.5) * viewport[1]})"
    return "noop(0)"


def play(request: dict[str, Any], delays: bool) -> dict[str, float]:
    """Play the plans, each in an environment of its own. Returns the seconds in total and those of the steps alone."""
    import gymnasium
    from browsergym.core.action.highlevel import HighLevelActionSet

    actions = HighLevelActionSet(subsets=["chat", "coord", "nav"], strict=False, multiaction=False)
    settings: dict[str, Any] = {} if delays else {"pre_observation_delay": 0.0, "slow_mo": 0}
    began, in_steps = 0.0, 0.0
    for number, plan in enumerate([request["plans"][0], *request["plans"]]):
        if number == 1:
            began, in_steps = time.monotonic(), 0.0  # the first plan only warms up
        env = gymnasium.make(
            f"browsergym/miniwob.{plan['family']}",
            headless=True,
            action_mapping=actions.to_python_code,
            **settings,
        )
        env.reset(seed=plan["seed"])
        for call in plan["calls"]:
            begin = time.monotonic()
            env.step(action(call, request["viewport"]))
            in_steps += time.monotonic() - begin
        env.close()
    return {"seconds": time.monotonic() - began, "step_seconds": in_steps}


def main() -> None:
    """Answer one request."""
    request = json.loads(sys.stdin.read())
    os.environ["MINIWOB_URL"] = request["url"]
    import browsergym.miniwob  # noqa: F401  (registers the environments)
    from playwright.sync_api import BrowserType

    launch = BrowserType.launch  # it launches a browser for the page and one for the chat window

    def with_same_chromium(*args: Any, **settings: Any) -> Any:
        return launch(*args, **{**settings, "executable_path": request["chromium"]})

    BrowserType.launch = with_same_chromium  # type: ignore[method-assign]  # BrowserGym has no setting for it
    print(json.dumps({"as_shipped": play(request, True), "no_delays": play(request, False)}))


if __name__ == "__main__":
    main()
