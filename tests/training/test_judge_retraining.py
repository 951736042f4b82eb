"""The judge that is trained again during RL learns what the auditor says, alike in every run, killed or not."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from components.agent import EpisodeSpec
from components.judge.labelled_trajectories import REHEARSED, LabelledTrajectories
from components.judge.rules import rationale, rules_verdict
from components.model import VLM
from components.params import OptimParams, Params, RetrainParams
from components.records import Outcome, Termination, Trajectory, Verdict
from components.training.audit import ended_by_imprecision
from components.training.judge_retraining import AUDITED, RetrainedJudge, examples, labelled_rollouts
from tests.judge.webarena_episodes import episode, ours
from tests.samples import a_task, a_trajectory, a_verdict, recipe
from tests.training.rl_without_pages import Killed, even_attempts, train

OPTIM = OptimParams(epochs=1, lr=1e-4, batch_size=8)


def with_retraining(retrain: RetrainParams) -> Params:
    params = recipe(agent__prompt="compact", judge__distill__max_response_tokens=24)
    distill = params.judge.distill.model_copy(update={"retrain": retrain})
    return params.model_copy(update={"judge": params.judge.model_copy(update={"distill": distill})})


def attempts(seeds: Sequence[int]) -> list[Trajectory]:
    """Attempts that answer `a` or `b` in turns."""
    return [a_trajectory(a_task(seed), turns=1, answer="ab"[seed % 2]) for seed in seeds]


def labels(trajectories: Sequence[Trajectory]) -> list[Verdict]:
    """The auditor calls `a` a success."""
    outcomes = [Outcome.SUCCESS if t.answer == "a" else Outcome.FAILURE for t in trajectories]
    return [a_verdict(t, outcome, rationale="") for t, outcome in zip(trajectories, outcomes, strict=True)]


@pytest.fixture(scope="module")
def distilled(tmp_path_factory) -> Path:
    """The shipped base as a judge, which rehearses one example."""
    path = tmp_path_factory.mktemp("distilled")
    VLM.load("data/base_model", recipe().model).save(path)
    rehearsed = attempts([900])
    LabelledTrajectories(rehearsed, {v.trajectory_id: v for v in labels(rehearsed)}).write(path / REHEARSED)
    return path


def weights(state: Path, iteration: int) -> dict[str, torch.Tensor]:
    return load_file(weights_file(state, iteration))


def weights_file(state: Path, iteration: int) -> Path:
    (path,) = state.glob(f"judge/{iteration:04d}-*/model.safetensors")
    return path


def judges(state: Path) -> list[str]:
    """The iterations after which the judges that are kept were made."""
    return sorted(path.name[:4] for path in (state / "judge").iterdir() if path.is_dir())


def test_successes_with_another_task_are_failures_to_learn_from(distilled):
    rollouts = [a_trajectory(a_task(seed, intent=f"Click {seed}"), turns=1, answer="a") for seed in (2, 4, 6, 8)]
    params = with_retraining(RetrainParams(every=2, optim=OPTIM))
    distill = params.judge.distill.model_copy(update={"mismatched": 1.0})
    params = params.model_copy(update={"judge": params.judge.model_copy(update={"distill": distill})})
    labelled = LabelledTrajectories(rollouts, {label.trajectory_id: label for label in labels(rollouts)})
    learned = examples(labelled, distilled, params)
    outcomes = [learned.labels[t.trajectory_id].outcome for t in learned.trajectories]
    assert outcomes == [Outcome.SUCCESS] * 4 + [Outcome.FAILURE] * 4 + [Outcome.SUCCESS]
    assert {t.answer for t in learned.trajectories[4:8]} == {"a"}


def test_rollouts_have_other_answers_and_rehearsed_examples_keep_theirs(distilled):
    site = {"source": "miniwob", "start_url": "http://miniwob.test/click-test.html", "website": "miniwob/click-test"}
    tasks = [a_task(seed, evaluator={"type": "site_reward"}, **site) for seed in range(8)]
    rollouts = [a_trajectory(task, turns=1, answer="a") for task in tasks]
    params = with_retraining(RetrainParams(every=2, optim=OPTIM))
    distill = params.judge.distill.model_copy(update={"other_answers": 1.0})
    params = params.model_copy(update={"judge": params.judge.model_copy(update={"distill": distill})})
    labelled = LabelledTrajectories(rollouts, {label.trajectory_id: label for label in labels(rollouts)})
    learned = examples(labelled, distilled, params)
    answers = [trajectory.answer for trajectory in learned.trajectories]
    assert "a" not in answers[:8]
    assert answers[8:] == [trajectory.answer for trajectory in attempts([900])]
    assert [learned.labels[t.trajectory_id] for t in learned.trajectories][:8] == labels(rollouts)


@pytest.mark.slow
def test_the_judge_learns_what_the_auditor_says(distilled, tmp_path):
    params = with_retraining(RetrainParams(every=2, share=1.0, optim=OptimParams(epochs=12, lr=1e-3, batch_size=4)))
    judge = RetrainedJudge(distilled, params, tmp_path)
    before = judge.prepare(1)
    for iteration in (1, 2):
        seen = attempts(range(10 * iteration, 10 * iteration + 8))
        judge.keep(iteration, seen, labels(seen))
    assert before == judge.prepare(2) == {}
    new = attempts(range(100, 112))
    first = asyncio.run(judge(new))
    assert judge.prepare(3) == {"judge_retrained_on": 16.0}
    second = asyncio.run(judge(new))
    expected = [label.outcome for label in labels(new)]
    assert [verdict.outcome for verdict in first] != expected
    assert [verdict.outcome for verdict in second] == expected
    assert {verdict.judge_version for verdict in second} == {first[0].judge_version + "+16"}


def test_a_judge_that_was_made_is_loaded_and_a_lost_one_is_made_again(distilled, tmp_path):
    params = with_retraining(RetrainParams(every=1, share=1.0, optim=OPTIM))
    seen = attempts(range(8))
    judge = RetrainedJudge(distilled, params, tmp_path)
    judge.keep(1, seen, labels(seen))
    judge.prepare(2)
    made, file = weights(tmp_path, 1), weights_file(tmp_path, 1)
    written = file.stat().st_mtime_ns
    assert RetrainedJudge(distilled, params, tmp_path).prepare(2) == {"judge_retrained_on": 8.0}
    assert file.stat().st_mtime_ns == written
    shutil.rmtree(file.parent)
    RetrainedJudge(distilled, params, tmp_path).prepare(2)
    again = weights(tmp_path, 1)
    assert all(torch.equal(made[name], again[name]) for name in made)


def test_a_phase_that_goes_on_keeps_the_judge_of_a_later_iteration(distilled, tmp_path):
    """It was killed after the later one was trained, and comes to it again."""
    params = with_retraining(RetrainParams(every=1, share=1.0, optim=OPTIM))
    judge = RetrainedJudge(distilled, params, tmp_path)
    for iteration in (1, 2):
        seen = attempts(range(10 * iteration, 10 * iteration + 8))
        judge.keep(iteration, seen, labels(seen))
    judge.prepare(3)
    RetrainedJudge(distilled, params, tmp_path).prepare(2)
    assert judges(tmp_path) == ["0001", "0002"]


def test_other_labels_of_the_same_iterations_make_another_judge(distilled, tmp_path):
    """As after a rollback by hand, when the iterations since the checkpoint are rolled out anew."""
    params = with_retraining(RetrainParams(every=1, share=1.0, optim=OPTIM))
    made = []
    for seeds in (range(8), range(100, 108)):
        judge, seen, losses = RetrainedJudge(distilled, params, tmp_path), attempts(seeds), []
        judge.keep(1, seen, labels(seen))
        judge.prepare(2, lambda *loss, losses=losses: losses.append(loss))
        made.append(weights_file(tmp_path, 1))
        assert losses, "it was trained"
    assert judges(tmp_path) == ["0001"], "the former one is deleted"
    assert made[0] != made[1]


def test_the_next_phase_begins_with_the_labels_of_the_one_before(distilled, tmp_path):
    params = with_retraining(RetrainParams(every=3, share=1.0, optim=OPTIM))
    first, second, published = tmp_path / "short", tmp_path / "long", tmp_path / "rl-short" / AUDITED
    judge = RetrainedJudge(distilled, params, first)
    for iteration in (1, 2):
        seen = attempts(range(10 * iteration, 10 * iteration + 3))
        judge.keep(iteration, seen, labels(seen))
    labelled_rollouts(first, 2).write(published)
    judge = RetrainedJudge(distilled, params, second, published)
    assert judge.prepare(1) == {"judge_retrained_on": 6.0}
    for iteration in (1, 2, 3):
        judge.keep(iteration, [], [])
    assert judge.prepare(4) == {"judge_retrained_on": 6.0}
    assert judges(second) == ["0003"], "the judge before is deleted"


def test_a_share_is_kept_and_only_where_the_auditor_decides(distilled, tmp_path):
    params = with_retraining(RetrainParams(every=1, share=0.3, optim=OPTIM))
    seen = attempts(range(200))
    audited = labels(seen[:150])
    audited[0] = a_verdict(seen[0], Outcome.ERROR)
    judge = RetrainedJudge(distilled, params, tmp_path)
    judge.keep(1, seen, audited)
    kept = labelled_rollouts(tmp_path, 1)
    assert 25 <= len(kept) <= 65
    assert {t.trajectory_id for t in kept.trajectories} <= {v.trajectory_id for v in audited[1:]}
    renamed = [t.model_copy(update={"policy": t.policy + ":another-run"}) for t in seen]
    judge.keep(2, renamed, labels(renamed))
    tasks = {t.task_id for t in labelled_rollouts(tmp_path, 1).trajectories}
    both = labelled_rollouts(tmp_path, 2).trajectories
    assert tasks <= {t.task_id for t in both[len(kept) :]}, "the run's name decides nothing"


def test_a_kept_label_of_webarenas_rules_teaches_no_reference(distilled, tmp_path):
    params = with_retraining(RetrainParams(every=1, share=1.0, optim=OPTIM))
    rollout = episode(ours(4), "It costs $12.", turns=attempts([0])[0].turns)
    RetrainedJudge(distilled, params, tmp_path).keep(1, [rollout], [rules_verdict(rollout)])
    (label,) = labelled_rollouts(tmp_path, 1).labels.values()
    assert label.rationale == rationale(rollout)


RETRAIN = RetrainParams(every=2, share=1.0, rehearsed=0, optim=OPTIM)


def retrained_on(figures: Sequence[dict[str, float]]) -> list[float | None]:
    return [iteration.get("judge_retrained_on") for iteration in figures]


@pytest.mark.slow
def test_rl_trains_its_judge_every_few_iterations_and_goes_on_after_a_kill(tmp_path, monkeypatch):
    quiet, _ = train(monkeypatch, tmp_path / "a/run", 5, audited=even_attempts, retrain=RETRAIN)
    counts = retrained_on(quiet.figures)
    assert counts == [None, None, 16, None, 32]

    def killed(spec: EpisodeSpec) -> Termination:
        if spec.policy_version.startswith("test@3"):
            raise Killed
        return Termination.DONE

    with pytest.raises(Killed):
        train(monkeypatch, tmp_path / "b/run", 5, killed, audited=even_attempts, retrain=RETRAIN)
    resumed, _ = train(monkeypatch, tmp_path / "b/run", 5, audited=even_attempts, retrain=RETRAIN)
    assert retrained_on(resumed.figures) == counts
    one, other = weights(tmp_path / "a/run", 4), weights(tmp_path / "b/run", 4)
    assert all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.slow
def test_a_judge_that_is_trained_again_gets_the_chance_to_regain_trust(tmp_path, monkeypatch):
    def fail(trajectory: Trajectory) -> bool:
        return False

    settings = {"audited": fail, "min_precision": 0.8, "validate": 2}
    ended, _ = train(monkeypatch, tmp_path / "fixed/run", 6, **settings)
    assert len(ended.figures) == 3
    retrain = RETRAIN.model_copy(update={"every": 3})
    ended, _ = train(monkeypatch, tmp_path / "retrained/run", 9, retrain=retrain, **settings)
    assert retrained_on(ended.figures) == [None] * 3 + [24.0] + [None] * 2 + [48.0] + [None] * 2
    retrain = RETRAIN.model_copy(update={"every": 4})
    ended, _ = train(monkeypatch, tmp_path / "seldom/run", 9, retrain=retrain, **settings)
    assert len(ended.figures) == 3, "three iterations before the next training are enough"
    assert "judge.trust.min_precision" in ended.ended


def test_precision_before_the_last_training_does_not_count():
    poor, good = {"judge_precision": 0.1}, {"judge_precision": 1.0}
    assert ended_by_imprecision([poor, poor, poor], 0.5)
    assert ended_by_imprecision([poor, poor, {**poor, "judge_retrained_on": 8.0}], 0.5) is None
    assert ended_by_imprecision([good, {**poor, "judge_retrained_on": 8.0}, poor, poor], 0.5)
