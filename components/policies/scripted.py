"""The scripted teacher as a policy: its decisions come from an oracle that looks at the page, its answers are text.

Another model's tokens mean nothing to this one's tokenizer, so a teacher's completion has no ids and no
log-probabilities; training tokenizes its text.
"""

from __future__ import annotations

from components.agent import Completion, EpisodeSpec, Prompt, Request
from components.agent.protocols import protocol
from components.browser import Environment, parse_elements
from components.params import ProtocolName
from components.sites import Teacher


class ScriptedTeacher:
    """One episode's teacher. The only policy that may look at the DOM."""

    version = "scripted"

    def __init__(
        self, session: Environment, spec: EpisodeSpec, noise: float, speaks: ProtocolName = "openwebrl"
    ) -> None:
        write = protocol(speaks).write
        if write is None:
            raise ValueError(f"the scripted teacher does not speak agent.protocol = {speaks}; use openwebrl or webgym")
        self._write = write
        self._session = session
        self._teacher = Teacher(spec.task, spec.attempt, spec.seed, noise)

    def prompt_tokens(self, prompt: Prompt) -> int:
        """A script has no context to fill."""
        return 0

    async def complete(self, request: Request) -> Completion:
        turn = self._teacher.next(parse_elements(await self._session.oracle()))
        return Completion([], [], self._write(turn.thought, turn.calls), "stop")
