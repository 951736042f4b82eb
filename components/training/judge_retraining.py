"""The distilled judge that rewards RL, trained again while RL runs, on rollouts that the auditor labelled.

A policy may learn what its judge takes for a success. Its attempts are then unlike those that the judge was trained on,
and more and more of the judge's successes are failures (`training.audit`). Every `judge.distill.retrain.every`
iterations the judge learns from three parts: a share of the audited rollouts of all iterations before; the successes
among them with other tasks, as failures (`judge.distill.mismatched`), since otherwise nearly all that the policy does
would be shown as a success; and some examples of its first training, against forgetting. Each training begins with the
judge of the stage `distill_judge`, so that the judge of an iteration depends on that judge and on the labels alone, and
not on how often the run was killed.

Deviation: the judge of OpenWebRL (section 4.3) stays as it is.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from components.judge.distilled import DistilledJudge
from components.judge.labelled_trajectories import REHEARSED, LabelledTrajectories
from components.judge.mismatched import mismatched
from components.judge.other_answers import WithOtherAnswers
from components.judge.rules import without_references
from components.memory import free_models
from components.model import VLM, ImageFolder
from components.params import Params, RetrainParams
from components.records import Outcome, Trajectory, Verdict, trajectory_id
from components.rollout import without_run
from components.store import digest
from components.training.objectives.judge import JudgeDistillation
from components.training.supervised import LossReport, no_report, train_model
from components.training.workers import SINGLE_PROCESS

AUDITED = "audited"
"""The folder of labelled rollouts: in the state directory of a phase, by iteration, and in the model of the phase."""


def labelled_rollouts(state_dir: Path, iterations: int, earlier: Path | None = None) -> LabelledTrajectories:
    """The labelled rollouts of the first iterations of a phase, after those of the phase before.

    Args:
        state_dir: of the phase.
        earlier: the folder of those of the phase before.
    """
    folders = [_folder(state_dir, iteration) for iteration in range(1, iterations + 1)]
    return LabelledTrajectories.join(map(LabelledTrajectories.read, [*([earlier] if earlier else []), *folders]))


def examples(rollouts: LabelledTrajectories, judge: Path, params: Params) -> LabelledTrajectories:
    """What the judge learns from: the labelled rollouts, their successes with other tasks, and rehearsed examples.

    Args:
        judge: the directory of the distilled judge.
    """
    distill = params.judge.distill
    attempts, labels = mismatched(rollouts.trajectories, rollouts.labels, distill.mismatched, params.seed)
    failures = LabelledTrajectories(attempts, {label.trajectory_id: label for label in labels})
    new = LabelledTrajectories.join([rollouts, failures])
    if distill.other_answers:
        changed = WithOtherAnswers(new.trajectories, distill.other_answers, params.seed)
        new = LabelledTrajectories(changed, new.labels)
    return LabelledTrajectories.join([new, LabelledTrajectories.read(judge / REHEARSED)])


def _iteration(judge: Path) -> int:
    """The iteration after which a judge was made; 0 for another folder. A rollback by hand may make it once more, from
    other labels, so the folder's name has a digest of them, too."""
    number = judge.name.partition("-")[0]
    return int(number) if number.isdigit() else 0


def _folder(state_dir: Path, iteration: int) -> Path:
    return state_dir / AUDITED / f"{iteration:04d}"


@dataclass
class RetrainedJudge:
    """The judge that rewards one phase of RL, in the process of the stage, as the labels so far have made it."""

    path: Path
    """The directory of the distilled judge."""
    params: Params
    state_dir: Path
    """Of the phase."""
    earlier: Path | None = None
    """The folder of rollouts that the auditor labelled in the phase before."""
    _judge: DistilledJudge = field(init=False)
    _version: str = field(init=False)
    _trained_after: int = field(default=-1, init=False)
    """The iteration after which the judge was trained; -1 before the first call of `prepare`."""

    def __post_init__(self) -> None:
        self._version = digest(self.path)
        self._judge = DistilledJudge(VLM.load(self.path, self.params.model), self._version, self.params)

    async def __call__(self, trajectories: list[Trajectory]) -> list[Verdict]:
        """One verdict per trajectory, in order, of the judge as it is now."""
        return await self._judge(trajectories)

    def keep(self, iteration: int, trajectories: Sequence[Trajectory], audited: Sequence[Verdict]) -> None:
        """Keep the share of an iteration's rollouts that the judge will learn from, with the auditor's labels.

        The same rollouts are kept in every run of one recipe. Those on which the auditor does not decide are not.
        """
        labels = {v.trajectory_id: v for v in audited if v.outcome in (Outcome.SUCCESS, Outcome.FAILURE)}
        kept = [t for t in trajectories if t.trajectory_id in labels and self._is_kept(t)]
        labels = {t.trajectory_id: without_references(t, labels[t.trajectory_id]) for t in kept}
        LabelledTrajectories(kept, labels).write(_folder(self.state_dir, iteration))

    def is_due_after(self, iteration: int) -> bool:
        """Whether the judge is trained again when an iteration has ended."""
        return iteration % self._retrain.every == 0

    def prepare(self, iteration: int, report: LossReport = no_report) -> dict[str, float]:
        """Make the judge that rewards an iteration, once all iterations before are kept; blocks the thread.

        A phase that goes on after a kill loads the judge that it had made, or makes it again.

        Args:
            report: gets the losses of the training, if there is one.

        Returns:
            Figures of the iteration, if its judge is another one than that of the iteration before:
            `judge_retrained_on`, the number of labelled rollouts from which it has learned.

        Raises:
            Diverged: a gradient is not finite.
        """
        due = (iteration - 1) // self._retrain.every * self._retrain.every
        if due == self._trained_after:
            return {}
        self._trained_after = due
        rollouts = labelled_rollouts(self.state_dir, due, self.earlier)
        if not len(rollouts):
            return {}
        labels = {label.trajectory_id: label.outcome for label in rollouts.labels.values()}
        judge = self.state_dir / "judge" / f"{due:04d}-{digest(*map(str, sorted(labels.items())))}"
        if not judge.exists():
            self._train(examples(rollouts, self.path, self.params), judge, report)
        version = f"{self._version}+{len(rollouts)}"
        self._judge = DistilledJudge(VLM.load(judge, self.params.model), version, self.params)
        free_models()
        return {"judge_retrained_on": float(len(rollouts))} if iteration == due + 1 else {}

    @property
    def _retrain(self) -> RetrainParams:
        retrain = self.params.judge.distill.retrain
        assert retrain is not None
        return retrain

    def _train(self, data: LabelledTrajectories, path: Path, report: LossReport) -> None:
        """Train the distilled judge further, write it to `path`, and delete earlier judges. A phase that was killed
        keeps later ones, to which it comes again."""
        checkpoint = path.with_suffix(".pt")
        checkpoint.parent.mkdir(parents=True, exist_ok=True)
        screenshots = ImageFolder(path.with_name("screenshots"))  # the loop below deletes it, and earlier judges
        objective, optim = JudgeDistillation(self.params, data.labels, screenshots), self._retrain.optim
        trained = train_model(
            SINGLE_PROCESS, str(self.path), self.params, optim, objective, data.trajectories, report, checkpoint
        )
        trained.vlm.publish(path)
        checkpoint.unlink(missing_ok=True)
        for other in path.parent.iterdir():
            if other.is_dir() and other != path and _iteration(other) <= _iteration(path):
                shutil.rmtree(other)

    def _is_kept(self, trajectory: Trajectory) -> bool:
        version = without_run(trajectory.policy)
        identity = trajectory_id(trajectory.task_id, trajectory.attempt, version, trajectory.seed)
        return random.Random(f"{self.params.seed}:{identity}").random() < self._retrain.share
