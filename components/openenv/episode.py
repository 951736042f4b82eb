"""An episode whose policy is at the other end of a connection."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from components.agent import (
    Completion,
    EpisodeSettings,
    EpisodeSpec,
    Prompt,
    Renderer,
    Request,
    run_episode,
    trajectory_of,
)
from components.agent.protocols import protocol
from components.browser import Environments, SandboxError
from components.journal import Journal
from components.judge import probes_of, reward, rules_verdict
from components.openenv.messages import (
    ResetRequest,
    WebAction,
    WebObservation,
    WebState,
    encoded,
    page_of,
    result_of,
)
from components.params import Params, RLParams
from components.pipeline.demonstrations import observed_as
from components.policies.chat import as_messages
from components.records import Image, Task, Termination, ToolCall, Trajectory, Turn
from components.rollout import paced_sessions
from components.rollout.pacing import OpenSession
from components.success import needs_judge, success


class ActionError(ValueError):
    """An action or a reset is not possible now; the message says what is. The episode is as it was."""


class ClientPolicy:
    """A policy that hands each request to a client and waits for its response. The episode's clocks stop meanwhile."""

    def __init__(self, version: str) -> None:
        self.version = version
        self.requests = asyncio.Queue[Request]()
        self.responses = asyncio.Queue[Completion]()

    def prompt_tokens(self, prompt: Prompt) -> int:
        """The client counts its own tokens."""
        return 0

    async def complete(self, request: Request) -> Completion:
        """The client's response."""
        with request.clock.stopped():
            await self.requests.put(request)
            return await self.responses.get()


class EpisodeMaker:
    """What the episodes of a server share.

    Args:
        pool: the browsers, open.
        settings: prompts and limits.
        rl: the keys that rewards depend on.
        open_session: opens an episode's browser instead of the pool, at the recipe's pace.
        journal: gets each trajectory that has ended. New trajectories have other ids than those that are in it.
        keeps_unfinished: whether an episode that is closed before its end is recorded, too, as `aborted`.
        origin: what the diagnostics of recorded trajectories say about the recipe.
    """

    def __init__(
        self,
        pool: Environments,
        settings: EpisodeSettings,
        rl: RLParams,
        open_session: OpenSession | None = None,
        journal: Journal[Trajectory] | None = None,
        keeps_unfinished: bool = False,
        origin: Mapping[str, str] | None = None,
    ) -> None:
        self.settings = settings
        self.rl = rl
        self.open_session: OpenSession = open_session or (lambda spec: pool.session(spec.task))
        self.journal = journal
        self.keeps_unfinished = keeps_unfinished
        self.origin = dict(origin or {})
        self._attempts = Counter(
            trajectory.task.task_id for trajectory in (journal.records if journal is not None else ())
        )

    @classmethod
    def of(
        cls,
        pool: Environments,
        params: Params,
        max_steps: int | None = None,
        journal: Journal[Trajectory] | None = None,
        keeps_unfinished: bool = False,
    ) -> EpisodeMaker:
        """With the prompts, limits and rewards of a recipe.

        Args:
            pool: as above, like `journal` and `keeps_unfinished`.
            max_steps: turns of an episode; None: the recipe's `rl.long.max_steps`.
        """
        agent = params.agent
        settings = EpisodeSettings(
            Renderer(agent, params.observation, params.model.think_prefix),
            agent,
            params.rl.sampling,
            max_steps or params.rl.long.max_steps,
            agent.max_response_tokens,
            probes_of,
        )
        opens, origin = paced_sessions(pool, params.rollout), observed_as(params)
        return cls(pool, settings, params.rl, opens, journal, keeps_unfinished, origin)

    def begin(self, task: Task, request: ResetRequest) -> ClientEpisode:
        """Begin an episode. Its browser opens in the background."""
        attempt = self._attempts[task.task_id]
        self._attempts[task.task_id] += 1
        return ClientEpisode(self, EpisodeSpec(task, attempt, request.policy, request.seed or 0), request)


class ClientEpisode:
    """One episode. `first` opens it, `act` takes each action, `close` ends it early."""

    def __init__(self, maker: EpisodeMaker, spec: EpisodeSpec, request: ResetRequest) -> None:
        self.state = WebState(
            episode_id=request.episode_id or str(uuid.uuid4()), task_id=spec.task.task_id, split=spec.task.split
        )
        self._maker = maker
        self._spec = spec
        self._request = request
        self._protocol = protocol(maker.settings.agent.protocol)
        self._policy = ClientPolicy(spec.policy_version)
        self._turns: list[Turn] = []
        self.trajectory: Trajectory | None = None
        """The record of the episode once it has ended; None if it was closed before, unless the maker keeps it."""
        self._run = asyncio.create_task(self._play())

    @property
    def trajectory_id(self) -> str:
        """Of the episode's trajectory."""
        return self._spec.trajectory_id

    async def first(self) -> WebObservation:
        """The start page. The episode may have ended already, if the page could not be opened.

        Raises:
            Exception: of opening the browser, such as `EpisodeNotStartedError`.
        """
        return await self._next(None)

    async def act(self, action: WebAction) -> WebObservation:
        """The page after an action, or the episode's end.

        Raises:
            ActionError: the episode has ended, or the protocol cannot express the calls.
        """
        if self.state.termination is not None or self._run.done():
            raise ActionError("the episode has ended: send a reset to begin the next one")
        await self._policy.responses.put(Completion([], [], self._response(action), action.finish_reason))
        self.state.step_count += 1
        return await self._next(0.0)

    async def close(self) -> None:
        """End the episode and close its browser. An episode that has not ended is recorded if the maker keeps it."""
        self._run.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await self._run

    def _response(self, action: WebAction) -> str:
        if action.response is not None:
            return action.response
        calls = [ToolCall(name=call.name, arguments=call.arguments) for call in action.calls]
        try:
            return self._protocol.write(action.thought, calls)
        except (KeyError, TypeError, ValueError) as error:
            raise ActionError(f"the protocol {self._protocol.name} cannot express these calls: {error}") from error

    async def _next(self, reward_before_end: float | None) -> WebObservation:
        """Wait for the episode's next request or for its end."""
        waiting = asyncio.ensure_future(self._policy.requests.get())
        try:
            await asyncio.wait([waiting, self._run], return_when=asyncio.FIRST_COMPLETED)
            if waiting.done():
                return self._observed(waiting.result(), reward_before_end)
        finally:
            waiting.cancel()
        return await self._ended(await self._run)

    def _observed(self, request: Request, reward_before_end: float | None) -> WebObservation:
        assert request.observation is not None, "an episode's request has its page"
        return WebObservation(
            reward=reward_before_end,
            instruction=self._spec.task.intent,
            feedback=request.turns[-1].feedback if request.turns else [],
            screenshot=self._screenshot(request.observation.screenshot),
            messages=as_messages(request.prompt) if self._request.messages else None,
            metadata={"task_id": self._spec.task.task_id},
            **page_of(request.observation),
        )

    async def _ended(self, trajectory: Trajectory) -> WebObservation:
        rl = self._maker.rl
        verdict = await asyncio.to_thread(rules_verdict, trajectory) if needs_judge(trajectory) else None
        score = reward(trajectory, verdict, rl.format_error, rl.action_cost)
        self.state.termination = trajectory.termination
        last = trajectory.turns[-1] if trajectory.turns else None
        result = result_of(trajectory, verdict, success(trajectory, verdict))
        return WebObservation(
            done=True,
            reward=None if score.masked else score.value,
            instruction=self._spec.task.intent,
            url=trajectory.ending.url if trajectory.ending else last.observation.url if last else "",
            screenshot=self._screenshot(trajectory.final_screenshot),
            feedback=last.feedback if last else [],
            metadata={"task_id": self._spec.task.task_id, **result},
        )

    def _screenshot(self, image: Image | None) -> str | None:
        return encoded(image) if self._request.screenshot else None

    async def _play(self) -> Trajectory:
        settings = replace(self._maker.settings, on_turn=self._turns.append)
        try:
            async with self._maker.open_session(self._spec) as session:
                trajectory = await run_episode(self._spec, session, self._policy, settings)
        except SandboxError as error:  # the browser died; the client's actions cannot be run again
            trajectory = self._cut_short(Termination.SANDBOX_ERROR, str(error))
        except asyncio.CancelledError:
            if self._maker.keeps_unfinished:
                self._record(self._cut_short(Termination.ABORTED, "the client left before the episode's end"))
            raise
        return self._record(trajectory)

    def _cut_short(self, termination: Termination, error: str) -> Trajectory:
        """The record of the turns so far."""
        protocol_name = self._maker.settings.agent.protocol
        return trajectory_of(self._spec, protocol_name, termination, {"error": error}, self._turns)

    def _record(self, trajectory: Trajectory) -> Trajectory:
        diagnostics = trajectory.diagnostics | self._maker.origin
        self.trajectory = trajectory.model_copy(update={"diagnostics": diagnostics})
        if self._maker.journal is not None:
            self._maker.journal.append(self.trajectory)
        return self.trajectory
