"""A small real model: trajectories that it sampled, and updates on them. The tests of training share these."""

import copy

import torch

from components.model import VLM, Encoder
from components.params import ImageCacheParams, Params, RLParams, SamplingParams, parse
from components.policies.generation import Row, generate_batch
from components.records import Reward, Termination, Trajectory, Turn
from components.rollout import Group
from components.training.objectives import UpdateContext, UpdateStats, objective_of
from components.training.objectives.policy_gradient import PolicyGradient, TurnSample, turn_samples
from components.training.workers import SINGLE_PROCESS, Workers
from tests.samples import raw_recipe
from tests.training.objective_kinds import objective_classes
from tests.vlm import AGENT, TASK, observation, renderer

RL = RLParams(
    short={"iterations": 1, "max_steps": 2},
    long={"iterations": 1, "max_steps": 2},
    effective_groups=1,
    max_sampled_groups=1,
    temperature=0.9,
    lr=1e-3,
    batch_turns=64,
    weight_decay=0.0,
)
ANY_GAP = {"max_logprob_gap": 100.0, "max_mean_logprob_gap": 100.0}
POLICY_GRADIENTS = [name for name, kind in objective_classes().items() if issubclass(kind, PolicyGradient)]


def recipe_with(rl: RLParams) -> Params:
    """A small recipe with these parameters of RL."""
    return parse(raw_recipe()).model_copy(update={"agent": AGENT, "rl": rl})


def update(
    vlm: VLM,
    groups: list[Group],
    rl: RLParams,
    optimizer: torch.optim.Optimizer,
    reference: VLM | None = None,
    shown: list[Trajectory] | None = None,
    workers: Workers = SINGLE_PROCESS,
    image_cache: ImageCacheParams | None = None,
) -> UpdateStats:
    """An update with the objective that `rl` names; the reference is passed on only if the objective needs one."""
    recipe = recipe_with(rl)
    objective = objective_of(recipe)
    context = UpdateContext(
        vlm,
        Encoder(vlm, image_cache),
        recipe,
        optimizer,
        seed=5,
        reference=reference if objective.needs_reference else None,
        demonstrations=shown or [],
        workers=workers,
    )
    return objective.update(context, groups)


def weights_after(vlm, group: Group, params: RLParams = RL) -> tuple[torch.Tensor, object]:
    model = copy.deepcopy(vlm)
    model.freeze_vision()
    optimizer = torch.optim.SGD(model.trainable(), lr=0.1)
    stats = update(model, [group], params, optimizer, vlm)
    return torch.cat([p.detach().flatten() for p in model.trainable()]), stats


def samples_of(group: Group, encoder: Encoder, rl: RLParams) -> list[TurnSample]:
    """The turns of a group that the objective learns from."""
    objective = objective_of(recipe_with(rl))
    assert isinstance(objective, PolicyGradient)
    return turn_samples([group], renderer(), encoder, objective)


def roll(
    vlm, encoder: Encoder, attempts: int, turns_each: list[int], sampling: SamplingParams = RL.sampling
) -> list[Trajectory]:
    """Trajectories with really sampled responses; the pages are noise."""
    trajectories = []
    for attempt in range(attempts):
        turns: list[Turn] = []
        for index in range(turns_each[attempt % len(turns_each)]):
            shown = observation(10 * attempt + index)
            prompt = renderer().prompt(TASK, turns, shown)
            done = generate_batch(vlm, encoder, [Row(encoder.encode(prompt), sampling, 8, seed=100 * attempt + index)])[
                0
            ]
            turns.append(
                Turn(
                    index=index,
                    observation=shown,
                    prompt_sha256=prompt.sha256,
                    prompt_tokens=1,
                    response=done.text,
                    token_ids=done.token_ids,
                    logprobs=done.logprobs,
                    finish_reason=done.finish_reason,
                    tool_calls=[],
                    feedback=[f"Succeed: {index}"],
                )
            )
        trajectories.append(
            Trajectory(
                trajectory_id=str(attempt),
                task=TASK,
                attempt=attempt,
                policy="p",
                protocol="openwebrl",
                seed=0,
                turns=turns,
                termination=Termination.DONE,
                answer="a",
            )
        )
    return trajectories


def group_of(trajectories: list[Trajectory], values: list[float], masked: set[int] = frozenset()) -> Group:
    rewards = [
        Reward(trajectory_id=t.trajectory_id, value=v, masked=i in masked, format_ok=True)
        for i, (t, v) in enumerate(zip(trajectories, values, strict=True))
    ]
    return Group(TASK, trajectories, rewards)


def shifted(trajectories: list[Trajectory], by: float) -> list[Trajectory]:
    """As a server would record them that is off by a constant on each token."""
    return [
        one.model_copy(
            update={"turns": [t.model_copy(update={"logprobs": [p + by for p in t.logprobs]}) for t in one.turns]}
        )
        for one in trajectories
    ]
