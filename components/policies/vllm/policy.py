"""The served policy: vLLM gets prompts as the ids that the trainer will encode, and returns ids.

The server expands image placeholders itself. It returns the expanded prompt and the hashes of the decoded images, which
are compared with the trainer's. A difference stops the run, because training would use other inputs than the rollout.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
from itertools import islice

from components.agent.policy import Completion, Request
from components.agent.rendering import Prompt, Text
from components.model.encoding import Encoder
from components.policies.vllm.fleet import Fleet


class ServerMismatchError(RuntimeError):
    """The server read other tokens or pixels than the trainer will read."""


class VLLMPolicy:
    """A policy on the servers of a `Fleet`."""

    def __init__(self, fleet: Fleet, version: str, encoder: Encoder) -> None:
        self.version = version
        self._fleet = fleet
        self._encoder = encoder

    def prompt_tokens(self, prompt: Prompt) -> int:
        """Number of tokens of a prompt."""
        return self._encoder.length(prompt)

    async def complete(self, request: Request) -> Completion:
        """Sample a response.

        Raises:
            ServerMismatchError: the server read other tokens or other pixels.
            ServerError: no server answers any more, or a server refused the request.
        """
        encoder, sampling = self._encoder, request.sampling
        prompt = encoder.encode(request.prompt)
        images = [await asyncio.to_thread(encoder.vision.for_server, image) for image in prompt.images]
        answer = await self._fleet.generate(
            {
                "prompt": encoder.fold_images(prompt),
                "images": [base64.b64encode(image.png).decode() for image in images],
                "sampling": {
                    "temperature": sampling.temperature,
                    "top_p": sampling.top_p,
                    "top_k": sampling.top_k,
                    "max_tokens": request.max_tokens,
                    "seed": request.seed % 2**63,
                    "stop_token_ids": [encoder.end_id],
                },
                "unsayable": encoder.placeholder_ids,
            },
            _prefix_hash(request.prompt),
            request.clock,
        )
        if answer["prompt"] != prompt.ids:
            raise ServerMismatchError(
                f"{_difference(answer['prompt'], prompt.ids)}: the server needs the trainer's version of transformers "
                "(requirements/vllm.txt) and the same model"
            )
        if answer["images"] != [image.sha256 for image in images]:
            raise ServerMismatchError(
                f"the server decoded other pixels from {len(images)} images than the trainer: "
                "it needs the trainer's version of Pillow (requirements/vllm.txt)"
            )
        ids = answer["token_ids"]
        return Completion(ids, answer["logprobs"], encoder.decode(ids), answer["finish_reason"])


def _prefix_hash(prompt: Prompt) -> int:
    """A hash that is equal for the turns of all attempts at a task, because their prompts begin alike. It is the same
    in every process: it chooses the server, with whose other requests the last bits of a response change."""
    texts = (segment.text for segment in prompt.segments if isinstance(segment, Text))
    return int.from_bytes(hashlib.sha256("\0".join(islice(texts, 2)).encode()).digest()[:8], "big")


def _difference(served: list[int], encoded: list[int]) -> str:
    first = next((index for index, (a, b) in enumerate(zip(served, encoded, strict=False)) if a != b), None)
    difference = f"differ first at token {first}" if first is not None else "differ in number"
    return f"the server read {len(served)} tokens and the trainer encodes {len(encoded)}, which {difference}"
