"""Converts a prompt to chat messages, for servers that take text instead of token ids."""

from __future__ import annotations

import re

from components.agent.rendering import IM_END, IM_START, Prompt, Response, Text
from components.endpoint import Message, image_part, text_part
from components.records import Image

_MARKS = re.compile(f"({re.escape(IM_START)}[a-z]+\n|{re.escape(IM_END)}\n?)")


def as_messages(prompt: Prompt) -> list[Message]:
    """The prompt as OpenAI's chat messages, without the opening of the answer, which servers write themselves.

    Only text that the harness wrote can contain marks; quoted text in it has none (`agent.rendering.plain`). A response
    without text is `(no call)`, because some servers refuse an empty message.
    """
    messages: list[Message] = []
    is_open = False
    for segment in prompt.segments:
        match segment:
            case Text():
                for piece in _MARKS.split(segment.text):
                    if piece.startswith(IM_START):
                        messages.append({"role": piece[len(IM_START) : -1], "content": []})
                        is_open = True
                    elif piece.startswith(IM_END):
                        is_open = False
                    elif piece and is_open:
                        messages[-1]["content"].append(text_part(piece))
            case Response():
                messages[-1]["content"] = [text_part(segment.text if segment.text.strip() else "(no call)")]
                is_open = False
            case Image():
                messages[-1]["content"].append(image_part(segment))
    if is_open and messages[-1]["role"] == "assistant":
        messages.pop()
    return [_simplified(message) for message in messages]


def _simplified(message: Message) -> Message:
    """The message with its content as a string if it is only text, because all servers accept a string."""
    parts = message["content"]
    if any(part["type"] != "text" for part in parts):
        return message
    return {"role": message["role"], "content": "".join(part["text"] for part in parts)}
