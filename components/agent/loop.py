"""The episode loop: observe, answer, act, until the agent says `done` or a limit ends it (OpenWebRL, section 4.1)."""

from __future__ import annotations

import asyncio
import hashlib
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from components.agent.policy import Clock, Completion, Policy, Request
from components.agent.protocols import protocol
from components.agent.rendering import Renderer
from components.browser import BlockedError, EnvError, EnvInitError, Environment, SandboxError
from components.params import AgentParams, SamplingParams
from components.records import Ending, Observation, Probe, Task, Termination, Trajectory, Turn, trajectory_id


@dataclass(frozen=True)
class EpisodeSpec:
    """One episode to run."""

    task: Task
    attempt: int
    policy_version: str
    seed: int

    @property
    def trajectory_id(self) -> str:
        return trajectory_id(self.task.task_id, self.attempt, self.policy_version, self.seed)


def no_probes(task: Task, final_url: str) -> Sequence[Probe]:
    """Nothing to ask of pages at the end of an episode."""
    return ()


@dataclass(frozen=True)
class EpisodeSettings:
    """What the episodes of a rollout share: how the policy is asked, what bounds them, and what a task's rule wants to
    know of pages once the agent has said `done` (given the task and the address of the page that it left)."""

    renderer: Renderer
    agent: AgentParams
    sampling: SamplingParams
    max_steps: int
    max_response_tokens: int
    probes: Callable[[Task, str], Sequence[Probe]] = no_probes


@dataclass
class _Episode:
    """What an episode has so far: kept when it is cut short."""

    turns: list[Turn] = field(default_factory=list)
    answer: str | None = None
    final: Observation | None = None
    site_reward: float | None = None
    ending: Ending | None = None
    diagnostics: dict[str, Any] = field(default_factory=dict)


def trajectory_of(
    spec: EpisodeSpec,
    protocol: str,
    termination: Termination,
    diagnostics: dict[str, Any],
    turns: list[Turn] | None = None,
    **found: Any,
) -> Trajectory:
    """The record of an episode that ended; `found` is what it found out: answer, reward, last screenshot."""
    return Trajectory(
        trajectory_id=spec.trajectory_id,
        task=spec.task,
        attempt=spec.attempt,
        policy=spec.policy_version,
        protocol=protocol,
        seed=spec.seed,
        turns=turns or [],
        termination=termination,
        diagnostics=diagnostics,
        **found,
    )


def _bill(diagnostics: dict[str, Any], completion: Completion) -> None:
    """Add up what an endpoint's answers took, whose tokens are in no turn."""
    if completion.tokens is not None:
        diagnostics["response_tokens"] = diagnostics.get("response_tokens", 0) + completion.tokens
    if completion.usd is not None:
        diagnostics["usd"] = round(diagnostics.get("usd", 0.0) + completion.usd, 8)


def turn_seed(episode_seed: int, index: int) -> int:
    """The seed of one turn's draws."""
    return int.from_bytes(hashlib.sha256(f"{episode_seed}:{index}".encode()).digest()[:8], "big")


async def run_episode(
    spec: EpisodeSpec,
    session: Environment,
    policy: Policy,
    settings: EpisodeSettings,
) -> Trajectory:
    """Run one episode to its end. Always returns a trajectory; whatever went wrong is its termination.

    Raises:
        SandboxError: the browser died. Nothing of the episode is worth keeping; run it again.
        whatever the policy raises.
    """
    episode = _Episode()
    started = time.monotonic()
    try:
        async with asyncio.timeout(settings.agent.task_timeout_s) as of_episode:
            termination = await _play(spec, session, policy, settings, episode, of_episode)
    except TimeoutError:
        termination = Termination.TASK_TIMEOUT
    except SandboxError:
        raise
    except BlockedError as error:
        termination = Termination.BLOCKED
        episode.diagnostics["error"] = str(error)
    except EnvInitError as error:
        termination = Termination.ENV_INIT_ERROR
        episode.diagnostics["error"] = str(error)
    except EnvError as error:
        termination = Termination.ENV_ERROR
        episode.diagnostics["error"] = str(error)
        episode.diagnostics["traceback"] = traceback.format_exc(limit=8)
    if termination is Termination.DONE and episode.final is not None:
        episode.ending = await _ending(session, episode.final.url, settings.probes(spec.task, episode.final.url))
    episode.diagnostics["wall_s"] = round(time.monotonic() - started, 3)
    if session.health:
        episode.diagnostics["browser"] = session.health
    if session.requests:
        episode.diagnostics["requests"] = session.requests
    return trajectory_of(
        spec,
        settings.agent.protocol,
        termination,
        episode.diagnostics,
        episode.turns,
        answer=episode.answer,
        site_reward=episode.site_reward,
        final_screenshot=episode.final.screenshot if episode.final else None,
        ending=episode.ending,
    )


async def _play(
    spec: EpisodeSpec,
    session: Environment,
    policy: Policy,
    settings: EpisodeSettings,
    episode: _Episode,
    of_episode: asyncio.Timeout,
) -> Termination:
    agent, most_tokens = settings.agent, settings.max_response_tokens
    spoken = protocol(agent.protocol)
    observation = await session.start(spec.task)
    episode.diagnostics["start"] = session.timings
    format_errors = 0
    for index in range(min(settings.max_steps, spec.task.horizon or settings.max_steps)):
        prompt = settings.renderer.prompt(spec.task, episode.turns, observation)
        prompt_tokens = policy.prompt_tokens(prompt)
        if prompt_tokens + most_tokens > agent.max_context_tokens:
            return Termination.CONTEXT_LENGTH
        asked = time.monotonic()
        request = Request(prompt, tuple(episode.turns), settings.sampling, most_tokens, turn_seed(spec.seed, index))
        try:
            async with asyncio.timeout(agent.inference_timeout_s) as of_turn:
                completion = await policy.complete(replace(request, clock=Clock(of_episode, of_turn)))
        except TimeoutError:
            return Termination.INFERENCE_TIMEOUT
        answered = time.monotonic()
        _bill(episode.diagnostics, completion)
        parsed = spoken.parse(completion.text)
        shown: Observation = observation
        if parsed.error is None:
            result = await session.step(parsed.calls)
            feedback, observation = result.feedback, result.observation
            format_errors = 0
        else:
            result = None
            feedback = [f"Failed: the response could not be read: {parsed.error}. {spoken.reminder}"]
            format_errors += 1
        episode.turns.append(
            Turn(
                index=index,
                observation=shown,
                prompt_sha256=prompt.sha256,
                prompt_tokens=prompt_tokens,
                response=completion.text,
                token_ids=completion.token_ids,
                logprobs=completion.logprobs,
                finish_reason=completion.finish_reason,
                tool_calls=parsed.calls,
                feedback=feedback,
                parse_error=parsed.error,
                timings={"policy": round(answered - asked, 4), **(session.timings if result is not None else {})},
            )
        )
        episode.final = observation
        if result is not None and result.done:
            episode.answer = result.answer
            episode.site_reward = await session.site_reward()
            return Termination.DONE
        if parsed.error is not None and completion.finish_reason == "length":
            return Termination.RESPONSE_LENGTH
        if format_errors >= agent.max_format_errors:
            return Termination.FORMAT_ERROR
    return Termination.MAX_STEPS


async def _ending(session: Environment, url: str, probes: Sequence[Probe]) -> Ending:
    """Ask the rule's questions, each with a limit of its own: the agent's time is over."""
    return Ending(url=url, readings=[await session.read(probe) for probe in probes])


__all__ = ["EpisodeSettings", "EpisodeSpec", "SandboxError", "run_episode", "trajectory_of", "turn_seed"]
