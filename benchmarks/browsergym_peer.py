"""BrowserGym plays plans; run by `rollouts.py` with a Python that has browsergym-miniwob. Request on stdin, JSON out.

As shipped: 0.5 s before an observation and Playwright slowed by 100 ms per operation for MiniWoB++. Without delays:
both 0, which is not how it is used.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any


def action(call: dict[str, Any], viewport: tuple[int, int]) -> str:
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
    """Seconds for the plans, one environment after the other as its users make them, and for the steps alone."""
    import gymnasium
    from browsergym.core.action.highlevel import HighLevelActionSet

    actions = HighLevelActionSet(subsets=["chat", "coord", "nav"], strict=False, multiaction=False)
    settings: dict[str, Any] = {} if delays else {"pre_observation_delay": 0.0, "slow_mo": 0}
    began, in_steps = 0.0, 0.0
    for number, plan in enumerate([request["plans"][0], *request["plans"]]):
        if number == 1:
            began, in_steps = time.monotonic(), 0.0  # the first is for warmth
        env = gymnasium.make(
            f"browsergym/miniwob.{plan['family']}",
            headless=True,
            action_mapping=actions.to_python_code,
            **settings,
        )
        env.reset(seed=plan["seed"])
        for call in plan["calls"]:
            asked = time.monotonic()
            env.step(action(call, request["viewport"]))
            in_steps += time.monotonic() - asked
        env.close()
    return {"seconds": time.monotonic() - began, "step_seconds": in_steps}


def main() -> None:
    request = json.loads(sys.stdin.read())
    os.environ["MINIWOB_URL"] = request["url"]
    import browsergym.miniwob  # noqa: F401  (registers the environments)
    from playwright.sync_api import BrowserType

    launch = BrowserType.launch  # for the page and for its chat window

    def with_our_chromium(*args: Any, **settings: Any) -> Any:
        return launch(*args, **{**settings, "executable_path": request["chromium"]})

    BrowserType.launch = with_our_chromium
    print(json.dumps({"as_shipped": play(request, True), "no_delays": play(request, False)}))


if __name__ == "__main__":
    main()
