"""M-GRPO (WebAgent-R1, 2.3), filtered cloning (WebGym, 5), RFT (BrowserAgent, 2.4), SFT and the judge, by hand."""

import math
import pickle
from dataclasses import replace
from typing import ClassVar

import pytest
import torch

from components.params import FilteredBCParams, MGRPOParams, MMGRPOParams, RFTParams
from components.plugins import UnknownKindError
from components.records import Image, Observation, Outcome, Reward, Tab, Task, Termination, Trajectory, Turn
from components.rollout import Group, SampledGroups
from components.tasks import mix
from components.training.objectives import class_of, objective_of
from components.training.objectives.filtered_bc import FilteredBC
from components.training.objectives.judge import balanced_weights
from components.training.objectives.m_grpo import MGRPO
from components.training.objectives.mm_grpo import MMGRPO
from components.training.objectives.policy_gradient import PolicyGradient
from components.training.objectives.rft import RFT, select
from components.training.objectives.surrogate import TurnTokens, truncated
from components.training.supervised import part_of_loss
from tests.samples import recipe
from tests.training.objective_kinds import objective_classes

TASK = Task(task_id="t", intent="i", start_url="http://a/", website="a", source="test")


def trajectory(name: str, screens: str) -> Trajectory:
    """One turn per letter; the same letter is the same screenshot."""
    turns = []
    for index, screen in enumerate(screens):
        shown = Observation(
            url="http://a/",
            tabs=[Tab(index=0, title="", url="http://a/", active=True)],
            viewport=(8, 8),
            screenshot=Image.of(screen.encode()),
        )
        turns.append(
            Turn(
                index=index, observation=shown, prompt_sha256="", prompt_tokens=1, response="", token_ids=[],
                logprobs=[], finish_reason="stop", tool_calls=[], feedback=[],
            )
        )  # fmt: skip
    return Trajectory(
        trajectory_id=name, task=TASK, attempt=0, policy="p", protocol="openwebrl", seed=0, turns=turns,
        termination=Termination.DONE,
    )  # fmt: skip


def group(members: dict[str, float | None]) -> Group:
    """Trajectories by their screens, with rewards; None is a masked one."""
    trajectories = [trajectory(f"{index}{screens}", screens) for index, screens in enumerate(members)]
    rewards = [
        Reward(trajectory_id=one.trajectory_id, value=value or 0.0, masked=value is None, format_ok=True)
        for one, value in zip(trajectories, members.values(), strict=True)
    ]
    return Group(TASK, trajectories, rewards)


# ---- what all have in common ----------------------------------------------------------------------------------------


def test_the_recipe_names_an_objective_with_its_parameters():
    objective = objective_of(recipe(rl__objective={"name": "m_grpo", "clip_low": 0.1, "kl": 0.5}))
    assert objective == MGRPO(MGRPOParams(clip_low=0.1, clip_high=0.2, kl=0.5))
    assert objective_of(recipe()) == MMGRPO(MMGRPOParams(clip_low=0.2, clip_high=0.28))
    cloning = objective_of(recipe(rl__objective={"name": "filtered_bc", "drop_repeats": False}))
    assert cloning == FilteredBC(FilteredBCParams(drop_repeats=False))
    capped = objective_of(recipe(rl__objective={"name": "rft", "max_per_source": {"nq": 4}}, seed=7))
    assert capped == RFT(RFTParams(max_per_source={"nq": 4}), seed=7)


def test_each_section_of_an_objective_has_its_class():
    assert list(objective_classes()) == ["filtered_bc", "m_grpo", "mm_grpo", "rft"]
    assert {name: kind.name for name, kind in objective_classes().items()} == {n: n for n in objective_classes()}


def test_a_section_whose_class_is_missing_says_where_it_was_looked_for():
    class Moved(MMGRPOParams):
        objective_class: ClassVar[str] = "components.training.objectives.moved:KIND"

    class Wrong(MMGRPOParams):
        objective_class: ClassVar[str] = "components.params:MMGRPOParams"

    with pytest.raises(UnknownKindError, match=r"^Moved: no objective at components\.training\.objectives\.moved:KIND"):
        class_of(Moved)
    with pytest.raises(UnknownKindError, match=r"^Wrong: components\.params:MMGRPOParams is .*, which is no Objective"):
        class_of(Wrong)


def test_an_objective_says_what_it_needs():
    made = [RFT(), MMGRPO(), MMGRPO(MMGRPOParams(replay=0.1)), MGRPO(), FilteredBC()]
    assert [objective.needs_demonstrations for objective in made] == [True, False, True, False, False]
    objectives = [MGRPO(), MGRPO(MGRPOParams(kl=0)), MMGRPO(), MMGRPO(MMGRPOParams(kl=0.01))]
    assert [objective.needs_reference for objective in objectives] == [True, False, False, True]


@pytest.mark.parametrize("objective", [FilteredBC(), MGRPO(), MMGRPO()])
def test_an_attempt_without_a_turn_counts_in_its_group_and_trains_nothing(objective: PolicyGradient):
    # its context was full before the first turn: the agent's failure, reward 0, not masked
    empty, right = objective.credits(group({"": 0.0, "ab": 1.0}))
    assert empty == []
    assert [credit.advantage > 0 for credit in right] == [True, True]


def test_rejection_fine_tuning_counts_an_attempt_without_a_turn_as_wrong():
    assert [one.trajectory_id for one in select([group({"": 0.0, "ab": 1.0})], None, 0)[0]] == ["1ab"]


# ---- M-GRPO ---------------------------------------------------------------------------------------------------------


def test_m_grpo_weighs_trajectories_alike_and_mm_grpo_turns():
    # rewards 1, 0: mean 0.5, sample std 0.707107, advantages +-0.707106
    one = group({"abcd": 1.0, "e": 0.0, "fg": None})
    long, short, masked = MGRPO().credits(one)
    assert [weight.weight for weight in long] == [0.25] * 4
    assert [weight.advantage for weight in long] == pytest.approx([0.707106] * 4, abs=1e-5)
    assert [(weight.weight, round(weight.advantage, 5)) for weight in short] == [(1.0, -0.70711)]
    assert masked == [None, None]
    assert [[weight and weight.weight for weight in turns] for turns in MMGRPO().credits(one)] == [
        [1.0] * 4, [1.0], [None, None]
    ]  # fmt: skip


def test_the_kl_is_never_negative_and_0_at_the_reference():
    # now -1.0, reference -1.5: gap -0.5, exp(-0.5) + 0.5 - 1 = 0.106531; reference -0.5: exp(0.5) - 0.5 - 1 = 0.148721
    now = torch.tensor([-1.0, -1.0, -1.0])
    tokens = TurnTokens(now, now, reference_T=torch.tensor([-1.5, -0.5, -1.0]))
    loss, stats = MGRPO(MGRPOParams(kl=0.1)).turn_loss(tokens, 2.0)
    assert stats.kl_sum == pytest.approx(0.106531 + 0.148721, abs=1e-5)
    assert loss.item() == pytest.approx(-2.0 + 0.1 * (0.106531 + 0.148721) / 3, abs=1e-6)


def test_the_gradient_of_the_kl_pulls_towards_the_reference():
    now = torch.tensor([-1.0, -1.0], requires_grad=True)
    loss, _ = MGRPO(MGRPOParams(kl=1.0)).turn_loss(TurnTokens(now, now.detach(), torch.tensor([-1.5, -0.5])), 0.0)
    loss.backward()
    # d/d now of (exp(ref - now) - (ref - now) - 1) = 1 - exp(ref - now)
    assert now.grad.tolist() == pytest.approx([(1 - math.exp(-0.5)) / 2, (1 - math.exp(0.5)) / 2], abs=1e-6)


def test_the_kl_gradient_of_a_token_is_bounded_at_a_gap_of_3_nats():
    now = torch.tensor([-3.5, -3.5 - 1e-4, -20.0], requires_grad=True)
    loss, stats = MGRPO(MGRPOParams(kl=1.0)).turn_loss(TurnTokens(now, now.detach(), torch.full((3,), -0.5)), 0.0)
    loss.backward()
    assert now.grad.tolist() == pytest.approx([(1 - math.exp(3)) / 3] * 3, rel=1e-3)
    # gaps 3, 3.0001, 19.5: at 3, exp(3) - 4 = 16.0855; beyond it, exp(3) - 1 = 19.0855 more per nat
    assert stats.kl_sum == pytest.approx(16.0855 + 16.0874 + 16.0855 + 16.5 * 19.0855, rel=1e-4)


def test_without_a_reference_m_grpo_has_mm_grpos_turn_loss():
    now, old = torch.tensor([-1.0, -2.0]), torch.tensor([-1.4, -1.7])
    for advantage in (1.0, -1.0):
        mine, theirs = (
            kind.turn_loss(TurnTokens(now, old), advantage)[0]
            for kind in (MGRPO(MGRPOParams(clip_high=0.28)), MMGRPO())
        )
        assert mine.item() == theirs.item()


# ---- filtered behaviour cloning -------------------------------------------------------------------------------------


def test_filtered_bc_learns_only_effective_turns_of_successes():
    one = group({"aabbc": 1.0, "dde": 0.0, "ff": None, "g": -1.0, "hh": 1.0})
    taught = [[weight is not None for weight in turns] for turns in FilteredBC().credits(one)]
    assert taught == [[False, True, False, True, True], [False] * 3, [False] * 2, [False], [False, True]]
    without = FilteredBC(FilteredBCParams(drop_repeats=False))
    assert [weight is not None for weight in without.credits(one)[0]] == [True] * 5


def test_the_loss_of_filtered_bc_is_the_mean_negative_log_likelihood():
    now = torch.tensor([-1.0, -3.0], requires_grad=True)
    loss, stats = FilteredBC().turn_loss(TurnTokens(now, torch.tensor([-1.0, -3.0])), 1.0)
    loss.backward()
    assert loss.item() == pytest.approx(2.0)
    assert now.grad.tolist() == [-0.5, -0.5]
    assert stats.ratio_sum == pytest.approx(2.0)


@pytest.mark.parametrize(
    "members, by_spread, by_success, by_mixture",
    [
        ({"a": 1.0, "b": 0.0}, True, True, True),
        ({"a": 1.0, "b": -1.0}, True, True, True),
        ({"a": 1.0, "b": 1.0}, False, True, False),
        ({"a": 0.0, "b": 0.0}, False, False, False),
        ({"a": 1.0, "b": None}, False, True, False),
        ({"a": 0.0, "b": 0.0, "c": -1.0}, True, False, False),  # one format error
        ({"a": 0.9, "b": 0.8}, True, True, False),  # right, with other numbers of actions
        ({}, False, False, False),
    ],
)
def test_the_objective_says_which_groups_are_effective(members, by_spread, by_success, by_mixture):
    rules = ((MMGRPO(), by_spread), (MGRPO(), by_spread), (FilteredBC(), by_success), (RFT(), by_mixture))
    for objective, effective in rules:
        ruled = replace(group(members), can_teach=objective.can_learn_from)
        sampled = SampledGroups([pickle.loads(pickle.dumps(ruled))])  # as other ranks get it
        assert bool(sampled.effective) is effective
        chosen, _ = select(sampled.groups, None, 0)
        assert objective.name != "rft" or bool(chosen) is effective


# ---- truncated importance sampling ----------------------------------------------------------------------------------


def test_the_correction_is_capped_from_above_only_and_has_no_gradient():
    trainer = torch.tensor([-1.0, -1.0, -1.0], requires_grad=True)
    weights = truncated(trainer, torch.tensor([-1.0, -0.5, -3.0]), cap=2.0)
    assert weights.tolist() == pytest.approx([1.0, math.exp(-0.5), 2.0])
    assert not weights.requires_grad


def test_a_corrected_token_counts_by_its_weight():
    now = torch.tensor([0.0, 0.0], requires_grad=True)
    tokens = TurnTokens(now, torch.zeros(2), correction_T=torch.tensor([1.0, 0.25]))
    loss, _ = MMGRPO().turn_loss(tokens, 2.0)
    loss.backward()
    assert loss.item() == pytest.approx(-(2.0 + 0.5) / 2)
    assert now.grad.tolist() == pytest.approx([-1.0, -0.25])


# ---- rejection fine-tuning ------------------------------------------------------------------------------------------


def test_rft_keeps_the_longest_right_answer_of_mixed_questions():
    mixed_one = group({"a": 1.0, "bcd": 1.0, "efg": 1.0, "hijkl": 0.0, "mnopqr": None})
    assert [one.trajectory_id for one in select([mixed_one], None, 0)[0]] == ["1bcd"]
    for all_alike in ({"a": 1.0, "b": 1.0}, {"a": 0.0, "b": 0.0}, {"a": 1.0, "b": None}, {"a": None}):
        assert select([group(all_alike)], None, 0)[0] == []


def question(name: str, source: str, *values: float | None) -> Group:
    """Attempts at one question, each of one turn more than the one before."""
    one = group({"abcdefgh"[:turns]: value for turns, value in enumerate(values, 1)})
    task = TASK.model_copy(update={"task_id": name, "source": source})
    named = [
        (t.model_copy(update={"trajectory_id": f"{name}{t.trajectory_id}", "task": task, "attempt": attempt}), r)
        for attempt, (t, r) in enumerate(zip(one.trajectories, one.rewards, strict=True))
    ]
    rewards = [r.model_copy(update={"trajectory_id": t.trajectory_id}) for t, r in named]
    return Group(task, [t for t, _ in named], rewards)


def test_rft_counts_what_each_step_took_from_all_attempts_of_a_round():
    groups = [
        question("nq/1", "nq", 1.0, 1.0, 0.0),
        question("nq/2", "nq", 0.0, 1.0, None),
        question("nq/3", "nq", 0.0, 0.0),
        question("hotpot/1", "hotpot", 1.0, 1.0),
        question("hotpot/2", "hotpot", 0.0, 1.0),
    ]
    chosen, funnel = select(groups, {"nq": 1}, 0)
    assert funnel.figures() == {
        "selection_attempts": 12,
        "selection_masked": 1,
        "selection_question_never_right": 2,
        "selection_question_never_wrong": 2,
        "selection_wrong": 3,
        "selection_not_the_questions_longest": 1,
        "selection_source_cap": 1,
        "selection_chosen": 2,
    }
    assert [one.task.source for one in chosen] == ["nq", "hotpot"]
    uncapped = [one.trajectory_id for one in select(groups, None, 0)[0]]
    assert uncapped == [one.trajectory_id for alone in groups for one in select([alone], None, 0)[0]]


def test_a_share_of_the_demonstrations_is_mixed_in():
    chosen, old = [trajectory("new", "a")], [trajectory(str(index), "b") for index in range(10)]
    both, _ = mix(chosen, old, 0.8, seed=1)
    assert both[0] is chosen[0]
    assert len(both) == 1 + 8
    assert [int(one.trajectory_id) for one in both[1:]] == sorted(int(one.trajectory_id) for one in both[1:])
    assert both == mix(chosen, old, 0.8, seed=1)[0]
    assert both != mix(chosen, old, 0.8, seed=2)[0]


# ---- supervised training and the judge ------------------------------------------------------------------------------


def test_the_supervised_loss_weighs_tokens_and_divides_by_their_number():
    # weights 1 of 2 tokens, 3 of 1: (0.5 + 1.5 + 3 * 2) / 3 = 8/3
    first, second = torch.tensor([-0.5, -1.5], requires_grad=True), torch.tensor([-2.0], requires_grad=True)
    loss = part_of_loss([first, second], [1.0, 3.0], total=3.0)
    loss.backward()
    assert loss.item() == pytest.approx(8 / 3)
    assert first.grad.tolist() == pytest.approx([-1 / 3, -1 / 3])
    assert second.grad.tolist() == pytest.approx([-1.0])
    parts = [part_of_loss([one.detach()], [w], 3.0).item() for one, w in ((first, 1.0), (second, 3.0))]
    assert sum(parts) == pytest.approx(8 / 3)


def test_both_verdicts_of_the_judges_training_weigh_the_same():
    # 2 of 12 tokens are of the success and 10 of the failures: 12 / (2 * 2) = 3, and 12 / (2 * 10) = 3/5
    s, f = Outcome.SUCCESS, Outcome.FAILURE
    assert balanced_weights([f, s, f, f], [4, 2, 3, 3], balance=True) == pytest.approx([0.6, 3, 0.6, 0.6])
    assert balanced_weights([f, s, f, f], [4, 2, 3, 3], balance=False) == [1, 1, 1, 1]
    assert balanced_weights([f, f], [4, 2], balance=True) == [1, 1]
