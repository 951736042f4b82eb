"""What the environment survives: `python -m benchmarks.faults`.

- kills: `kill -9` of Chromium's main process or of a renderer, 100 times, during episodes of a scripted teacher. Every
  episode must be there in the end, once, with its reward. Recovery: from a kill to the next finished episode.
- fuzz: 10,000 model outputs that hypothesis makes, in every protocol, played in episodes on real pages.
- hostile: an episode on each page of `hostile.py`. It must end within its limits, with a typed reason.
- endurance: 1,000 episodes in a row; resident memory of this process and all below it after 100 and at the end.

Last line: JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import statistics
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from benchmarks.hostile import HostileSite
from benchmarks.workload import Script, episode_settings, miniwob_task
from components.agent import EpisodeSettings, EpisodeSpec, Renderer, run_episode
from components.agent.protocols import PROTOCOLS
from components.browser import BrowserPool, SandboxError
from components.params import BrowserParams, EgressParams, SamplingParams, load
from components.policies.scripted import ScriptedTeacher
from components.records import Task, Termination, Trajectory
from components.rollout import collect, specs
from components.sites import MiniWoB
from components.store import Journal

RECIPE = "recipes/smoke.yaml"
CALLS = [
    '{"name": "click", "arguments": {"x": 500, "y": 500}}',
    '{"name": "write", "arguments": {"text": "hello"}}',
    '{"name": "scroll", "arguments": {"direction": "down"}}',
    '{"name": "press_keys", "arguments": {"keys": ["Enter"]}}',
    '{"name": "hover", "arguments": {"x": 100, "y": 100}}',
    '{"name": "go_back", "arguments": {}}',
    '{"name": "new_tab", "arguments": {}}',
    '{"name": "close_tab", "arguments": {}}',
    '{"name": "done", "arguments": {"answer": "x"}}',
]


def focus_tasks(number: int) -> list[Task]:
    return [miniwob_task("focus-text", seed) for seed in range(number)]


def chromium_processes() -> list[psutil.Process]:
    """Main processes and renderers below this process."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            kind = next((word for word in process.cmdline() if word.startswith("--type=")), "main")
            if "chrom" in process.name() and kind in ("main", "--type=renderer"):
                found.append(process)
    return found


def memory_mib() -> float:
    """Resident memory of this process and all below it."""
    total = 0
    for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
        with contextlib.suppress(psutil.Error):
            total += process.memory_full_info().pss
    return total / 2**20


async def kills(number: int) -> dict[str, Any]:
    params = load(RECIPE)
    browser = params.browser.model_copy(update={"concurrency": 6})
    episodes = specs(focus_tasks(4000), 1, "scripted", run_seed=1)
    chosen = random.Random(0)
    finished: list[float] = []
    recoveries: list[float] = []

    with tempfile.TemporaryDirectory() as folder, Journal(Path(folder) / "journal.jsonl", Trajectory) as journal:
        async with BrowserPool(browser, site=MiniWoB(), text="elements") as pool:

            async def kill_some() -> None:
                while len(recoveries) < number:
                    await asyncio.sleep(chosen.uniform(0.0, 0.7))
                    victims = chromium_processes()
                    if not victims:
                        continue
                    with contextlib.suppress(psutil.Error):
                        chosen.choice(victims).kill()
                    killed, running_until = time.monotonic(), len(finished)
                    while len(finished) == running_until:
                        await asyncio.sleep(0.01)
                    recoveries.append(time.monotonic() - killed)

            killer = asyncio.create_task(kill_some())
            collected: list[Trajectory] = []
            while not killer.done():  # in portions, so that it ends soon after the last kill
                part = episodes[len(collected) : len(collected) + 60]
                collected += await collect(
                    part,
                    pool,
                    lambda spec, session: ScriptedTeacher(session, spec, noise=0.0),
                    episode_settings(params, 4),
                    journal,
                    lambda done, total: finished.append(time.monotonic()),
                )
            await killer
        ids = Counter(one.trajectory_id for one in journal.records)
    good = {one.trajectory_id for one in collected if one.termination is Termination.DONE and one.site_reward == 1.0}
    return {
        "kills": len(recoveries),
        "episodes": len(collected),
        "lost": len(collected) - len(good),
        "lost_as": dict(Counter(str(one.termination) for one in collected if one.trajectory_id not in good)),
        "duplicated": sum(count - 1 for count in ids.values()),
        "recovery_p50_s": round(statistics.median(recoveries), 2),
        "recovery_max_s": round(max(recoveries), 2),
    }


def fuzzed_texts(number: int) -> list[str]:
    """Outputs as models break them: random text, and pieces of every protocol in any order."""
    numbers = st.one_of(st.integers(), st.floats(), st.sampled_from([0, 500, 1000, -1, 1e300]))
    short = st.text(max_size=20)
    values = st.one_of(st.none(), st.booleans(), numbers, short, st.lists(short, max_size=3))
    names = ["click", "hover", "drag", "write", "press_keys", "scroll", "goto_url", "go_back", "new_tab", "switch_tab",
             "close_tab", "done", "click_element", "no_such_tool"]  # fmt: skip
    keys = ["x", "y", "x1", "y1", "x2", "y2", "text", "keys", "direction", "amount", "url", "index", "answer", "button"]
    arguments = st.dictionaries(st.sampled_from(keys) | st.text(max_size=5), values, max_size=4)
    good = st.sampled_from(CALLS)
    made = st.builds(lambda n, a: json.dumps({"name": n, "arguments": a}), st.sampled_from(names), arguments)
    call = st.one_of(good, made)
    tool = call.map(lambda one: f"<tool_call>{one}</tool_call>")
    words = (
        "<think> </think> <answer> </answer> <action> </action> do(action= element= click(5) scroll(down) { }".split()
    )
    words += ['"Click", ', '"7")', "type(4, a, 1)", "Memory: a\n", "Action: ", "<tool_call>"]
    pieces = st.lists(st.one_of(tool, st.sampled_from(words), st.text(max_size=10)), max_size=8).map("".join)
    texts = st.one_of(pieces, pieces.map(lambda one: f"<think>x</think>{one}"), st.text(max_size=100))
    found: list[str] = []

    @seed(0)
    @settings(max_examples=number // 20 + 1, database=None, deadline=None, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(st.lists(texts, min_size=20, max_size=20))
    def gather(several: list[str]) -> None:
        found.extend(several)

    gather()
    return found[:number]


async def fuzz(number: int) -> dict[str, Any]:
    params = load(RECIPE)
    texts = fuzzed_texts(number)
    uncaught, endings, turns = 0, Counter[str](), 0
    left = iter(texts)
    browser = params.browser.model_copy(update={"concurrency": 6, "step_timeout_s": 10, "settle_ms": 100})
    names = list(PROTOCOLS)
    tasks = iter(range(10**9))

    async with BrowserPool(browser, site=MiniWoB(), text="axtree") as pool:

        async def play() -> None:
            nonlocal uncaught, turns
            while batch := [text for _, text in zip(range(10), left, strict=False)]:
                number = next(tasks)
                agent = params.agent.model_copy(
                    update={"protocol": names[number % len(names)], "max_format_errors": 11}
                )
                task = miniwob_task("click-tab-2", number)
                limits = EpisodeSettings(Renderer(agent, params.observation), agent, SamplingParams(), 0, 64)
                rest = batch
                while rest:  # an episode may end early; what it did not say is said by the next
                    try:
                        async with pool.session() as session:
                            one = await run_episode(
                                EpisodeSpec(task, 0, "fuzz", 0),
                                session,
                                Script(rest),
                                replace(limits, max_steps=len(rest)),
                            )
                    except SandboxError:
                        endings["sandbox_error"] += 1
                        continue
                    except Exception as error:
                        uncaught += 1
                        print(f"uncaught: {error!r} on {rest[:2]!r}", flush=True)
                        break
                    endings[str(one.termination)] += 1
                    turns += len(one.turns)
                    rest = rest[max(1, len(one.turns)) :]

        await asyncio.gather(*(play() for _ in range(6)))
    return {"fuzzed": len(texts), "fuzzed_turns": turns, "uncaught": uncaught, "fuzz_endings": dict(endings)}


async def hostile() -> dict[str, Any]:
    site = HostileSite()
    await site.start()
    params = load(RECIPE)
    browser = BrowserParams(
        viewport=(400, 300), concurrency=2, start_timeout_s=12, step_timeout_s=8, screenshot_timeout_s=6,
        navigation_retries=0, settle_ms=500, egress=EgressParams(private_hosts=["127.0.0.1"]),
    )  # fmt: skip
    agent = params.agent.model_copy(update={"task_timeout_s": 45.0, "protocol": "openwebrl"})
    limits = EpisodeSettings(Renderer(agent, params.observation), agent, SamplingParams(), len(CALLS), 64)
    texts = [f"<think>x</think><tool_call>{call}</tool_call>" for call in CALLS]
    ended: dict[str, str] = {}

    async with BrowserPool(browser, text="elements") as pool:
        free = asyncio.Semaphore(browser.concurrency)

        async def one(name: str, url: str) -> None:
            task = Task(task_id=name, intent="look", start_url=url, website="hostile", source="hostile")
            async with free:
                begun = time.monotonic()
                try:
                    async with asyncio.timeout(3 * agent.task_timeout_s), pool.session() as session:
                        trajectory = await run_episode(
                            EpisodeSpec(task, 0, "script", 0), session, Script(texts), limits
                        )
                        spent = time.monotonic() - begun
                    late = spent > agent.task_timeout_s + 5
                    ended[name] = f"late: {spent:.0f} s" if late else str(trajectory.termination)
                except SandboxError as error:  # the browser died, or answered nobody any more: run again by `collect`
                    ended[name] = "sandbox_error"
                    print(error, flush=True)
                except Exception as error:
                    ended[name] = f"hang: {error!r}"
                print(f"{name}: {ended[name]} after {time.monotonic() - begun:.1f} s", flush=True)

        await asyncio.gather(*(one(name, url) for name, url in site.urls().items()))
    site.stop()
    hangs = sum(how.startswith(("hang", "late")) for how in ended.values())
    return {"hostile_pages": len(ended), "hangs": hangs, "hostile_endings": dict(Counter(ended.values()))}


async def endurance(number: int) -> dict[str, Any]:
    params = load(RECIPE)
    browser = params.browser.model_copy(update={"concurrency": 4})
    episodes = specs(focus_tasks(number), 1, "scripted", run_seed=1)
    with tempfile.TemporaryDirectory() as folder, Journal(Path(folder) / "journal.jsonl", Trajectory) as journal:
        async with BrowserPool(browser, site=MiniWoB(), text="elements") as pool:

            async def play(part: list[EpisodeSpec]) -> None:
                policy = lambda spec, session: ScriptedTeacher(session, spec, noise=0.0)  # noqa: E731
                await collect(part, pool, policy, episode_settings(params, 4), journal)
                journal.records.clear()  # what the test keeps is not what the engine keeps

            await play(episodes[:100])
            early = memory_mib()
            await play(episodes[100:])
            late = memory_mib()
    await asyncio.sleep(1)
    return {
        "endurance_episodes": number,
        "rss_mib": [round(early), round(late)],
        "rss_growth": round(late / early - 1, 3),
        "orphans": len([one for one in psutil.Process().children(recursive=True) if "chrom" in one.name()]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=["kills", "fuzz", "hostile", "endurance"])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--fuzz", type=int, default=10_000)
    parser.add_argument("--episodes", type=int, default=1000)
    options = parser.parse_args()
    parts = {
        "kills": lambda: kills(options.kills),
        "fuzz": lambda: fuzz(options.fuzz),
        "hostile": hostile,
        "endurance": lambda: endurance(options.episodes),
    }
    found: dict[str, Any] = {}
    for name, part in parts.items():
        if not options.only or name in options.only:
            begun = time.monotonic()
            found |= asyncio.run(part())
            print(f"{name}: {time.monotonic() - begun:.0f} s", flush=True)
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
