"""Speed of episodes: `python -m perf.rollouts`. It takes about fifteen minutes and needs an otherwise idle machine.

A random visitor's episodes of 3 to 15 turns on MiniWoB++ pages are recorded once (`browser_workload.random_plans`).
Then the same calls are played on the same pages, with a screenshot after each, by

- a bare Playwright loop, the upper limit: only `goto`, mouse, keyboard and `page.screenshot()`;
- our engine: prompts, parsing, feedback, waiting until the page is quiet, records, journal;
- BrowserGym with one environment, as it is shipped, if a Python has it (see `--browsergym`).

Steps per second are medians of rounds in which the sides take turns. Bare loop and engine run 1, 4, 8 and 16 episodes
at once; their ratio compares the best of each.

With a slow policy (log-normal delays, median 0.6 s, 95th percentile 3 s, the same for both), our engine is compared
with a step-synchronous one of the same parts: 16 episodes run at once, all answers are awaited before any action, all
actions before any request, and the next 16 episodes start when the last of these has ended.

Last line: JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import random
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.async_api import Page, async_playwright

from components.agent import Completion, EpisodeSpec, Policy, Request
from components.agent.protocols import protocol
from components.browser import BrowserPool, Environment, find_chromium
from components.browser.chromium import launch_flags
from components.journal import Journal
from components.params import Params, SamplingParams, load
from components.records import Trajectory, Turn
from components.rollout import collect
from components.worlds.miniwob.site import MiniWoBSite
from perf.browser_workload import Plan, Script, episode_settings, miniwob_task, random_plans

RECIPE = "recipes/demo.yaml"
VIEWPORT = (332, 214)
"""BrowserGym's viewport for MiniWoB++."""
CONCURRENCIES = (1, 4, 8, 16)
MEDIAN_S, P95_S = 0.6, 3.0
SIGMA = math.log(P95_S / MEDIAN_S) / 1.6449


class SlowScript:
    """A script whose answers take as long as those of a served model."""

    version = "script"

    def __init__(self, plan: Plan) -> None:
        self._script = Script(plan.texts)
        self._delays = random.Random(f"delay {plan.family} {plan.seed}")

    def prompt_tokens(self, prompt: object) -> int:
        """0: prompts are not encoded."""
        return 0

    async def complete(self, request: Request) -> Completion:
        """The next text, after a random delay."""
        await asyncio.sleep(self._delays.lognormvariate(math.log(MEDIAN_S), SIGMA))
        return await self._script.complete(request)


def instant_script(plan: Plan) -> Policy:
    """A script that answers without delay."""
    return Script(plan.texts)


# ---- our engine -----------------------------------------------------------------------------------------------------


async def ours(params: Params, plans: list[Plan], concurrency: int, policy: Callable[[Plan], Policy]) -> float:
    """Seconds for the plans in our engine."""
    browser = params.browser.model_copy(update={"concurrency": concurrency})
    by_id = {plan.spec.task.task_id: plan for plan in plans}
    settings = episode_settings(params, max(len(plan.calls) for plan in plans))
    with tempfile.TemporaryDirectory() as folder:
        async with BrowserPool(browser, site=MiniWoBSite()) as pool:

            async def play(part: list[Plan], name: str) -> list[Trajectory]:
                def policy_for(spec: EpisodeSpec, session: Environment) -> Policy:
                    return policy(by_id[spec.task.task_id])

                with Journal(Path(folder) / name, Trajectory) as journal:
                    return list(await collect([plan.spec for plan in part], pool, policy_for, settings, journal))

            if policy is instant_script:
                await play(plans[:concurrency], "warm.jsonl")
            began = time.monotonic()
            done = await play(plans, "journal.jsonl")
            seconds = time.monotonic() - began
    assert [len(trajectory.turns) for trajectory in done] == [len(plan.calls) for plan in plans]
    return seconds


# ---- the bare loop --------------------------------------------------------------------------------------------------


async def bare(params: Params, plans: list[Plan], concurrency: int) -> float:
    """Seconds for the plans in a bare Playwright loop."""
    site = MiniWoBSite()
    await site.start()
    width, height = params.browser.viewport
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=find_chromium(), args=launch_flags(site.addresses()), chromium_sandbox=os.geteuid() != 0
        )

        async def tab() -> Page:
            context = await browser.new_context(
                viewport={"width": width, "height": height}, device_scale_factor=1, service_workers="block"
            )
            return await context.new_page()

        pages = [await tab() for _ in range(concurrency)]

        async def play(part: list[Plan]) -> None:
            remaining = iter(part)

            async def visit_all(page: Page) -> None:
                for plan in remaining:
                    await _visit(page, site, plan, (width, height))

            await asyncio.gather(*(visit_all(page) for page in pages))

        await play(plans[:concurrency])
        began = time.monotonic()
        await play(plans)
        seconds = time.monotonic() - began
        await browser.close()
    await site.stop()
    return seconds


async def _visit(page: Page, site: MiniWoBSite, plan: Plan, viewport: tuple[int, int]) -> None:
    task = miniwob_task(plan.family, plan.seed)
    await page.context.clear_cookies()
    await page.context.add_cookies(
        [{"name": name, "value": value, "url": site.origin} for name, value in site.cookies(task).items()]
    )
    await page.goto(task.start_url)
    await page.screenshot()
    for call in plan.calls:
        arguments = call["arguments"]
        match call["name"]:
            case "click":
                await page.mouse.click(arguments["x"] / 1000 * viewport[0], arguments["y"] / 1000 * viewport[1])
            case "write":
                await page.keyboard.type(arguments["text"])
            case "press_keys":
                for key in arguments["keys"]:
                    await page.keyboard.press(key)
            case "scroll":
                await page.mouse.wheel(0, (0.5 if arguments["direction"] == "down" else -0.5) * viewport[1])
        await page.screenshot()


# ---- the synchronous form -------------------------------------------------------------------------------------------


async def step_synchronous(params: Params, plans: list[Plan], concurrency: int) -> float:
    """Seconds for the plans, `concurrency` at a time, step by step in lockstep."""
    browser = params.browser.model_copy(update={"concurrency": concurrency})
    settings = episode_settings(params, 0)
    agent_protocol = protocol(params.agent.protocol)
    async with BrowserPool(browser, site=MiniWoBSite()) as pool:
        began = time.monotonic()
        for first in range(0, len(plans), concurrency):
            part = plans[first : first + concurrency]
            opened = [pool.session() for _ in part]
            sessions = await asyncio.gather(*(manager.__aenter__() for manager in opened))
            policies = [SlowScript(plan) for plan in part]
            turns: list[list[Turn]] = [[] for _ in part]
            observations = await asyncio.gather(
                *(session.start(plan.spec.task) for session, plan in zip(sessions, part, strict=True))
            )
            running = list(range(len(part)))
            while running:
                prompts = [settings.renderer.prompt(part[i].spec.task, turns[i], observations[i]) for i in running]
                requests = [Request(prompt, (), SamplingParams(), 64, 0) for prompt in prompts]
                answers = await asyncio.gather(
                    *(policies[i].complete(request) for i, request in zip(running, requests, strict=True))
                )
                results = await asyncio.gather(
                    *(
                        sessions[i].step(agent_protocol.parse(answer.text).calls)
                        for i, answer in zip(running, answers, strict=True)
                    )
                )
                for i, result in zip(running, results, strict=True):
                    observations[i] = result.observation
                running = [i for i, result in zip(running, results, strict=True) if not result.done]
            await asyncio.gather(*(manager.__aexit__(None, None, None) for manager in opened))
        return time.monotonic() - began


# ---- the peer -------------------------------------------------------------------------------------------------------


def browsergym(python: Path, plans: list[Plan]) -> dict[str, dict[str, float]]:
    """BrowserGym's seconds for the plans, in its own Python environment."""
    site = MiniWoBSite()
    asyncio.run(site.start())
    request = {
        "url": f"http://127.0.0.1:{next(iter(site.addresses().values()))}/",
        "chromium": str(find_chromium()),
        "plans": [plan.as_dict() for plan in plans],
        "viewport": VIEWPORT,
    }
    try:
        done = subprocess.run(
            [python, Path(__file__).parent / "browsergym_peer.py"],
            input=json.dumps(request), capture_output=True, text=True, timeout=1800, check=False,
        )  # fmt: skip
    finally:
        asyncio.run(site.stop())
    if done.returncode:
        raise SystemExit(f"BrowserGym did not run:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


# ---- the run --------------------------------------------------------------------------------------------------------


def steps(plans: list[Plan]) -> int:
    """Number of steps of all plans."""
    return sum(len(plan.calls) for plan in plans)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--episodes", type=int, default=64, help="per round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--slow-episodes", type=int, default=96, help="with the slow policy; 0 skips it")
    parser.add_argument("--concurrency", type=int, nargs="+", default=list(CONCURRENCIES))
    parser.add_argument(
        "--browsergym",
        type=Path,
        default=Path(".venv-browsergym/bin/python"),
        help="a Python with BrowserGym: python3 -m venv .venv-browsergym && "
        ".venv-browsergym/bin/pip install browsergym-core==0.14.3 browsergym-miniwob==0.14.3",
    )
    options = parser.parse_args()
    params = load(RECIPE)
    params = params.model_copy(
        update={
            "browser": params.browser.model_copy(update={"viewport": VIEWPORT}),
            "observation": params.observation.model_copy(update={"text": "none"}),
        }
    )
    plans = asyncio.run(random_plans(params, max(options.episodes, options.slow_episodes)))
    part = plans[: options.episodes]
    rates: dict[str, dict[int, list[float]]] = {"bare": {}, "ours": {}}
    for number in range(options.rounds):
        for concurrency in options.concurrency:
            for name, play in (
                ("bare", lambda n: bare(params, part, n)),
                ("ours", lambda n: ours(params, part, n, instant_script)),
            ):
                rate = steps(part) / asyncio.run(play(concurrency))
                rates[name].setdefault(concurrency, []).append(rate)
                print(f"round {number}, {name}, {concurrency} at once: {rate:.1f} steps/s", flush=True)
    best = {name: {n: statistics.median(rounds) for n, rounds in by_count.items()} for name, by_count in rates.items()}
    per_episode = len(part) / steps(part)
    figures: dict[str, Any] = {
        "episodes": len(part),
        "steps": steps(part),
        "bare_loop_steps_s": round(max(best["bare"].values()), 1),
        "bare_loop_steps_s_at": {n: round(rate, 1) for n, rate in best["bare"].items()},
        "ours_steps_s": {n: round(rate, 1) for n, rate in best["ours"].items()},
        "ours_episodes_s": {n: round(rate * per_episode, 2) for n, rate in best["ours"].items()},
        "ours_over_bare": round(max(best["ours"].values()) / max(best["bare"].values()), 3),
        "ours_single_steps_s": round(best["ours"][1], 1) if 1 in best["ours"] else None,
        "browsergym_steps_s": None,
    }
    if options.slow_episodes:
        slow = plans[: options.slow_episodes]
        seconds = asyncio.run(ours(params, slow, 16, SlowScript))
        figures["ours_slow_episodes_s"] = round(len(slow) / seconds, 3)
        print(f"slow policy, ours: {seconds:.0f} s", flush=True)
        seconds = asyncio.run(step_synchronous(params, slow, 16))
        figures["sync_slow_episodes_s"] = round(len(slow) / seconds, 3)
        print(f"slow policy, step-synchronous: {seconds:.0f} s", flush=True)
        figures["ours_over_sync"] = round(figures["ours_slow_episodes_s"] / figures["sync_slow_episodes_s"], 2)
    if options.browsergym.exists():
        few = plans[:8]
        peer = browsergym(options.browsergym, few)
        figures["browsergym_steps_s"] = round(steps(few) / peer["as_shipped"]["seconds"], 2)
        figures["browsergym_without_resets_steps_s"] = round(steps(few) / peer["as_shipped"]["step_seconds"], 2)
        figures["browsergym_without_delays_steps_s"] = round(steps(few) / peer["no_delays"]["seconds"], 2)
        if figures["ours_single_steps_s"]:
            figures["ours_over_browsergym"] = round(figures["ours_single_steps_s"] / figures["browsergym_steps_s"], 1)
    print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
