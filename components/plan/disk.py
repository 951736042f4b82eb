"""What a run writes to disk: what stays, what is there for the time of a stage, and the peak.

Counted is the first run in a checkout. What a file system shares between copies (reflinks) is counted twice, as ext4
stores it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from components.params import Params, RLPhase
from components.params.placement import STAGES
from components.plan.checkpoint_size import OPTIMISER_BYTES, WEIGHT_BYTES, carries_optimiser, checkpoints
from components.plan.hardware import GIB
from components.plan.host_memory import screenshots_of
from components.plan.image_cache import image_caches
from components.plan.need import Need, total
from components.plan.setting import Setting
from components.plan.volumes import (
    GENERATED_PIXEL,
    WEB_PIXEL,
    curated_episodes,
    episode_size,
    iteration_episodes,
    judge_episodes,
    judge_examples,
    rl_phases,
    screenshot_bytes,
    taught_episodes,
)

RUN = Path()
"""The checkout, in which stages write."""
GB = 1e9

DISK_ASSUMPTIONS = (
    "DVC's cache has a copy of every table and model, and MLflow, if it writes here, one of every model",
    f"journals of rollouts stay until `waymark clean`; a screenshot of the web has {WEB_PIXEL} bytes for each pixel, "
    f"and one of generated pages {GENERATED_PIXEL}",
    "left out are task files, the embedder of dedup, logs, reports, and what earlier runs left",
)


@dataclass(frozen=True)
class DiskNeed:
    """An entry of the disk.

    Attributes:
        stage: that writes it.
        is_kept: whether it is there after the stage.
        folder: where it is.
    """

    stage: str
    need: Need
    is_kept: bool = True
    folder: Path = field(default=RUN)


@dataclass(frozen=True)
class DiskPlan:
    """The disk of a run."""

    entries: tuple[DiskNeed, ...]

    def at_peak(self, folders: frozenset[Path] | None = None) -> tuple[str, list[Need]]:
        """The stage in which most is on disk, and what is there then.

        Args:
            folders: counts what is in these alone; None counts all.
        """
        chosen = [entry for entry in self.entries if folders is None or entry.folder in folders]
        there = {stage: _there(chosen, stage) for stage in STAGES}
        stage = max(there, key=lambda stage: total(there[stage]))
        return stage, there[stage]

    @property
    def peak(self) -> float:
        """Bytes of all that is on disk at once."""
        return total(self.at_peak()[1])

    def certain(self) -> DiskPlan:
        """The plan with the bytes that are needed whatever is assumed."""
        entries = (replace(entry, need=entry.need.at_least()) for entry in self.entries)
        return DiskPlan(tuple(entries))


def _there(entries: list[DiskNeed], stage: str) -> list[Need]:
    """What is on disk at the end of a stage, before its temporary files are deleted."""
    order = STAGES.index
    return [
        entry.need for entry in entries if entry.stage == stage or (entry.is_kept and order(entry.stage) < order(stage))
    ]


def disk_plan(setting: Setting) -> DiskPlan:
    """All that a run writes."""
    rl = (entry for name, phase in rl_phases(setting).items() for entry in _phase(setting, name, phase))
    return DiskPlan(
        (*_downloads(setting), *_episodes(setting), *_sft(setting), *_judge(setting), *rl, *_cache(setting))
    )


def _downloads(setting: Setting) -> Iterator[DiskNeed]:
    """Models that the hub gives, in bfloat16; local ones are there already."""
    params = setting.params
    home = Path(os.environ.get("HF_HOME", Path.home() / ".cache/huggingface"))
    hub = Path(os.environ.get("HF_HUB_CACHE", home / "hub"))
    for name, shape in {params.model.base: setting.policy, params.model.judge_base: setting.judge}.items():
        if not Path(name).exists():
            need = Need(name, 2 * shape.parameters, "from the hub, unless it is there: 2 B × parameters")
            yield DiskNeed(STAGES[0], need, folder=hub / f"models--{name.replace('/', '--')}")


def _episodes(setting: Setting) -> Iterator[DiskNeed]:
    """Journals and tables of the stages that roll out."""
    params = setting.params
    taught, judged = taught_episodes(setting), judge_episodes(setting)
    judge_keys = ("judge.distill.rollout_tasks", "judge.distill.rollout_attempts")
    yield _rolled_out(setting, "teacher_rollouts", taught, params.teacher.max_steps, ("teacher.tasks",))
    yield _rolled_out(setting, "judge_rollouts", judged, params.evaluation.max_steps, judge_keys)
    size = episode_size(setting, "teacher_rollouts", params.teacher.max_steps)
    curated = curated_episodes(setting)
    words = f"{curated:,} episodes, and DVC's copy"
    yield DiskNeed("curate_sft", Need("data/sft", 2 * curated * size.table, words, ("curate.max_trajectories",)))
    for stage in ("evaluate@base", "evaluate@sft", "evaluate@rl"):
        number = setting.counts()[0].evaluation
        yield _rolled_out(setting, stage, number, params.evaluation.max_steps, ())


def _rolled_out(setting: Setting, stage: str, episodes: int, max_steps: int, keys: tuple[str, ...]) -> DiskNeed:
    size = episode_size(setting, stage, max_steps, stage.startswith("evaluate"))
    words = f"{episodes:,} episodes of {size.turns + 1:.1f} screenshots: a journal, a table, and DVC's copy"
    return DiskNeed(stage, Need(f"episodes of {stage}", episodes * (size.journal + 2 * size.table), words, keys))


def _sft(setting: Setting) -> Iterator[DiskNeed]:
    trained = setting.training(setting.policy).trained_parameters
    yield _training_file("train_sft", trained)
    yield _model(setting.params, "train_sft", "models/sft", setting.policy.parameters)


def _judge(setting: Setting) -> Iterator[DiskNeed]:
    params, examples = setting.params, judge_examples(setting)
    distill = params.judge.distill
    images = examples * distill.screenshots * screenshot_bytes(setting)
    words = f"of {examples:,.0f} trajectories, {distill.screenshots} each"
    keys = ("teacher.tasks", "judge.distill.screenshots")
    yield DiskNeed("distill_judge", Need("screenshots of the judge's training", images, words, keys), is_kept=False)
    yield _training_file("distill_judge", setting.training(setting.judge).trained_parameters)
    yield _model(params, "distill_judge", "models/judge/distilled", setting.judge.parameters)
    if distill.retrain is not None:
        trained = setting.training(setting.judge).trained_parameters
        word = 4 if params.model.dtype == "float32" else 2
        size = 2 * (WEIGHT_BYTES + OPTIMISER_BYTES) * trained + 2 * word * setting.judge.parameters
        for name in rl_phases(setting):
            need = Need("judge that is trained again", size, "checkpoints and weights, the next ones beside the last")
            yield DiskNeed(f"train_rl@{name}", need, is_kept=False)


def _training_file(stage: str, trained: int) -> DiskNeed:
    """The checkpoint of a supervised training. A training of less than a minute writes none."""
    each = (WEIGHT_BYTES + OPTIMISER_BYTES) * trained
    words = f"2 × {each / GB:.3g} GB while the next one is written, deleted at the end"
    return DiskNeed(stage, Need(f"checkpoint of {stage}", 2 * each, words), is_kept=False)


def _model(params: Params, stage: str, name: str, parameters: int, carried: int = 0) -> DiskNeed:
    """A published model.

    Args:
        carried: bytes of an optimiser beside it, of which MLflow gets no copy.
    """
    word = 4 if params.model.dtype == "float32" else 2
    each, in_mlflow = word * parameters, not params.tracking.tracking_uri.startswith("http")
    size = (3 if in_mlflow else 2) * each + 2 * carried
    words = f"{word} B × {parameters / 1e9:.3g}e9" + (f" and an optimiser of {carried / GB:.3g} GB" if carried else "")
    copies = "DVC's and MLflow's copies" if in_mlflow else "DVC's copy"
    return DiskNeed(stage, Need(name, size, f"{words}, and {copies}", (), (1 + in_mlflow) * each + carried))


def _phase(setting: Setting, name: str, phase: RLPhase) -> Iterator[DiskNeed]:
    """What a phase of RL keeps in its state, and its model."""
    params, rl = setting.params, setting.params.rl
    stage, trained = f"train_rl@{name}", setting.training(setting.policy).trained_parameters
    written = checkpoints(params, name, phase, trained)
    is_best_kept = rl.validation.every > 0 and (rl.checkpoints.best or rl.checkpoints.rollback is not None)
    kept = min(written.number, rl.checkpoints.keep + is_best_kept)
    words = f"{kept} of {written.each / GB:.3g} GB"
    least = min(written.number, rl.checkpoints.keep) * written.each  # the best may be the last
    keys = ("rl.checkpoints.keep",) if rl.checkpoints.keep > 1 else ()
    yield DiskNeed(stage, Need(f"checkpoints of {stage}", kept * written.each, words, keys, least))
    next_one = Need(f"next checkpoint of {stage}", written.each, "while it is written", (), written.each * (kept > 0))
    yield DiskNeed(stage, next_one, is_kept=False)
    yield _journals(setting, name, phase)
    if params.inference.engine == "vllm" and params.inference.vllm.transfer == "disk" and params.model.lora is None:
        word = 4 if params.model.dtype == "float32" else 2
        served = 2 * word * setting.policy.parameters
        yield DiskNeed(stage, Need("weights for the servers", served, "2 of them for a moment"), is_kept=False)
    is_carried = name == "short" and carries_optimiser(params) and params.model.lora is None
    carried = OPTIMISER_BYTES * trained if is_carried else 0
    yield _model(params, stage, f"models/rl-{name}", setting.policy.parameters, carried)


def _journals(setting: Setting, name: str, phase: RLPhase) -> DiskNeed:
    """The journals of iterations, which the next checkpoint deletes, and that of a validation."""
    rl, stage = setting.params.rl, f"train_rl@{name}"
    between = min(rl.checkpoints.every, rl.validation.every or phase.iterations, phase.iterations) + rl.max_staleness
    validated = rl.validation.tasks + rl.validation.heldout if rl.validation.every else 0
    episodes = between * iteration_episodes(setting, name) + validated
    size = episodes * episode_size(setting, stage, phase.max_steps).journal
    words = f"{episodes:,.0f} episodes of {between} iterations and a validation, until the next checkpoint"
    return DiskNeed(stage, Need(f"journals of {stage}", size, words, ("rl.checkpoints.every",)), is_kept=False)


def _cache(setting: Setting) -> Iterator[DiskNeed]:
    """Features on disk, until the limit is reached."""
    params = setting.params.model.image_cache
    if not params.disk_gib:
        return
    caches = image_caches(setting.params, setting.machine.device)
    features = [
        max(cache.images, screenshots_of(setting, cache.stage)) * cache.feature_bytes
        for cache in caches
        if cache.stage != "distill_judge" and cache.model == setting.policy.name
    ]
    size = min(params.disk_gib * GIB, max(features, default=0.0))
    folder = Path(params.directory or Path(tempfile.gettempdir()) / "waymark-features")
    words = f"features in {folder}, at most {params.disk_gib:g} GiB"
    keys = ("model.image_cache.disk_gib", "model.image_cache.directory")
    yield DiskNeed("train_rl@short", Need("image cache", size, words, keys), folder=folder)
