"""Finds the tokens that training made less likely. It scores the successes of an earlier policy under a later policy.

RL has no gradient on a token of which the policy is certain. So if updates of shared weights make the token less
likely, nothing corrects this until another token is sampled. A mean KL hides the change: one token of forty whose
probability falls from 1.00 to 0.40 spoils most episodes. The result names each token and the text before it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from components.agent import Renderer
from components.memory import free_models
from components.model import VLM, Encoder
from components.params import Params
from components.records import Outcome, Trajectory, Verdict
from components.store import iter_named_table
from components.training.agreement import policy_sample
from components.training.forward import PLAIN, Forward, score

CONTEXT = 6
"""Tokens before a token that are its context: changes after the same text are counted together."""


@dataclass(frozen=True)
class TokenDrift:
    """One token after one text, over all its places in the trajectories. Probabilities are geometric means of 1."""

    context: str
    token: str
    places: int
    nats: float
    """Fall of the log-probability, summed over the places; below 0 if the token became more likely."""
    before: float
    after: float


@dataclass(frozen=True)
class FamilyDrift:
    """The log-probability of a family's successes under both policies, in nats per turn."""

    family: str
    turns: int
    before: float
    after: float


@dataclass(frozen=True)
class Drift:
    """How a later policy scores the successes of an earlier one. The tokens with the largest falls come first."""

    tokens: list[TokenDrift]
    families: list[FamilyDrift]


class NoSuccess(ValueError):
    """Episodes without a success whose tokens a model wrote."""


def read_successes(episodes: Path) -> list[Trajectory]:
    """The successes among the trajectories of a folder, by the verdicts in the same folder.

    Raises:
        FileNotFoundError: a table is missing.
        UnreadableTable: a table is damaged.
        NoSuccess: no success has a token.
    """
    table = episodes / "trajectories.parquet"
    if not table.is_file():
        raise FileNotFoundError(f"{episodes} has no trajectories.parquet: name another folder with --episodes")
    trajectories = [*iter_named_table(table, Trajectory)]
    verdicts = iter_named_table(episodes / "verdicts.parquet", Verdict)
    successes = {verdict.trajectory_id for verdict in verdicts if verdict.outcome is Outcome.SUCCESS}
    chosen = [trajectory for trajectory in trajectories if trajectory.trajectory_id in successes]
    if not any(turn.token_ids for trajectory in chosen for turn in trajectory.turns):
        raise NoSuccess(f"{episodes} has no success of a model, so there is no token to compare")
    return chosen


def drift(before: Path, after: Path, trajectories: Sequence[Trajectory], params: Params) -> Drift:
    """Score the tokens of trajectories under two policies, at temperature 1.

    Args:
        before: the directory of the policy that the trajectories are of.
        after: the directory of the later policy.

    Raises:
        TrainerMismatch: a prompt does not render to what the policy saw.
    """
    turns = [(trajectory, turn) for trajectory in trajectories for turn in trajectory.turns if turn.token_ids]
    scores: list[list[list[float]]] = []
    for path in (before, after):
        vlm = VLM.load(path, params.model)
        vlm.model.eval()
        encoder = Encoder(vlm, params.model.image_cache)
        renderer = Renderer(params.agent, params.observation, params.model.think_prefix)
        samples = [policy_sample(trajectory, turn, renderer, encoder) for trajectory, turn in turns]
        logprobs = score(vlm, encoder, samples, PLAIN, params.sft.micro_batch_tokens, Forward())
        scores.append([logprobs_T.tolist() for logprobs_T in logprobs])
        tokenizer = encoder.tokenizer
        del vlm, encoder, samples, logprobs
        free_models()  # memory may hold only one model at a time
    places: dict[tuple[str, str], list[tuple[float, float]]] = {}
    sums: dict[str, tuple[int, float, float]] = {}
    for (trajectory, turn), old, new in zip(turns, *scores, strict=True):
        ids = turn.token_ids
        for at, pair in enumerate(zip(old, new, strict=True)):
            context, token = tokenizer.batch_decode([ids[max(0, at - CONTEXT) : at], [ids[at]]])
            places.setdefault((context, token), []).append(pair)
        count, old_sum, new_sum = sums.get(trajectory.task.family, (0, 0.0, 0.0))
        sums[trajectory.task.family] = count + 1, old_sum + sum(old), new_sum + sum(new)
    tokens = [_token(context, token, pairs) for (context, token), pairs in places.items()]
    families = [FamilyDrift(name, n, old / n, new / n) for name, (n, old, new) in sums.items()]
    return Drift(
        sorted(tokens, key=lambda token: -token.nats), sorted(families, key=lambda family: family.after - family.before)
    )


def _token(context: str, token: str, pairs: Sequence[tuple[float, float]]) -> TokenDrift:
    before, after = (sum(values) for values in zip(*pairs, strict=True))
    n = len(pairs)
    return TokenDrift(context, token, n, before - after, math.exp(before / n), math.exp(after / n))
