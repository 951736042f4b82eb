"""The one rendering of a conversation, for rollout and training alike.

At turn t the policy sees (OpenWebRL, section 4.1): the system prompt, the task, every earlier response as it was
sampled, every earlier feedback and page line, and the last K observations in full, screenshot and text. A prompt is a
list of segments: text, images, and recorded response ids. Responses are never tokenised again: what the policy
sampled is what it sees, and what the trainer trains on. An observation's image and list stand at the end of their
message, so that the text before them is the same whether they are shown or dropped.

The chat format is ChatML, which all Qwen3-VL models share; `tests/agent/test_rendering.py` holds it to the tokenizer's
own chat template.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

from components.agent.prompts import system_prompt
from components.params import AgentParams, ObservationParams
from components.records import Image, Observation, Task, Turn

IM_START, IM_END = "<|im_start|>", "<|im_end|>"


def plain(text: str) -> str:
    """Text that is not ours (a page's, a user's, the policy's own in a feedback) without control tokens in it.

    `<|im_end|>` or `<|image_pad|>` on a page is something to read: as a token it would end the message, or announce an
    image that is not there. It is broken up in the text, since every server and tokenizer takes text.
    """
    return text.replace("<|", "< |")


@dataclass(frozen=True)
class Text:
    """Text that the harness wrote. What it quotes went through `plain`."""

    text: str


@dataclass(frozen=True)
class Response:
    """Ids that the policy sampled. `closed` tells whether the end token is among them."""

    token_ids: tuple[int, ...]


Segment = Text | Image | Response


@dataclass(frozen=True)
class Prompt:
    """What the policy sees before it answers."""

    segments: tuple[Segment, ...]

    @cached_property
    def images(self) -> list[Image]:
        return [segment for segment in self.segments if isinstance(segment, Image)]

    @cached_property
    def sha256(self) -> str:
        """Hash of the segments, images by content: equal only if the policy saw the same thing."""
        total = hashlib.sha256()
        for segment in self.segments:
            match segment:
                case Text():
                    total.update(b"t" + segment.text.encode())
                case Image():
                    total.update(b"i" + segment.sha256.encode())
                case Response():
                    total.update(b"r" + repr(segment.token_ids).encode())
            total.update(b"\x00")
        return total.hexdigest()


@dataclass(frozen=True)
class Renderer:
    """Renders the prompt of a turn."""

    agent: AgentParams
    observation: ObservationParams
    think_prefix: bool = False

    def prompt(self, task: Task, turns: list[Turn], current: Observation) -> Prompt:
        """The prompt of turn `len(turns)`, which sees `current` after the earlier `turns`."""
        segments: list[Segment] = [Text(f"{IM_START}system\n{system_prompt(self.agent.prompt)}{IM_END}\n")]
        first_shown = len(turns) + 1 - self.observation.screenshots
        for index, turn in enumerate([*turns, None]):
            observation = current if turn is None else turn.observation
            lines = [f"Task: {task.intent}"] if index == 0 else turns[index - 1].feedback
            said = plain("\n".join([*lines, *self._page_lines(observation)]))
            segments.append(Text(f"{IM_START}user\n{said}\n"))
            if index >= first_shown:
                segments.append(observation.screenshot)
                if observation.text is not None:
                    segments.append(Text("\n" + plain(observation.text)))
            opening = "<think>\n" if self.think_prefix else ""
            segments.append(Text(f"{IM_END}\n{IM_START}assistant\n{opening}"))
            if turn is not None:
                segments += [Response(tuple(turn.token_ids)), Text("\n")]
        return Prompt(tuple(segments))

    def _page_lines(self, observation: Observation) -> list[str]:
        if self.agent.prompt == "compact":
            return [f"URL: {observation.url}"]
        width, height = observation.viewport
        tabs = [f"{'*' if tab.active else ' '}[{tab.index}] {tab.title} ({tab.url})" for tab in observation.tabs]
        return [f"URL: {observation.url}", f"Viewport: {width}x{height}", "Tabs:", *tabs]
