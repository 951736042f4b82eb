"""Renders a conversation as a prompt. Rollout and training use the same rendering.

The protocol decides what a policy sees at turn t (`protocols`); this module makes a prompt of it. A prompt is a list of
segments: text, images, and recorded response ids. Earlier responses are never tokenised again, so the policy sees, and
the trainer trains on, exactly the ids that were sampled. Only of an excerpt of a response is there no record: it is
text (`agent.reasoning_history: false`).

The chat format is ChatML, which all Qwen3-VL models share; `tests/agent/test_rendering.py` compares it with the
tokenizer's own chat template.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

from components.agent.protocols import TurnContext, protocol
from components.params import AgentParams, ObservationParams
from components.records import Image, Observation, Task, Turn

IM_START, IM_END = "<|im_start|>", "<|im_end|>"


def plain(text: str) -> str:
    """Untrusted text (of a page, a user, or the policy itself in feedback) without control tokens.

    `<|im_end|>` or `<|image_pad|>` on a page is only text: as a token it would end the message, or announce an image
    that does not exist. A space breaks it up, which works with every server and tokenizer.
    """
    return text.replace("<|", "< |")


@dataclass(frozen=True)
class Text:
    """Text that the harness wrote. Quoted text in it has passed `plain`."""

    text: str


@dataclass(frozen=True)
class Response:
    """A response of the policy: the sampled ids (empty if they are not known) and their text."""

    token_ids: tuple[int, ...]
    text: str = ""


Segment = Text | Image | Response


@dataclass(frozen=True)
class Prompt:
    """What the policy sees at one turn."""

    segments: tuple[Segment, ...]

    @cached_property
    def images(self) -> list[Image]:
        """The images in the order of the segments."""
        return [segment for segment in self.segments if isinstance(segment, Image)]

    @cached_property
    def sha256(self) -> str:
        """Hash of the segments, images by content. It is equal only if the policy saw the same prompt."""
        digest = hashlib.sha256()
        for segment in self.segments:
            match segment:
                case Text():
                    digest.update(b"t" + segment.text.encode())
                case Image():
                    digest.update(b"i" + segment.sha256.encode())
                case Response():
                    digest.update(b"r" + repr(segment.token_ids or segment.text).encode())
            digest.update(b"\x00")
        return digest.hexdigest()


@dataclass(frozen=True)
class Renderer:
    """Renders the prompt of a turn."""

    agent: AgentParams
    observation: ObservationParams
    think_prefix: bool = False

    @property
    def opens_thinking(self) -> bool:
        """Whether a prompt ends with `<think>`, so that a response begins within its reasoning."""
        return self.think_prefix and protocol(self.agent.protocol).thinks

    def prompt(self, task: Task, turns: list[Turn], current: Observation) -> Prompt:
        """The prompt of turn `len(turns)`: the policy sees `current` after the earlier `turns`."""
        agent_protocol = protocol(self.agent.protocol)
        segments: list[Segment] = [Text(f"{IM_START}system\n{agent_protocol.system(self.agent)}{IM_END}\n")]
        opening = "<think>\n" if self.opens_thinking else ""
        messages = agent_protocol.context(TurnContext(self.agent, self.observation, task, turns, current))
        for message, following in zip(messages, [*messages[1:], None], strict=True):
            before = "" if message.is_excerpt else f"{IM_START}user\n"
            for part in message.parts:
                match part:
                    case Turn():
                        segments += [Response(tuple(part.token_ids), part.response), Text("\n")]
                    case Image():
                        segments += [*([Text(before)] if before else []), part]
                    case str():
                        segments.append(Text(before + plain(part)))
                before = ""
            if message.is_response:
                continue
            if message.is_excerpt:
                segments.append(Text(f"{IM_END}\n"))
                continue
            is_opened = following is None or following.is_response
            segments.append(Text(f"{IM_END}\n{IM_START}assistant\n{opening if is_opened else ''}"))
        return Prompt(tuple(segments))
