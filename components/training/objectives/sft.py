"""Behaviour cloning of trajectories (OpenWebRL, section 4.2; WebAgent-R1, section 2.2; BrowserAgent, section 2.4).

The loss is that of `objectives.supervised`: one sample per turn, whose prompt is the serialized history before it. The
history is conditioned on and not learned. Every weight is 1, so tokens count the same in all turns.

Deviation: WebAgent-R1's formula divides by the turns and not by their tokens, which scales a step's gradient and keeps
its direction. OpenWebRL and BrowserAgent give no formula.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from typing_extensions import override

from components.agent import Renderer
from components.model import Encoder, Sample
from components.params import Params, Shuffle
from components.records import Trajectory
from components.training.objectives.supervised import SupervisedObjective, WeightedSample


@dataclass(frozen=True)
class SFT(SupervisedObjective):
    """Every turn of every trajectory, as a target of weight 1."""

    renderer: Renderer
    shuffle: Shuffle = "turns"

    @classmethod
    def from_params(cls, params: Params) -> Self:
        """The objective as the recipe renders prompts and shuffles."""
        return cls(Renderer(params.agent, params.observation, params.model.think_prefix), params.sft.shuffle)

    @override
    def samples(self, trajectories: Sequence[Trajectory], encoder: Encoder) -> list[list[WeightedSample]]:
        return shuffle_units(self.shuffle, demonstrations(trajectories, self.renderer, encoder))


def demonstrations(
    trajectories: Sequence[Trajectory], renderer: Renderer, encoder: Encoder
) -> list[list[WeightedSample]]:
    """Per trajectory one sample per turn. Text that another model wrote gets this tokenizer's ids, in the history as
    well as in the target, and control tokens in it stay text (`Encoder.target_tokens`)."""
    samples = []
    for trajectory in trajectories:
        turns = [
            turn.model_copy(update={"token_ids": _target_ids(turn.response, renderer, encoder)})
            for turn in trajectory.turns
        ]
        prompts = [renderer.prompt(trajectory.task, turns[: turn.index], turn.observation) for turn in turns]
        samples.append(
            [
                WeightedSample(Sample(encoder.encode(prompt), turn.token_ids))
                for prompt, turn in zip(prompts, turns, strict=True)
            ]
        )
    return samples


def shuffle_units(shuffle: Shuffle, trajectories: Sequence[Sequence[WeightedSample]]) -> list[list[WeightedSample]]:
    """What an epoch shuffles: whole trajectories, or every turn by itself."""
    if shuffle == "trajectories":
        return [list(turns) for turns in trajectories]
    return [[turn] for turns in trajectories for turn in turns]


def _target_ids(response: str, renderer: Renderer, encoder: Encoder) -> list[int]:
    """The response, without an opening tag with which the prompt ends already, and the end token."""
    text = response.removeprefix("<think>").removeprefix("\n") if renderer.opens_thinking else response
    return [*encoder.target_tokens(text), encoder.end_id]
