"""The served policy: prompts go to vLLM as the ids that the trainer will encode, answers come back as ids.

The server expands image placeholders itself. What it made of a prompt comes back with the answer and is compared with
what the trainer makes of it: a difference stops the run, since training on it would be training on something else.
"""

from __future__ import annotations

import asyncio
import base64
from itertools import islice

from components.agent.policy import Completion, Request
from components.agent.rendering import Prompt, Text
from components.policies.encoding import Encoder
from components.policies.vllm.fleet import Fleet


class ServerMismatch(RuntimeError):
    """The server saw other tokens or pixels than the trainer will see."""


class VLLMPolicy:
    """A policy behind a `Fleet`."""

    def __init__(self, fleet: Fleet, version: str, encoder: Encoder) -> None:
        self.version = version
        self._fleet = fleet
        self._encoder = encoder

    def prompt_tokens(self, prompt: Prompt) -> int:
        return self._encoder.length(prompt)

    async def complete(self, request: Request) -> Completion:
        """Sample a response.

        Raises:
            ServerMismatch: the server saw other tokens, or other pixels.
            ServerError: no server answers any more, or the request was refused.
        """
        encoder, sampling = self._encoder, request.sampling
        wanted = encoder.encode(request.prompt)
        images = [await asyncio.to_thread(encoder.vision.as_seen, image) for image in wanted.images]
        answer = await self._fleet.generate(
            {
                "prompt": encoder.folded(wanted),
                "images": [base64.b64encode(image.png).decode() for image in images],
                "sampling": {
                    "temperature": sampling.temperature,
                    "top_p": sampling.top_p,
                    "top_k": sampling.top_k,
                    "max_tokens": request.max_tokens,
                    "seed": request.seed % 2**63,
                    "stop_token_ids": [encoder.end_id],
                },
                "unsayable": encoder.unsayable,
            },
            _kinship(request.prompt),
            request.clock,
        )
        if answer["prompt"] != wanted.ids:
            raise ServerMismatch(
                f"{_difference(answer['prompt'], wanted.ids)}: the server's transformers must be the trainer's "
                "(requirements/vllm.txt), and its model this one"
            )
        if answer["images"] != [image.sha256 for image in images]:
            raise ServerMismatch(
                f"the server decoded other pixels from {len(images)} images than the trainer: "
                "its Pillow must be the trainer's (requirements/vllm.txt)"
            )
        ids = answer["token_ids"]
        return Completion(ids, answer["logprobs"], encoder.decode(ids), answer["finish_reason"])


def _kinship(prompt: Prompt) -> int:
    """Equal for the turns of all attempts at a task: their prompts begin with it."""
    texts = (segment.text for segment in prompt.segments if isinstance(segment, Text))
    return hash(tuple(islice(texts, 2)))


def _difference(seen: list[int], wanted: list[int]) -> str:
    same = next((index for index, (a, b) in enumerate(zip(seen, wanted, strict=False)) if a != b), None)
    where = f"differ first at token {same}" if same is not None else "are not equally many"
    return f"the server saw {len(seen)} tokens and the trainer encodes {len(wanted)}, which {where}"
