"""Times of training: supervised stages, and the update of an RL iteration with its checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from components.architecture import Architecture
from components.params import OptimParams, Params, RLPhase
from components.params.objectives import SampledRound
from components.plan.checkpoint_size import checkpoints
from components.plan.episodes import PromptShape
from components.plan.rollout_time import (
    VERDICT,
    IterationRollouts,
    Timed,
    Tokens,
    distilled_prompt,
    judged_by_distilled,
)
from components.plan.setting import Setting
from components.plan.simulation import Usage

SUCCESS = 0.5
"""Share of successes among the attempts of an iteration, for objectives that learn from successes alone."""
UNDECIDED = 0.2
"""Share of the held-out trajectories on which a third verdict is drawn."""


@dataclass(frozen=True)
class Samples:
    """What one pass of a training reads: samples of a mean length, and tokens with shared prefixes counted once."""

    count: float
    length: float
    tokens: float
    images: float


def sft_time(setting: Setting) -> Timed:
    """Behaviour cloning of the curated trajectories."""
    params = setting.params
    turns = setting.turns("teacher_rollouts", params.teacher.max_steps).mean
    trajectories = min(params.curate.max_trajectories, setting.taught)
    shape = setting.prompt_shape("teacher_rollouts")
    packed = trajectories * shape.packed(turns) if params.sft.shuffle == "trajectories" else None
    samples = _turns(trajectories * turns, shape, turns, params.sft.micro_batch_tokens, packed)
    return _supervised(setting, "train_sft", setting.policy, params.sft, samples)


def distillation_time(setting: Setting) -> Timed:
    """The training of the judge, and the verdicts of the base, of the trained judge and of its vote on held-out
    trajectories."""
    params, habits = setting.params, setting.rates.habits_of("judge_rollouts")
    distill = params.judge.distill
    turns = setting.turns("judge_rollouts", params.evaluation.max_steps).mean
    rolled_out = setting.judged * distill.rollout_attempts * habits.judged
    tested = distill.holdout_share * rolled_out
    attempts = rolled_out - tested + setting.taught * params.teacher.attempts
    count = attempts * (1 + distill.mismatched)  # as if all succeeded: each success may be shown with another task
    prompt, answer = distilled_prompt(setting, turns), VERDICT * distill.max_response_tokens
    samples = Samples(count, prompt + answer, count * (prompt + answer), count * distill.screenshots)
    verdicts = judged_by_distilled(setting, (3 + UNDECIDED) * tested, turns)
    return _supervised(setting, "distill_judge", setting.judge, distill.optim, samples) + verdicts


def retraining_time(setting: Setting, stage: str, rolled: Sequence[IterationRollouts], iterations: int) -> Timed:
    """The trainings of the judge during a phase (`judge.distill.retrain`), each on the labelled rollouts until then.

    Args:
        rolled: an iteration of the phase, after one of each phase before.
        iterations: of the phase; the labelled rollouts of the phases before are those of all of their iterations.
    """
    params = setting.params
    retrain, turns = params.judge.distill.retrain, rolled[-1].turns
    if retrain is None or params.judge.reward != "distilled":
        return Timed()
    share = retrain.share * (params.judge.trust.audit_share if params.judge.labels == "model" else 1.0)
    kept = [share * each.trajectories * setting.rates.habits_of(stage).judged for each in rolled]
    earlier = sum(kept[:-1]) * params.rl.short.iterations
    trainings = [earlier + kept[-1] * done for done in range(0, iterations, retrain.every) if earlier or done]
    count = sum(trainings) * (1 + params.judge.distill.mismatched) + retrain.rehearsed * len(trainings)
    length = distilled_prompt(setting, turns) + VERDICT * params.judge.distill.max_response_tokens
    samples = Samples(count, length, count * length, count * params.judge.distill.screenshots)
    return _supervised(setting, "distill_judge", setting.judge, retrain.optim, samples)


def update_time(setting: Setting, rolled: IterationRollouts, stage: str) -> Timed:
    """The update of one RL iteration: the log-probabilities of all turns, if the objective has a ratio, and the epochs.

    Args:
        stage: with its phase, such as `train_rl@short`.
    """
    params, shape = setting.params, setting.prompt_shape(stage)
    objective = params.rl.objective
    trained = trained_turns(setting, rolled, stage)
    shuffle = params.sft.shuffle if objective.trains_as_sft else params.rl.shuffle
    packed = trained / rolled.turns * shape.packed(rolled.turns) if shuffle == "trajectories" else None
    samples = _turns(trained, shape, rolled.turns, params.rl.micro_batch_tokens, packed)
    speeds = setting.training(setting.policy)
    scorings = 0.0 if objective.trains_as_sft else 1 + float(objective.needs_reference)
    seconds = objective.passes * speeds.training_s(stage, samples.tokens, samples.length)
    seconds += scorings * speeds.scoring_s(stage, samples.tokens, samples.length)
    seconds += speeds.tower_s(stage, samples.images, _patches(params, setting.policy), objective.passes)
    return _timed(seconds, (objective.passes + scorings) * samples.tokens, params)


def trained_turns(setting: Setting, rolled: IterationRollouts, stage: str) -> float:
    """Turns that an update trains on: those of the effective groups, or as the objective chooses among the sampled; and
    half of the turns of branches, which share the others."""
    params = setting.params
    share = setting.rates.trained_share_of(stage, params)
    branched = rolled.branches * rolled.turns / 2
    if share is not None:
        return share * rolled.effective * params.rl.group_size * rolled.turns + branched
    shown = min(params.curate.max_trajectories, setting.taught)
    sampled = SampledRound(
        rolled.trajectories, SUCCESS * rolled.trajectories, rolled.effective, params.rl.group_size, shown
    )
    return params.rl.objective.trained_trajectories(sampled) * rolled.turns + branched


def weights_time(setting: Setting) -> Timed:
    """New weights on their way to the servers, once per iteration; none if the trainer answers itself."""
    if not setting.has_servers:
        return Timed()
    model = setting.params.model
    word = 4 if model.dtype == "float32" else 2
    speeds = setting.training(setting.policy)
    size = 4 * speeds.trained_parameters if model.lora is not None else word * setting.policy.parameters
    return Timed(Usage(size / setting.rates.storage_bytes_per_s))


def checkpoint_time(setting: Setting, name: str, phase: RLPhase) -> Timed:
    """The checkpoint after an iteration of a phase, averaged over those without."""
    trained = setting.training(setting.policy).trained_parameters
    written = checkpoints(setting.params, name, phase, trained).bytes
    return Timed(Usage(written / max(1, phase.iterations) / setting.rates.storage_bytes_per_s))


def _supervised(
    setting: Setting, stage: str, architecture: Architecture, optim: OptimParams, samples: Samples
) -> Timed:
    speeds = setting.training(architecture)
    seconds = speeds.training_s(stage, samples.tokens, samples.length, optim.epochs)
    seconds += speeds.tower_s(stage, samples.images, _patches(setting.params, architecture), optim.epochs)
    return _timed(seconds, optim.epochs * samples.tokens, setting.params)


def _turns(count: float, shape: PromptShape, turns: float, micro_batch: int, packed: float | None) -> Samples:
    """Turns in random order, which share the instructions within a micro-batch, or `packed` tokens."""
    length = shape.mean_length(turns)
    batches = max(1.0, count * length / micro_batch)
    tokens = count * (length - shape.instructions) + min(count, batches) * shape.instructions
    images = count * (shape.image > 0)  # each screenshot is encoded once
    return Samples(count, length, tokens if packed is None else packed, images)


def _timed(seconds: float, tokens: float, params: Params) -> Timed:
    return Timed(Usage(seconds, {"trainer": seconds * params.training.processes}), Tokens(trained=tokens))


def _patches(params: Params, architecture: Architecture) -> int:
    return architecture.image_patches(params.browser.viewport)
