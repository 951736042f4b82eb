"""The judge model: what it reads and learns, and that it cannot gain by rambling."""

import asyncio

import pytest

from components.agent.rendering import Text
from components.judge import JudgeClients, distilled, parse_verdict, rules_verdict
from components.judge.distilled import DistilledJudge, hold_out, render, training_sample
from components.judge.judges import DISTILLED, judge_named
from components.judge.rules import rationale, without_references
from components.model import Encoder
from components.params import ImageCacheParams
from components.records import Outcome, Termination, Verdict
from tests.judge.webarena_episodes import episode, ours
from tests.samples import a_task, a_trajectory, a_verdict, recipe
from tests.vlm import random_vlm

PARAMS = recipe(agent__prompt="compact", judge__distill__max_response_tokens=6)


def test_the_prompt_is_chatml_with_the_last_screenshots_after_the_history():
    segments = render(a_trajectory(turns=2), PARAMS).segments
    assert isinstance(segments[0], Text)
    assert segments[0].text.startswith(
        "<|im_start|>system\nDid the agent do the task?<|im_end|>\n<|im_start|>user\nasked:"
    )
    assert segments[-1] == Text("<|im_end|>\n<|im_start|>assistant\n")
    assert 1 <= len(segments[1:-1]) <= PARAMS.judge.distill.screenshots


def test_the_judge_learns_to_write_verdicts_that_the_parser_reads():
    encoder = Encoder(random_vlm())
    trajectory = a_trajectory(turns=2, site_reward=1.0)
    verdict = rules_verdict(trajectory)
    sample = training_sample(trajectory, verdict, PARAMS, encoder)
    assert sample.response[-1] == encoder.end_id
    assert parse_verdict(encoder.decode(sample.response)) == (verdict.outcome, verdict.rationale)


def test_the_judge_learns_no_reference_that_it_does_not_see():
    """Rationales of WebArena's rules name the references, for people."""
    trajectory = episode(ours(4), "It costs $12.", turns=a_trajectory(turns=2).turns)
    verdict = rules_verdict(trajectory)
    label = without_references(trajectory, verdict)
    assert label.rationale == rationale(trajectory) != verdict.rationale
    assert (label.outcome, label.trajectory_id) == (verdict.outcome, verdict.trajectory_id)


def test_other_rationales_are_learned_as_they_are():
    of_site = a_trajectory(turns=2, site_reward=1.0)
    assert without_references(of_site, rules_verdict(of_site)) == rules_verdict(of_site)
    of_webarena = episode(ours(4), "It costs $12.")
    by_model = a_verdict(of_webarena, rationale="The page shows another price.", judge="openwebrl")
    assert without_references(of_webarena, by_model) == by_model


def test_a_verdict_that_was_cut_off_is_unparsed():
    judge = DistilledJudge(random_vlm(), "v", PARAMS)
    trajectories = [a_trajectory(a_task(seed), turns=1) for seed in range(3)]
    verdicts = judge.judge(trajectories)
    assert [v.trajectory_id for v in verdicts] == [t.trajectory_id for t in trajectories]
    assert {v.outcome for v in verdicts} == {Outcome.UNPARSED}
    assert all(v.tokens > 6 and v.latency_s > 0 for v in verdicts)


def test_a_judge_fills_no_disk_cache(tmp_path):
    """The disk is for features that are used again: those of the policy's screenshots."""
    cache = ImageCacheParams(disk_gib=1, directory=str(tmp_path / "features"))
    params = PARAMS.model_copy(update={"model": PARAMS.model.model_copy(update={"image_cache": cache})})
    vlm = random_vlm()
    vlm.freeze_vision()
    DistilledJudge(vlm, "v", params).judge([a_trajectory(turns=1)])
    assert not (tmp_path / "features").exists()


def test_only_episodes_that_need_a_judge_are_judged(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    random_vlm().save(DISTILLED)
    endings = [Termination.ENV_ERROR, Termination.MAX_STEPS, Termination.DONE]
    trajectories = [
        a_trajectory(a_task(seed), turns=1, termination=ending, answer="x" if ending is Termination.DONE else None)
        for seed, ending in enumerate(endings)
    ]
    verdicts: dict[str, Verdict] = {}
    judge = judge_named("distilled", PARAMS, JudgeClients(None, tmp_path))

    def keep(verdict: Verdict) -> None:
        verdicts[verdict.trajectory_id] = verdict

    asyncio.run(judge.judge(trajectories, keep))
    outcomes = [verdicts[trajectory.trajectory_id].outcome for trajectory in trajectories]
    assert outcomes == [Outcome.ERROR, Outcome.FAILURE, Outcome.UNPARSED]
    assert [verdicts[trajectory.trajectory_id].tokens > 0 for trajectory in trajectories] == [False, False, True]
    assert {verdict.judge_version for verdict in verdicts.values()} == {judge.version}


def test_a_judges_version_depends_on_all_that_decides_its_verdicts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    random_vlm().save(DISTILLED)

    def version(name: str, endpoint: dict[str, object] | None = None, **changes: object) -> str:
        values = {"url": "http://127.0.0.1:9/v1", "model": "m", "key_variable": None, **(endpoint or {})}
        params = recipe(judge__model={"endpoint": values}, **changes)
        return judge_named(name, params, JudgeClients(params.judge.model, tmp_path)).version

    asked = [version("webjudge", endpoint) for endpoint in ({}, {"extra": {"a": 1}}, {"url": "http://127.0.0.1:8/v1"})]
    assert len(set(asked)) == 3
    assert version("distilled", agent__prompt="compact") != version("distilled", agent__prompt="full")


def test_tasks_are_held_out_whole_and_the_same_way_every_time():
    tasks = [a_task(seed) for seed in range(20)] * 3
    held = hold_out(tasks, PARAMS.judge.distill, seed=1)
    assert len(held) == round(20 * PARAMS.judge.distill.holdout_share)
    assert held == hold_out(list(reversed(tasks)), PARAMS.judge.distill, seed=1)
    assert held != hold_out(tasks, PARAMS.judge.distill, seed=2)


@pytest.mark.parametrize("tasks, share, held_out", [(2, 0.8, 1), (3, 0.9, 2), (3, 0.1, 1), (10, 0.8, 8)])
def test_a_task_is_left_to_learn_from_and_one_to_measure_on(tasks, share, held_out):
    params = PARAMS.judge.distill.model_copy(update={"holdout_share": share})
    assert len(hold_out([a_task(seed) for seed in range(tasks)], params, seed=0)) == held_out


def test_samples_differ_by_seed_and_the_greedy_verdict_does_not():
    vlm, params = random_vlm(), recipe(agent__prompt="compact", judge__distill__max_response_tokens=12)
    trajectories = [a_trajectory(a_task(seed), turns=1) for seed in range(2)]

    def said(**how: float) -> list[str]:
        return [v.rationale for v in DistilledJudge(vlm, "v", params, **how).judge(trajectories)]

    assert said() == said(seed=7)
    assert said(temperature=1.0, seed=1) == said(temperature=1.0, seed=1)
    assert said(temperature=1.0, seed=1) != said(temperature=1.0, seed=2)


def test_verdicts_that_are_decoded_together_have_a_bound_of_tokens(monkeypatch: pytest.MonkeyPatch):
    vlm, sizes = random_vlm(), []
    trajectories = [a_trajectory(a_task(seed), turns=1) for seed in range(5)]
    length = max(len(Encoder(vlm).encode(render(trajectory, PARAMS)).ids) for trajectory in trajectories) + 6

    expected = [verdict.rationale for verdict in DistilledJudge(vlm, "v", PARAMS).judge(trajectories)]
    generate = distilled.generate_batch
    monkeypatch.setattr(distilled, "generate_batch", lambda *args: sizes.append(len(args[2])) or generate(*args))
    for tokens, expected_sizes in [(2 * length, [2, 2, 1]), (1, [1] * 5), (5 * length, [5])]:
        sizes.clear()
        params = recipe(
            agent__prompt="compact", judge__distill__max_response_tokens=6, judge__distill__decoding_tokens=tokens
        )
        assert [verdict.rationale for verdict in DistilledJudge(vlm, "v", params).judge(trajectories)] == expected
        assert sizes == expected_sizes
