"""The distilled judge while it rewards RL: in the process of the stage, or on vLLM servers of its own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from components.agent import Policy, Request
from components.judge.distilled import DistilledJudge, render, verdict_of
from components.judge.reward import JudgeFn
from components.model import VLM, Encoder
from components.params import Params, SamplingParams, VLLMParams
from components.policies.vllm import Fleet, ServerSettings, VLLMPolicy
from components.records import Outcome, Trajectory, Verdict


@asynccontextmanager
async def open_distilled(path: Path, version: str, params: Params, work: Path) -> AsyncIterator[JudgeFn]:
    """The distilled judge, on the servers of `judge.distill.vllm` if the recipe has any.

    Args:
        path: the judge's directory.
        version: for its verdicts.
        work: a directory for the servers' logs.

    Raises:
        ServerError: a server does not start or cannot be used.
    """
    servers = params.judge.distill.vllm
    if servers is None:
        yield DistilledJudge(VLM.load(path, params.model), version, params)
        return
    async with Fleet(path, judge_settings(params, servers), work / "judge") as fleet:
        yield ServedJudge(VLLMPolicy(fleet, version, Encoder(VLM.without_weights(path))), params)


def judge_settings(params: Params, servers: VLLMParams) -> ServerSettings:
    """What the servers of the distilled judge have in common."""
    model = params.model.model_copy(update={"lora": None})  # a trained judge is whole
    return ServerSettings(model, servers, longest_question(params), params.judge.distill.screenshots)


def longest_question(params: Params) -> int:
    """Tokens of the longest question with its answer that servers must take."""
    return params.agent.max_context_tokens + params.judge.distill.max_response_tokens


class ServedJudge:
    """Judges trajectories by requests to servers, greedily, each by itself. A verdict may differ from that of
    `DistilledJudge` where the last bits of both engines differ."""

    def __init__(self, policy: Policy, params: Params) -> None:
        """
        Args:
            policy: answers as the judge; its version is that of the verdicts.
        """
        self._policy, self._params = policy, params

    async def __call__(self, trajectories: list[Trajectory]) -> list[Verdict]:
        """One verdict per trajectory, in order. A question that is too long for the servers has no verdict.

        Raises:
            ServerError: no server answers any more.
        """
        return await asyncio.gather(*(self._verdict(trajectory) for trajectory in trajectories))

    async def _verdict(self, trajectory: Trajectory) -> Verdict:
        prompt, limit = render(trajectory, self._params), self._params.judge.distill.max_response_tokens
        tokens, began = self._policy.prompt_tokens(prompt), time.monotonic()
        if tokens + limit > (most := longest_question(self._params)):
            return Verdict(
                trajectory_id=trajectory.trajectory_id,
                outcome=Outcome.UNPARSED,
                rationale=f"the question has {tokens} tokens, and servers take {most - limit}: raise "
                "agent.max_context_tokens or lower judge.distill.screenshots",
                judge="distilled",
                judge_version=self._policy.version,
            )
        request = Request(prompt, (), SamplingParams(temperature=0.0), limit, 0)
        completion = await self._policy.complete(request)
        return verdict_of(trajectory, completion, self._policy.version, tokens, time.monotonic() - began)
