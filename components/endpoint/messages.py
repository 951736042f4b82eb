"""The messages of OpenAI's chat API."""

from __future__ import annotations

import base64
from typing import Any

from components.records import Image

Message = dict[str, Any]
"""A message of OpenAI's chat API."""


def image_part(image: Image) -> Message:
    """An image as a part of a message."""
    url = f"data:{image.media_type};base64,{base64.b64encode(image.data).decode()}"
    return {"type": "image_url", "image_url": {"url": url}}


def text_part(text: str) -> Message:
    """A text as a part of a message."""
    return {"type": "text", "text": text}
