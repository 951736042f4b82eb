"""Robustness of the environment: `python -m perf.faults`.

- kills: `kill -9` of Chromium's main process or of a renderer, 100 times, during episodes of a scripted teacher. In the
  end every episode must be recorded once, with its reward. Recovery is the time from a kill to the next finished
  episode.
- fuzz: 10,000 model outputs that hypothesis generates, in every protocol, played in episodes on real pages.
- hostile: an episode on each page of `hostile_pages.py`. It must end within its limits, with a typed reason.
- endurance: 1,000 episodes in a row; resident memory of this process and its children after 100 and at the end.

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

from components.agent import EpisodeSettings, EpisodeSpec, Renderer, run_episode
from components.agent.protocols import protocol_names
from components.browser import BrowserPool, SandboxError
from components.journal import Journal
from components.params import BrowserParams, EgressParams, SamplingParams, load
from components.policies.scripted import scripted_policy
from components.records import Task, Termination, Trajectory
from components.rollout import CollectOptions, collect, episode_specs
from components.worlds import Worlds
from components.worlds.miniwob import MiniWoB
from components.worlds.miniwob.site import MiniWoBSite
from perf.browser_workload import Script, episode_settings, miniwob_task
from perf.hostile_pages import HostileSite

MINIWOB = Worlds([MiniWoB(MiniWoB.Params())])

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
    """Easy tasks, one per seed."""
    return [miniwob_task("focus-text", seed) for seed in range(number)]


def chromium_processes() -> list[psutil.Process]:
    """Chromium's main processes and renderers among this process's descendants."""
    processes = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            kind = next((word for word in process.cmdline() if word.startswith("--type=")), "main")
            if "chrom" in process.name() and kind in ("main", "--type=renderer"):
                processes.append(process)
    return processes


def memory_mib() -> float:
    """Resident memory of this process and its descendants in MiB (proportional set size)."""
    total = 0
    for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
        with contextlib.suppress(psutil.Error):
            total += process.memory_full_info().pss
    return total / 2**20


async def kills(number: int) -> dict[str, Any]:
    """Kill browsers during episodes, `number` times."""
    params = load(RECIPE)
    browser = params.browser.model_copy(update={"concurrency": 6})
    episodes = episode_specs(focus_tasks(4000), 1, "scripted", run_seed=1)
    rng = random.Random(0)
    finished: list[float] = []
    recoveries: list[float] = []

    with tempfile.TemporaryDirectory() as folder, Journal(Path(folder) / "journal.jsonl", Trajectory) as journal:
        async with BrowserPool(browser, site=MiniWoBSite(), text="elements") as pool:

            async def kill_browsers() -> None:
                while len(recoveries) < number:
                    await asyncio.sleep(rng.uniform(0.0, 0.7))
                    victims = chromium_processes()
                    if not victims:
                        continue
                    with contextlib.suppress(psutil.Error):
                        rng.choice(victims).kill()
                    killed, finished_before = time.monotonic(), len(finished)
                    while len(finished) == finished_before:
                        await asyncio.sleep(0.01)
                    recoveries.append(time.monotonic() - killed)

            killer = asyncio.create_task(kill_browsers())
            collected: list[Trajectory] = []
            while not killer.done():  # in portions, so that the run ends soon after the last kill
                part = episodes[len(collected) : len(collected) + 60]
                if not part:
                    killer.cancel()
                    raise SystemExit(f"{len(recoveries)} kills in all {len(episodes)} episodes: lower --kills")
                collected += await collect(
                    part,
                    pool,
                    scripted_policy(MINIWOB, noise=0.0),
                    episode_settings(params, 4),
                    journal,
                    CollectOptions(progress=lambda done, total: finished.append(time.monotonic())),
                )
            await killer
        ids = Counter(trajectory.trajectory_id for trajectory in journal.records)
    solved = {
        trajectory.trajectory_id
        for trajectory in collected
        if trajectory.termination is Termination.DONE and trajectory.site_reward == 1.0
    }
    lost = [trajectory for trajectory in collected if trajectory.trajectory_id not in solved]
    return {
        "kills": len(recoveries),
        "episodes": len(collected),
        "lost": len(lost),
        "lost_as": dict(Counter(str(trajectory.termination) for trajectory in lost)),
        "duplicated": sum(count - 1 for count in ids.values()),
        "recovery_p50_s": round(statistics.median(recoveries), 2),
        "recovery_max_s": round(max(recoveries), 2),
    }


def fuzzed_texts(number: int) -> list[str]:
    """Malformed outputs: random text, and pieces of every protocol in any order."""
    numbers = st.one_of(st.integers(), st.floats(), st.sampled_from([0, 500, 1000, -1, 1e300]))
    short = st.text(max_size=20)
    values = st.one_of(st.none(), st.booleans(), numbers, short, st.lists(short, max_size=3))
    names = ["click", "hover", "drag", "write", "press_keys", "scroll", "goto_url", "go_back", "new_tab", "switch_tab",
             "close_tab", "done", "click_element", "no_such_tool"]  # fmt: skip
    keys = ["x", "y", "x1", "y1", "x2", "y2", "text", "keys", "direction", "amount", "url", "index", "answer", "button"]
    arguments = st.dictionaries(st.sampled_from(keys) | st.text(max_size=5), values, max_size=4)
    valid_call = st.sampled_from(CALLS)
    random_call = st.builds(lambda n, a: json.dumps({"name": n, "arguments": a}), st.sampled_from(names), arguments)
    call = st.one_of(valid_call, random_call)
    tool = call.map(lambda text: f"<tool_call>{text}</tool_call>")
    words = (
        "<think> </think> <answer> </answer> <action> </action> do(action= element= click(5) scroll(down) { }".split()
    )
    words += ['"Click", ', '"7")', "type(4, a, 1)", "Memory: a\n", "Action: ", "<tool_call>"]
    pieces = st.lists(st.one_of(tool, st.sampled_from(words), st.text(max_size=10)), max_size=8).map("".join)
    texts = st.one_of(pieces, pieces.map(lambda text: f"<think>x</think>{text}"), st.text(max_size=100))
    outputs: list[str] = []

    @seed(0)
    @settings(max_examples=number // 20 + 1, database=None, deadline=None, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(st.lists(texts, min_size=20, max_size=20))
    def gather(examples: list[str]) -> None:
        outputs.extend(examples)

    gather()
    return outputs[:number]


async def fuzz(number: int) -> dict[str, Any]:
    """Play `number` malformed outputs in episodes."""
    params = load(RECIPE)
    texts = fuzzed_texts(number)
    uncaught, endings, turns = 0, Counter[str](), 0
    remaining = iter(texts)
    browser = params.browser.model_copy(update={"concurrency": 6, "step_timeout_s": 10, "settle_ms": 100})
    names = [*protocol_names()]
    tasks = iter(range(10**9))

    async with BrowserPool(browser, site=MiniWoBSite(), text="axtree") as pool:

        async def play() -> None:
            nonlocal uncaught, turns
            while batch := [text for _, text in zip(range(10), remaining, strict=False)]:
                number = next(tasks)
                agent = params.agent.model_copy(
                    update={"protocol": names[number % len(names)], "max_format_errors": 11}
                )
                task = miniwob_task("click-tab-2", number)
                limits = EpisodeSettings(Renderer(agent, params.observation), agent, SamplingParams(), 0, 64)
                rest = batch
                while rest:  # an episode may end early; the next one plays the rest
                    try:
                        async with pool.session() as session:
                            trajectory = await run_episode(
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
                    endings[str(trajectory.termination)] += 1
                    turns += len(trajectory.turns)
                    rest = rest[max(1, len(trajectory.turns)) :]

        await asyncio.gather(*(play() for _ in range(6)))
    return {"fuzzed": len(texts), "fuzzed_turns": turns, "uncaught": uncaught, "fuzz_endings": dict(endings)}


async def hostile() -> dict[str, Any]:
    """Run an episode on each hostile page."""
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

        async def visit(name: str, url: str) -> None:
            task = Task(task_id=name, intent="look", start_url=url, website="hostile", source="hostile")
            async with free:
                began = time.monotonic()
                try:
                    async with asyncio.timeout(3 * agent.task_timeout_s), pool.session() as session:
                        trajectory = await run_episode(
                            EpisodeSpec(task, 0, "script", 0), session, Script(texts), limits
                        )
                        spent = time.monotonic() - began
                    late = spent > agent.task_timeout_s + 5
                    ended[name] = f"late: {spent:.0f} s" if late else str(trajectory.termination)
                except SandboxError as error:  # the browser died; `collect` would run the episode again
                    ended[name] = "sandbox_error"
                    print(error, flush=True)
                except Exception as error:
                    ended[name] = f"hang: {error!r}"
                print(f"{name}: {ended[name]} after {time.monotonic() - began:.1f} s", flush=True)

        await asyncio.gather(*(visit(name, url) for name, url in site.urls().items()))
    site.stop()
    hangs = sum(ending.startswith(("hang", "late")) for ending in ended.values())
    return {"hostile_pages": len(ended), "hangs": hangs, "hostile_endings": dict(Counter(ended.values()))}


async def endurance(number: int) -> dict[str, Any]:
    """Run `number` episodes and measure the growth of memory."""
    params = load(RECIPE)
    browser = params.browser.model_copy(update={"concurrency": 4})
    episodes = episode_specs(focus_tasks(number), 1, "scripted", run_seed=1)
    with tempfile.TemporaryDirectory() as folder, Journal(Path(folder) / "j.jsonl", Trajectory, False) as journal:
        async with BrowserPool(browser, site=MiniWoBSite(), text="elements") as pool:

            async def play(part: list[EpisodeSpec]) -> None:
                policy = scripted_policy(MINIWOB, noise=0.0)
                await collect(part, pool, policy, episode_settings(params, 4), journal)

            await play(episodes[:100])
            early = memory_mib()
            await play(episodes[100:])
            late = memory_mib()
    await asyncio.sleep(1)
    return {
        "endurance_episodes": number,
        "rss_mib": [round(early), round(late)],
        "rss_growth": round(late / early - 1, 3),
        "orphans": sum("chrom" in child.name() for child in psutil.Process().children(recursive=True)),
    }


def main() -> None:
    """Run the parts and print their figures."""
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
    figures: dict[str, Any] = {}
    for name, part in parts.items():
        if not options.only or name in options.only:
            began = time.monotonic()
            figures |= asyncio.run(part())
            print(f"{name}: {time.monotonic() - began:.0f} s", flush=True)
    print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
