"""Records of a small run, with real PNG screenshots, responses in the grammar and the browser's feedback."""

from __future__ import annotations

import io
from functools import cache
from typing import Any

from PIL import Image as Pillow
from PIL import ImageDraw

from components.agent import format_call, format_response
from components.records import (
    Image,
    Observation,
    Outcome,
    Tab,
    Task,
    Termination,
    ToolCall,
    Trajectory,
    Turn,
    Verdict,
    trajectory_id,
)

VIEWPORT = (160, 210)


def png(words: list[tuple[int, int, str]] = (), viewport: tuple[int, int] = VIEWPORT, intent: str = "") -> Image:
    """A screenshot of a page that shows its intent on yellow and has buttons at (x, y) px."""
    return _drawn(tuple(words), viewport, intent)


@cache
def _drawn(words: tuple[tuple[int, int, str], ...], viewport: tuple[int, int], intent: str) -> Image:
    picture = Pillow.new("RGB", viewport, "white")
    draw = ImageDraw.Draw(picture)
    draw.rectangle((0, 0, viewport[0], 40), fill="#ffff66")
    draw.multiline_text((4, 4), intent[:22] + "\n" + intent[22:44], fill="black")
    for x, y, word in words:
        draw.rectangle((x, y, x + 50, y + 18), outline="#555555", fill="#e8e8ee")
        draw.text((x + 5, y + 4), word, fill="black")
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return Image.of(buffer.getvalue())


def task(task_id: str = "t0", family: str = "click-test", **changes: Any) -> Task:
    fields = {
        "task_id": task_id,
        "intent": f'Click on the "ok" button ({task_id}).',
        "start_url": f"http://miniwob/{family}.html",
        "website": f"miniwob/{family}",
        "source": "miniwob",
        "split": "eval",
    }
    return Task(**{**fields, **changes})


def turn(index: int = 0, *calls: ToolCall, thought: str = "The list says where it is.", **changes: Any) -> Turn:
    calls = calls or (ToolCall(name="click", arguments={"x": 250, "y": 500}),)
    fields = {
        "index": index,
        "observation": observation(),
        "prompt_sha256": "0" * 64,
        "prompt_tokens": 212,
        "response": format_response(thought, [format_call(call.name, **call.arguments) for call in calls]),
        "token_ids": list(range(43)),
        "logprobs": [-0.1] * 43,
        "finish_reason": "stop",
        "tool_calls": list(calls),
        "feedback": [f'Succeed: `{call.name}` on <button> "ok" at (250, 500) executed.' for call in calls],
        "timings": {"policy": 0.412, "browser": 0.083},
    }
    return Turn(**{**fields, **changes})


def observation(
    viewport: tuple[int, int] = VIEWPORT, intent: str = 'Click on the "ok" button.', **changes: Any
) -> Observation:
    fields = {
        "url": "http://miniwob/click-test.html",
        "tabs": [Tab(index=0, title="Click Test", url="http://miniwob/click-test.html", active=True)],
        "viewport": viewport,
        "screenshot": png([(15, 95, "ok"), (85, 140, "cancel")], viewport, intent),
        "text": '- button "ok" 250 500\n- button "cancel" 688 710',
    }
    return Observation(**{**fields, **changes})


DONE = ToolCall(name="done", arguments={"answer": "ok"})


def trajectory(
    of: Task | None = None,
    turns: list[Turn] | None = None,
    termination: Termination = Termination.DONE,
    policy: str = "rl",
    attempt: int = 0,
    **changes: Any,
) -> Trajectory:
    of = of or task()
    done = termination is Termination.DONE
    fields = {
        "trajectory_id": trajectory_id(of.task_id, attempt, policy, 7),
        "task": of,
        "attempt": attempt,
        "policy": policy,
        "protocol": "openwebrl",
        "seed": 7,
        "turns": [turn(0), turn(1, DONE)] if turns is None else turns,
        "termination": termination,
        "answer": "ok" if done else None,
        "site_reward": 1.0 if done else None,
    }
    return Trajectory(**{**fields, **changes})


def verdict(
    of: Trajectory, outcome: Outcome = Outcome.SUCCESS, rationale: str = "asked: click ok did: click button; done"
) -> Verdict:
    return Verdict(
        trajectory_id=of.trajectory_id,
        outcome=outcome,
        rationale=rationale,
        judge="rules",
        judge_version="site-reward-1",
    )
