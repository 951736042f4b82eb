"""Results of other agents in small, in the layouts in which they are published."""

from __future__ import annotations

import json
from pathlib import Path

from tests.samples import png

COLOURS = ("white", "red", "blue", "green", "black")
OMITTED = "Observation: A screenshot and some texts. (Omitted in context.)"


def webvoyager_task(
    folder: Path,
    task: str = "Amazon--0",
    intent: str = "What does green tea cost?",
    answer: str | None = "It is 5.",
    **changes: object,
) -> Path:
    """A task of three rounds with its screenshots; the last response answers, or scrolls. Returns the folder."""

    def seen(text: str) -> list[dict]:
        picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,{b64_img}"}}
        return [{"type": "text", "text": text}, picture]

    first = f"Now given a task: {intent}  Please interact with https://www.amazon.com/ and get the answer. "
    last = "Scroll [WINDOW]; down" if answer is None else f"ANSWER; {answer}"
    messages = [
        {"role": "system", "content": "You browse."},
        {"role": "user", "content": first + OMITTED},
        {"role": "assistant", "content": "Thought: A box.\n\nAction: Type [2]; green tea"},
        {"role": "user", "content": seen('Observation: please look.\n[0]: "Tea";\t[1]: <button> "Go";')},
        {"role": "assistant", "content": "Thought: The list.\n\nAction: Click [33]"},
        {"role": "user", "content": seen("Observation: please look.")},
        {"role": "assistant", "content": f"Thought: There.\n\nAction: {last}"},
    ]
    place = folder / f"task{task}"
    place.mkdir(parents=True)
    (place / "interact_messages.json").write_text(json.dumps(changes.get("messages", messages)))
    (place / "agent.log").write_text("finish")
    for number in (1, 2, 3):
        (place / f"screenshot{number}.png").write_bytes(png(COLOURS[number]).data)
        (place / f"screenshot{number}_no_box.png").write_bytes(png().data)
    return place


def online_mind2web_task(folder: Path, task: str = "005be9", pictures: int = 3, **changes: object) -> Path:
    """A result of version 1 with three actions; returns the folder."""
    place = folder / task
    (place / "trajectory").mkdir(parents=True)
    for number in range(pictures):
        (place / f"trajectory/{number + 1}_full_screenshot.png").write_bytes(png(COLOURS[number]).data)
    result = {
        "task_id": task,
        "task": "Find the weight of the baggage.",
        "final_result_response": "It is 23 kg.",
        "action_history": ["Navigate to https://air/", "Click at (963, 72)", 'Type "baggage"'],
        "thoughts": ["", "A search box.", "I type."],
        "result_status": "success",
    }
    (place / "result.json").write_text(json.dumps(result | changes))
    return place


def online_mind2web_steps(folder: Path, task: str = "8244a9", **changes: object) -> Path:
    """A result of version 2 with two actions and the agent's last account; returns the folder."""
    place = folder / task
    (place / "trajectory").mkdir(parents=True)
    actions = ["page -> NAVIGATE -> open", "CLICK coords(3, 4) -> button", "TASK_COMPLETE -> ANSWER: 23 kg"]
    steps = []
    for number, action in enumerate(actions):
        (place / f"trajectory/{number:04}.png").write_bytes(png(COLOURS[number]).data)
        steps.append(
            {"step": number, "screenshot": f"{number:04}.png", "url": f"https://air/{number}", "action": action,
             "action_status": "success", "thought": f"Thought {number}."}
        )  # fmt: skip
    result = {
        "schema_version": "online-mind2web-v2",
        "task": "Find the weight of the baggage.",
        "task_id": task,
        "agent_final_answer": "23 kg",
        "reference_length": 4,
        "action_history": steps,
    }
    (place / "result.json").write_text(json.dumps(result | changes))
    return place
