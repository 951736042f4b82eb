"""Any OpenAI-compatible endpoint as a policy: for example a teacher of 235B parameters behind vLLM, or a public API.

The endpoint may use another tokenizer, so completions have no ids, and training tokenizes their text. Answers are not
cached by content, as a judge's are, because the journal keeps finished episodes.
"""

from __future__ import annotations

import io
from pathlib import Path

from PIL import Image as PILImage

from components.agent.policy import Completion, Request, RequestRefusedError
from components.agent.rendering import Prompt, Response, Text
from components.endpoint import Endpoint, EndpointError, RequestRefused, Spent
from components.params import EndpointParams
from components.policies.chat import as_messages
from components.records import Image
from components.redaction import redacted

__all__ = ["EndpointError", "EndpointPolicy"]

CHARACTERS_PER_TOKEN = 3.5
PIXELS_PER_TOKEN = 32 * 32


class EndpointPolicy:
    """A policy; use it inside of `async with`. `version` is the model's name."""

    def __init__(self, params: EndpointParams, ledger: Path) -> None:
        """
        Args:
            ledger: the file that records the money and tokens spent.
        """
        self.version = params.model
        self._endpoint = Endpoint(params, ledger)

    @property
    def spent(self) -> Spent:
        """What was spent so far, over all restarts."""
        return self._endpoint.spent

    async def __aenter__(self) -> EndpointPolicy:
        """Connect.

        Raises:
            EndpointError: the key is not in the environment.
        """
        await self._endpoint.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._endpoint.__aexit__(*exc)

    def prompt_tokens(self, prompt: Prompt) -> int:
        """An estimate, because the endpoint's tokenizer is unknown."""
        total = 0.0
        for segment in prompt.segments:
            match segment:
                case Text() | Response():
                    total += len(segment.text) / CHARACTERS_PER_TOKEN
                case Image():
                    width, height = PILImage.open(io.BytesIO(segment.data)).size
                    total += width * height / PIXELS_PER_TOKEN
        return round(total)

    async def complete(self, request: Request) -> Completion:
        """Sample a response. The request's clock stands while the request waits for `max_in_flight`, for
        `requests_per_minute` or before a retry.

        Raises:
            RequestRefusedError: the endpoint refused the request, or its content filter cut the answer. This answer is
                in the ledger, and in no episode's bill.
            EndpointError: all retries failed, the budget is spent, or the endpoint cannot be used.
        """
        sampling = request.sampling
        try:
            answer = await self._endpoint.ask(
                as_messages(request.prompt),
                max_tokens=request.max_tokens,
                temperature=sampling.temperature,
                top_p=sampling.top_p,
                top_k=sampling.top_k,
                seed=request.seed % 2**63,  # OpenAI and vLLM take signed 64 bits
                waiting=request.clock.stopped,
            )
        except RequestRefused as error:
            raise RequestRefusedError(str(error)) from error
        if answer.filtered:
            params = self._endpoint.params
            raise RequestRefusedError(
                f"the content filter of {params.model} at {redacted(params.url)} cut its answer (finish_reason: "
                "content_filter): change the filter's settings, or leave out the task"
            )
        return Completion([], [], answer.text, answer.finish_reason, answer.completion_tokens, answer.usd)
