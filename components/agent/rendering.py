"""The one rendering of a conversation, for rollout and training alike.

What a policy sees at turn t is its protocol's choice (`protocols`); how that becomes a prompt is decided here. A prompt
is a list of segments: text, images, and recorded response ids. Responses that are repeated are never tokenised again:
what the policy sampled is what it sees, and what the trainer trains on.

The chat format is ChatML, which all Qwen3-VL models share; `tests/agent/test_rendering.py` holds it to the tokenizer's
own chat template.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

from components.agent.protocols import Scene, protocol
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
    """What the policy answered: the ids that it sampled, none if they are not known here, and their text."""

    token_ids: tuple[int, ...]
    text: str = ""


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
                    total.update(b"r" + repr(segment.token_ids or segment.text).encode())
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
        spoken = protocol(self.agent.protocol)
        segments: list[Segment] = [Text(f"{IM_START}system\n{spoken.system(self.agent)}{IM_END}\n")]
        opening = "<think>\n" if self.think_prefix and spoken.thinks else ""
        for message in spoken.context(Scene(self.agent, self.observation, task, turns, current)):
            if message.is_response:
                (turn,) = message.parts
                segments += [Response(tuple(turn.token_ids), turn.response), Text("\n")]
                continue
            before = f"{IM_START}user\n"
            for part in message.parts:
                if isinstance(part, Image):
                    segments += [*([Text(before)] if before else []), part]
                else:
                    segments.append(Text(before + plain(part)))
                before = ""
            segments.append(Text(f"{IM_END}\n{IM_START}assistant\n{opening}"))
        return Prompt(tuple(segments))
