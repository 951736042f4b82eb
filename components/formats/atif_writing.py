"""Makes a document of ATIF of a trajectory, and the images beside it.

The task is the step of a user, the first page a result of a step of the system, and each turn a step of the agent:
reasoning in `reasoning_content`, the rest of the response in `message`, the sampled tokens in `metrics`, a result per
feedback, and the page that the agent saw next as a result without a call.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest

from components.formats.atif_extension import (
    CallExtension,
    PageExtension,
    StepExtension,
    TrajectoryExtension,
    extension,
)
from components.formats.atif_records import (
    VERSION,
    Agent,
    AtifCall,
    Content,
    Document,
    FinalMetrics,
    ImageSource,
    Metrics,
    Result,
    Results,
    Step,
)
from components.formats.building import split_response
from components.formats.files import damage
from components.formats.interface import NotWritable
from components.records import NO_SCREENSHOT, Image, Observation, ToolCall, Trajectory, Turn, Verdict

START = "The start page."
END = "The last page."


def document_of(trajectory: Trajectory, verdict: Verdict | None, version: str) -> tuple[Document, Mapping[str, Image]]:
    """The document, and its images by their paths beside it.

    Args:
        version: of Waymark.

    Raises:
        NotWritable: an image has a type that ATIF does not know.
    """
    images: dict[str, Image] = {}
    pages = [_page(turn.observation, images) for turn in trajectory.turns]
    final = None if trajectory.final_screenshot is None else _final_page(trajectory.final_screenshot, images)
    steps = [Step(step_id=1, source="user", message=trajectory.task.intent)]
    if pages:
        steps.append(Step(step_id=2, source="system", message=START, observation=Results(results=[pages[0]])))
    for turn, page in zip(trajectory.turns, [*pages, final][1:], strict=True):
        steps.append(_step(len(steps) + 1, turn, page))
    if not pages and final is not None:
        steps.append(Step(step_id=2, source="system", message=END, observation=Results(results=[final])))
    document = Document(
        schema_version=VERSION,
        session_id=trajectory.trajectory_id,
        trajectory_id=trajectory.trajectory_id,
        agent=Agent(name="waymark", version=version, model_name=trajectory.policy),
        steps=steps,
        final_metrics=FinalMetrics(
            total_prompt_tokens=sum(turn.prompt_tokens for turn in trajectory.turns),
            total_completion_tokens=trajectory.response_tokens,
            total_steps=len(steps),
        ),
        extra=extension(TrajectoryExtension.of(trajectory, verdict)),
    )
    return document, images


def _step(number: int, turn: Turn, page: Result | None) -> Step:
    reasoning, message = split_response(turn.response)
    calls = [_call(call, f"{number}-{index}") for index, call in enumerate(turn.tool_calls, start=1)]
    results = [
        Result(source_call_id=call.tool_call_id if call is not None else None, content=feedback)
        for call, feedback in zip_longest(calls, turn.feedback)
        if feedback is not None
    ] + ([page] if page is not None else [])
    return Step(
        step_id=number,
        source="agent",
        message=message,
        reasoning_content=reasoning,
        tool_calls=calls or None,
        observation=Results(results=results) if results else None,
        metrics=Metrics(
            prompt_tokens=turn.prompt_tokens,
            completion_tokens=len(turn.token_ids) if turn.token_ids else None,
            completion_token_ids=turn.token_ids or None,
            logprobs=turn.logprobs or None,
        ),
        extra=extension(StepExtension.of(turn)),
    )


def _call(call: ToolCall, identity: str) -> AtifCall:
    return AtifCall(
        tool_call_id=identity,
        function_name=call.name,
        arguments=call.arguments,
        extra=extension(CallExtension(error=call.error)) if call.error is not None else None,
    )


def _page(seen: Observation, images: dict[str, Image]) -> Result:
    content = [Content(type="text", text=seen.text)] if seen.text is not None else []
    content += _picture(seen.screenshot, images)
    return Result(content=content, extra=extension(PageExtension(url=seen.url, tabs=seen.tabs, viewport=seen.viewport)))


def _final_page(image: Image, images: dict[str, Image]) -> Result:
    return Result(content=_picture(image, images), extra=extension(PageExtension(is_final=True)))


def _picture(image: Image, images: dict[str, Image]) -> list[Content]:
    if image == NO_SCREENSHOT:
        return []
    if problem := damage(image):
        raise NotWritable(f"a screenshot {problem}: leave this trajectory out")
    path = f"images/{image.sha256}.{image.media_type.removeprefix('image/')}"
    images[path] = image
    return [Content(type="image", source=ImageSource(media_type=image.media_type, path=path))]
