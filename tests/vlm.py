"""A Qwen3-VL with random weights, and prompts for it, for tests that need a real model without skill."""

from __future__ import annotations

import io
from functools import cache

import numpy as np
from PIL import Image as PILImage

from components.agent import Renderer
from components.model import VLM
from components.params import AgentParams, ObservationParams, PretrainParams
from components.records import Image, Observation, Tab, Task
from components.training.new_base import new_vlm, train_tokenizer
from components.training.page_rendering import Page

CONFIG = PretrainParams(hidden=48, layers=2, vision_hidden=32, vision_depth=2, vocabulary=1600, seed=3)
TASK = Task(task_id="t", intent='Click on the "ok" button.', start_url="http://a/", website="a", source="test")
AGENT = AgentParams(prompt="compact", max_response_tokens=12, max_context_tokens=2048)


@cache
def tokenizer():
    page = Page(b"", [f'- button "{word}" {x} {x}' for x, word in enumerate(["ok", "cancel", "submit", "next"] * 20)])
    return train_tokenizer([page] * 4, CONFIG)


def random_vlm(layers: int = CONFIG.layers) -> VLM:
    """A new model, always with the same weights."""
    return new_vlm(tokenizer(), CONFIG.model_copy(update={"layers": layers}))


def picture(seed: int, width: int = 96, height: int = 64) -> Image:
    """A PNG of noise."""
    out = io.BytesIO()
    PILImage.fromarray(np.random.default_rng(seed).integers(0, 255, (height, width, 3), dtype=np.uint8)).save(
        out, "PNG"
    )
    return Image.of(out.getvalue())


def observation(seed: int, text: str | None = '- button "ok" 512 86', size: tuple[int, int] = (96, 64)) -> Observation:
    tab = Tab(index=0, title="A", url="http://a/", active=True)
    return Observation(url="http://a/", tabs=[tab], viewport=size, screenshot=picture(seed, *size), text=text)


def renderer(screenshots: int = 1, prompt: str = "compact") -> Renderer:
    agent = AGENT.model_copy(update={"prompt": prompt})
    return Renderer(agent, ObservationParams(text="elements", screenshots=screenshots))
