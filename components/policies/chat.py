"""A prompt as the messages of a chat, for servers that know no ids."""

from __future__ import annotations

import base64
import re
from typing import Any

from components.agent.rendering import IM_END, IM_START, Prompt, Response, Text
from components.records import Image

_MARKS = re.compile(f"({re.escape(IM_START)}[a-z]+\n|{re.escape(IM_END)}\n?)")

Message = dict[str, Any]


def as_messages(prompt: Prompt) -> list[Message]:
    """OpenAI's chat messages. The opening of the answer that is asked for is not among them: servers write it.

    Only text that the harness wrote is searched for marks; what it quotes has none.
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
                        messages[-1]["content"].append({"type": "text", "text": piece})
            case Response():
                messages[-1]["content"] = [{"type": "text", "text": segment.text}]
                is_open = False
            case Image():
                messages[-1]["content"].append({"type": "image_url", "image_url": {"url": _data_url(segment)}})
    if is_open and messages[-1]["role"] == "assistant":
        messages.pop()
    return [_simple(message) for message in messages]


def _simple(message: Message) -> Message:
    """Content that is nothing but text as a string, which all servers take."""
    parts = message["content"]
    if any(part["type"] != "text" for part in parts):
        return message
    return {"role": message["role"], "content": "".join(part["text"] for part in parts)}


def _data_url(image: Image) -> str:
    return f"data:image/png;base64,{base64.b64encode(image.data).decode()}"
