"""The distilled judge: its prompts, its training samples, its verdicts (OpenWebRL, section 4.3).

It is trained on rationales and verdicts, and decoded greedily. An answer that cannot be parsed is `unparsed`.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterable, Iterator, Sequence

from components.agent import Completion, Prompt
from components.agent.rendering import IM_END, IM_START, Text
from components.judge.prompts import judge_prompt
from components.judge.verdicts import parse_verdict, verdict_text
from components.model import VLM, Encoder, Sample
from components.params import DistillParams, Params, SamplingParams
from components.policies.generation import Row, generate_batch
from components.records import Outcome, Task, Trajectory, Verdict

MAX_CUT = 0.5
"""Share of the answers to be learned that may be longer than the judge's own. Labels of a model may have a few."""


def render(trajectory: Trajectory, params: Params) -> Prompt:
    """The judge's prompt for a trajectory, in ChatML."""
    prompt = judge_prompt(trajectory, params.judge.distill.screenshots, params.agent.prompt)
    return Prompt(
        (
            Text(f"{IM_START}system\n{prompt.system}{IM_END}\n{IM_START}user\n{prompt.text}\n"),
            *prompt.images,
            Text(f"{IM_END}\n{IM_START}assistant\n"),
        )
    )


def target(verdict: Verdict, encoder: Encoder) -> list[int]:
    """The judge's training target for a labelled trajectory: token ids with the end token."""
    return [*encoder.target_tokens(verdict_text(verdict.rationale, verdict.outcome)), encoder.end_id]


def training_sample(trajectory: Trajectory, verdict: Verdict, params: Params, encoder: Encoder) -> Sample:
    """One example of judge distillation."""
    return Sample(encoder.encode(render(trajectory, params)), target(verdict, encoder))


def require_room(verdicts: Iterable[Verdict], encoder: Encoder, limit: int) -> float:
    """The share of labelled answers that are longer than the judge's own may be, 0 to 1. A judge that has learned such
    an answer is cut before its verdict, which is then `unparsed`.

    Args:
        limit: `judge.distill.max_response_tokens`.

    Raises:
        ValueError: it is more than `MAX_CUT`.
    """
    lengths = [len(target(label, encoder)) for label in verdicts if label.outcome in (Outcome.SUCCESS, Outcome.FAILURE)]
    cut = sum(length > limit for length in lengths) / max(len(lengths), 1)
    if cut > MAX_CUT:
        raise ValueError(
            f"judge.distill.max_response_tokens = {limit} cuts {cut:.0%} of the answers that the judge is to learn, "
            f"before their verdict: set it to at least {max(lengths)}, which the longest one has"
        )
    return cut


def hold_out(tasks: Sequence[Task], params: DistillParams, seed: int) -> set[str]:
    """Ids of the tasks whose trajectories measure agreement: a seeded share of the tasks, never of trajectories, and at
    least one, but not all.

    Raises:
        ValueError: there are fewer than two tasks.
    """
    ids = sorted({task.task_id for task in tasks})
    if len(ids) < 2:
        raise ValueError(
            f"the policy's attempts at {len(ids)} tasks have a label of success or failure, and the judge needs two "
            "tasks, one to learn from and one to be measured on: raise judge.distill.rollout_tasks or "
            "judge.distill.rollout_attempts"
        )
    random.Random(seed).shuffle(ids)
    return set(ids[: min(max(1, round(len(ids) * params.holdout_share)), len(ids) - 1)])


def verdict_of(
    trajectory: Trajectory, completion: Completion, version: str, prompt_tokens: int, latency_s: float
) -> Verdict:
    """The verdict in the judge's response; `version` is the judge's."""
    outcome, rationale = parse_verdict(completion.text, truncated=completion.finish_reason == "length")
    return Verdict(
        trajectory_id=trajectory.trajectory_id,
        outcome=outcome,
        rationale=rationale,
        judge="distilled",
        judge_version=version,
        tokens=prompt_tokens + len(completion.token_ids),
        latency_s=latency_s,
    )


class DistilledJudge:
    """Judges trajectories with a model in this process, in batches; greedily at temperature 0."""

    def __init__(
        self, vlm: VLM, version: str, params: Params, batch: int = 32, temperature: float = 0.0, seed: int = 0
    ) -> None:
        self.vlm = vlm
        self.version = version
        self.params = params
        cache = params.model.image_cache.model_copy(update={"disk_gib": 0.0, "directory": None})
        self.encoder = Encoder(vlm, cache)  # a judge sees a screenshot once, and would fill the policy's disk cache
        self.batch = batch
        self.sampling = SamplingParams(temperature=temperature)
        self.seed = seed
        self._lock = asyncio.Lock()

    async def __call__(self, trajectories: list[Trajectory]) -> list[Verdict]:
        """One verdict per trajectory, in order. Calls wait for one another, and no batch has questions of two calls, so
        that a verdict does not depend on what else is asked at the time."""
        async with self._lock:
            return await asyncio.to_thread(self.judge, trajectories)

    def judge(self, trajectories: Sequence[Trajectory]) -> list[Verdict]:
        """One verdict per trajectory, in order; blocks the thread."""
        verdicts = []
        started = time.monotonic()
        for batch in self._batches(trajectories):
            completions = generate_batch(self.vlm, self.encoder, [row for _, row in batch])
            latency_s = (time.monotonic() - started) / len(batch)
            verdicts += [
                verdict_of(trajectory, completion, self.version, len(row.prompt.ids), latency_s)
                for (trajectory, row), completion in zip(batch, completions, strict=True)
            ]
            started = time.monotonic()
        return verdicts

    def _batches(self, trajectories: Sequence[Trajectory]) -> Iterator[list[tuple[Trajectory, Row]]]:
        """The questions in order, in batches of at most `batch` rows and `decoding_tokens` padded tokens.

        A question that is longer than that is a batch of its own.
        """
        distill = self.params.judge.distill
        batch: list[tuple[Trajectory, Row]] = []
        longest = 0
        for trajectory in trajectories:
            prompt = self.encoder.encode(render(trajectory, self.params))
            row = Row(prompt, self.sampling, distill.max_response_tokens, self.seed)
            longest = max(longest, len(prompt.ids) + distill.max_response_tokens)
            if batch and (len(batch) == self.batch or (len(batch) + 1) * longest > distill.decoding_tokens):
                yield batch
                batch, longest = [], len(prompt.ids) + distill.max_response_tokens
            batch.append((trajectory, row))
        if batch:
            yield batch
