"""The episode loop: observe, answer, act, until the agent calls `done` or a limit ends it (OpenWebRL, section 4.1).

What the paper leaves open: A response that its token limit cut, but that parses, is acted on; only one that does not
parse ends the episode. The context limit counts the prompt and the longest response that may follow, so an episode ends
before a response that might not fit.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from components.agent.branching import Branch, replay
from components.agent.containment import contained
from components.agent.policy import Completion, Policy, Request, RequestClock, RequestRefusedError, Work
from components.agent.protocols import protocol
from components.agent.rendering import Renderer
from components.browser import BlockedError, EnvError, EnvInitError, Environment, HarnessError, SandboxError
from components.params import AgentParams, SamplingParams
from components.records import (
    Ending,
    Observation,
    Probe,
    StateCheck,
    Task,
    Termination,
    Trajectory,
    Turn,
    trajectory_id,
)


@dataclass(frozen=True)
class EpisodeSpec:
    """One episode to run."""

    task: Task
    attempt: int
    policy_version: str
    seed: int
    branch: Branch | None = None
    """Where the episode begins if it continues another one of the same task; None: on the start page."""

    @property
    def trajectory_id(self) -> str:
        """The id of the trajectory that this episode gives."""
        return trajectory_id(self.task.task_id, self.attempt, self.policy_version, self.seed)


def no_probes(task: Task, final_url: str) -> Sequence[Probe]:
    """The default of `EpisodeSettings.probes`: no page is read at the end of an episode."""
    return ()


def no_listener(turn: Turn) -> None:
    """The default of `EpisodeSettings.on_turn`."""


@dataclass(frozen=True)
class EpisodeSettings:
    """What the episodes of a rollout share."""

    renderer: Renderer
    agent: AgentParams
    sampling: SamplingParams
    max_steps: int
    max_response_tokens: int
    probes: Callable[[Task, str], Sequence[Probe]] = no_probes
    """Given the task and the last page's address after `done`: the pages to read for the task's rule."""
    on_turn: Callable[[Turn], None] = no_listener
    """Called with each turn when it has ended, before the next begins."""


@dataclass
class _Episode:
    """The results of an episode so far. They are recorded even if a limit or an error ends the episode."""

    turns: list[Turn] = field(default_factory=list)
    answer: str | None = None
    final: Observation | None = None
    site_reward: float | None = None
    late_actions: int | None = None
    ending: Ending | None = None
    state_check: StateCheck | None = None
    difference: str | None = None
    """Why a branch could not begin."""
    diagnostics: dict[str, Any] = field(default_factory=dict)


def trajectory_of(
    spec: EpisodeSpec,
    protocol: str,
    termination: Termination,
    diagnostics: dict[str, Any],
    turns: list[Turn] | None = None,
    difference: str | None = None,
    **results: Any,
) -> Trajectory:
    """The record of an episode that ended.

    Args:
        difference: why a branch could not begin.
        results: further fields: answer, reward, last screenshot, ending.
    """
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
        branch_of=spec.branch.point(difference) if spec.branch is not None else None,
        **results,
    )


def _add_cost(diagnostics: dict[str, Any], completion: Completion) -> None:
    """Add up the tokens and the cost of an endpoint's answers, which no turn records, and keep those of each answer:
    an episode that is cut to fewer steps (`benchmarks.step_budgets`) took those of its turns."""
    if completion.tokens is not None or completion.usd is not None:
        diagnostics["bills"] = [*diagnostics.get("bills", []), {"tokens": completion.tokens, "usd": completion.usd}]
    if completion.tokens is not None:
        diagnostics["response_tokens"] = diagnostics.get("response_tokens", 0) + completion.tokens
    if completion.usd is not None:
        diagnostics["usd"] = round(diagnostics.get("usd", 0.0) + completion.usd, 8)


def _add_work(diagnostics: dict[str, Any], work: Work | None) -> None:
    """Add up what the responses took of the policy's time, if it is known."""
    if work is None:
        return
    before = diagnostics.get("work", {})
    diagnostics["work"] = {name: round(before.get(name, 0.0) + seconds, 6) for name, seconds in asdict(work).items()}


def turn_seed(episode_seed: int, index: int) -> int:
    """The seed of one turn's sampling, 64 bits."""
    return int.from_bytes(hashlib.sha256(f"{episode_seed}:{index}".encode()).digest()[:8], "big")


async def run_episode(
    spec: EpisodeSpec,
    session: Environment,
    policy: Policy,
    settings: EpisodeSettings,
) -> Trajectory:
    """Run one episode to its end. Every failure but those below gives a trajectory with the matching termination.

    That includes bugs of the harness: an unexpected exception of the session, of rendering or of parsing ends this
    episode alone, with `Termination.HARNESS_ERROR`. So does an exception of a scripted teacher, whose policy raises it
    as a `HarnessError`.

    Raises:
        SandboxError: the browser died. The caller should run the episode again.
        Exception: any error of the policy but `RequestRefusedError` and those of an environment, unchanged.
    """
    episode = _Episode()
    started = time.monotonic()
    try:
        async with asyncio.timeout(settings.agent.task_timeout_s) as episode_timeout:
            termination = await _play(spec, session, policy, settings, episode, episode_timeout)
        if termination.is_agents_doing:
            with contained("comparing the state with the task"):
                episode.state_check = await session.check_state()
        if termination is Termination.DONE and episode.final is not None:
            episode.ending = await _ending(session, spec.task, episode.final.url, settings)
    except TimeoutError:
        termination = Termination.TASK_TIMEOUT
    except SandboxError:
        raise
    except HarnessError as error:
        termination = Termination.HARNESS_ERROR
        episode.diagnostics |= {"error": str(error), "traceback": error.trace}
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
        episode.difference,
        answer=episode.answer,
        site_reward=episode.site_reward,
        late_actions=episode.late_actions,
        final_screenshot=episode.final.screenshot if episode.final else None,
        ending=episode.ending,
        state_check=episode.state_check,
    )


async def _play(
    spec: EpisodeSpec,
    session: Environment,
    policy: Policy,
    settings: EpisodeSettings,
    episode: _Episode,
    episode_timeout: asyncio.Timeout,
) -> Termination:
    agent, max_tokens = settings.agent, settings.max_response_tokens
    agent_protocol = protocol(agent.protocol)
    with contained("opening the start page"):
        observation = await session.start(spec.task)
    episode.diagnostics["start"] = session.timings
    if spec.branch is not None:
        observation = await _begin_branch(spec.branch, session, observation, settings, episode)
    format_errors = trailing_format_errors(episode.turns)
    for index in range(len(episode.turns), min(settings.max_steps, spec.task.horizon or settings.max_steps)):
        with contained("rendering the prompt"):
            prompt = settings.renderer.prompt(spec.task, episode.turns, observation)
        prompt_tokens = policy.prompt_tokens(prompt)
        if prompt_tokens + max_tokens > agent.max_context_tokens:
            return Termination.CONTEXT_LENGTH
        request_time = time.monotonic()
        request = Request(prompt, tuple(episode.turns), settings.sampling, max_tokens, turn_seed(spec.seed, index))
        try:
            async with asyncio.timeout(agent.inference_timeout_s) as turn_timeout:
                clock = RequestClock(episode_timeout, turn_timeout)
                completion = await policy.complete(replace(request, clock=clock, observation=observation))
        except TimeoutError:
            return Termination.INFERENCE_TIMEOUT
        except RequestRefusedError as error:
            episode.diagnostics["error"] = str(error)
            return Termination.REQUEST_REFUSED
        answer_time = time.monotonic()
        _add_cost(episode.diagnostics, completion)
        _add_work(episode.diagnostics, completion.work)
        with contained("parsing the response"):
            parsed = agent_protocol.parse(completion.text)
        seen: Observation = observation
        if parsed.error is None:
            with contained("a step"):
                result = await session.step(parsed.calls)
            feedback, observation = result.feedback, result.observation
            if result.late_actions is not None:
                episode.late_actions = (episode.late_actions or 0) + result.late_actions
            format_errors = 0
        else:
            result = None
            feedback = [f"Failed: the response could not be read: {parsed.error}. {agent_protocol.reminder}"]
            format_errors += 1
        with contained("recording the turn"):
            episode.turns.append(
                Turn(
                    index=index,
                    observation=seen,
                    prompt_sha256=prompt.sha256,
                    prompt_tokens=prompt_tokens,
                    response=completion.text,
                    token_ids=completion.token_ids,
                    logprobs=completion.logprobs,
                    finish_reason=completion.finish_reason,
                    tool_calls=parsed.calls,
                    feedback=feedback,
                    parse_error=parsed.error,
                    timings={
                        "policy": round(answer_time - request_time, 4),
                        **(session.timings if result is not None else {}),
                    },
                )
            )
            settings.on_turn(episode.turns[-1])
        episode.final = observation
        if result is not None and result.done:
            episode.answer = result.answer
            with contained("reading the reward"):
                episode.site_reward = await session.site_reward()
            return Termination.DONE
        if parsed.error is not None and completion.finish_reason == "length":
            return Termination.RESPONSE_LENGTH
        if format_errors >= agent.max_format_errors:
            return Termination.FORMAT_ERROR
    return Termination.MAX_STEPS


async def _begin_branch(
    branch: Branch, session: Environment, first: Observation, settings: EpisodeSettings, episode: _Episode
) -> Observation:
    """Go on to the branch's turn; the episode then has the shared turns.

    Raises:
        EnvInitError: the state there is not the parent's.
    """
    began = time.monotonic()
    with contained("running the calls of the parent again"):
        replayed = await replay(branch, session, first, settings.renderer)
    episode.diagnostics["replay_s"] = round(time.monotonic() - began, 3)
    if replayed.difference is not None:
        episode.difference = replayed.difference
        raise EnvInitError(f"the branch of {branch.parent.trajectory_id} is dropped: {replayed.difference}")
    episode.turns, episode.late_actions = branch.shared, replayed.late_actions
    return replayed.observation


def trailing_format_errors(turns: Sequence[Turn]) -> int:
    """The number of turns at the end that could not be parsed."""
    return next((count for count, turn in enumerate(reversed(turns)) if turn.parse_error is None), len(turns))


async def _ending(session: Environment, task: Task, url: str, settings: EpisodeSettings) -> Ending:
    """Read the pages for the task's rule. Each read has its own limit; the episode's limit no longer applies."""
    with contained("reading pages for the rule"):
        return Ending(url=url, readings=[await session.read(probe) for probe in settings.probes(task, url)])


__all__ = ["EpisodeSettings", "EpisodeSpec", "SandboxError", "run_episode", "trajectory_of", "turn_seed"]
