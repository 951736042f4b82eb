"""Makes turns and trajectories of what others publish, who record less than ours: no prompts, tokens or tabs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from components.agent.protocols import recorded_protocol
from components.formats.files import viewport_of
from components.formats.public_changes import public_check
from components.records import (
    NO_SCREENSHOT,
    Image,
    Observation,
    Task,
    Termination,
    ToolCall,
    Trajectory,
    Turn,
    trajectory_id,
)
from components.redaction import cleaned, cleaned_json

_REASONED = re.compile(r"<think>(?P<reasoning>.*?)</think>(?P<rest>.*)", re.DOTALL)


def turn_of(
    index: int,
    image: Image,
    response: str,
    calls: Sequence[ToolCall] = (),
    feedback: Sequence[str] = (),
    url: str = "",
    text: str | None = None,
) -> Turn:
    """A turn of another agent.

    Args:
        image: the page that the agent saw, or `NO_SCREENSHOT`.
        feedback: what is known of the calls' results.
        url: of the page; empty if it was not recorded.
        text: the page as text, if the agent saw it.
    """
    return Turn(
        index=index,
        observation=Observation(url=url, tabs=[], viewport=viewport_of(image), screenshot=image, text=text),
        prompt_sha256="",
        prompt_tokens=0,
        response=response,
        token_ids=[],
        logprobs=[],
        finish_reason="stop",
        tool_calls=[*calls],
        feedback=[*feedback],
    )


def trajectory_of(
    name: str,
    task: Task,
    policy: str,
    turns: Sequence[Turn],
    termination: Termination,
    answer: str | None,
    final_screenshot: Image = NO_SCREENSHOT,
) -> Trajectory:
    """A trajectory of another agent.

    Args:
        name: what the id is made of, together with `policy`: the record's place below the folder that was read.
        policy: the folder's name.
        final_screenshot: the page after the last turn, if it was recorded.
    """
    return Trajectory(
        trajectory_id=trajectory_id(name, 0, policy, 0),
        task=task,
        attempt=0,
        policy=policy,
        protocol=task.source,
        seed=0,
        turns=[*turns],
        termination=termination,
        answer=answer,
        final_screenshot=None if final_screenshot == NO_SCREENSHOT else final_screenshot,
    )


def thought_and_action(thought: str, action: str) -> str:
    """A response in the form of our agents: the reasoning in a block of its own."""
    return f"<think>{thought}</think>\n{action}"


def thought_of(trajectory: Trajectory, turn: Turn) -> str | None:
    """The reasoning of a response, in whatever form its protocol has it; None if there is none."""
    reasoning, _ = split_response(turn.response)
    spoken = recorded_protocol(trajectory.protocol) if reasoning is None else None
    if spoken is not None:
        parsed = spoken.parse(turn.response)
        reasoning = parsed.thought if parsed.error is None and parsed.thought else None
    return reasoning


def published(trajectory: Trajectory, clean: Callable[[str], str]) -> Trajectory:
    """The trajectory without secrets, with the public part of what it changed, and without its diagnostics, except the
    number of tokens that an endpoint billed.

    Args:
        clean: removes secrets from a text.
    """
    values, check = trajectory.model_dump(exclude={"diagnostics", "state_check"}), trajectory.state_check
    values["task"]["evaluator"] = cleaned_json(trajectory.task.evaluator, clean)
    for turn in values["turns"]:
        for call in turn["tool_calls"]:
            call["arguments"] = cleaned_json(call["arguments"], clean)
    values["state_check"] = None if check is None else public_check(check).model_dump()
    values["diagnostics"] = {key: value for key, value in trajectory.diagnostics.items() if key == "response_tokens"}
    return Trajectory.model_validate(cleaned(values, clean))


def split_response(response: str) -> tuple[str | None, str]:
    """The reasoning, if the response begins with some, and the rest. `<think>…</think>` and the rest are the whole."""
    match = _REASONED.fullmatch(response)
    return (match["reasoning"], match["rest"]) if match else (None, response)
