"""What processes keep of screenshots in the memory of the machine (`model.image_cache`): pixels, and features of the
vision tower.

A cache grows with what is put in, up to `memory_gib` of each. Counted are the images of one update of RL, or of one
batch of supervised training: a longer training fills the caches further, with images that it does not need again.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace

from components.architecture import Architecture, architecture_of
from components.params import Params
from components.plan import sft_policy
from components.plan.distilled_judge import judge_rows, served_judge
from components.plan.hardware import GIB, Device
from components.plan.memory import Part
from components.plan.rates import default_rates


@dataclass(frozen=True)
class ImageCache:
    """The images that each process keeps for one model in one stage. Sizes are in bytes."""

    stage: str
    model: str
    images: int
    """Distinct screenshots of what is counted."""
    what: str
    """What is counted: an update, or a batch."""
    feature_bytes: int
    """Of one screenshot; 0 if features are not kept."""
    pixel_bytes: int
    """Of one screenshot."""
    capacity: float
    """For features, and as much for pixels."""
    on_disk: float
    """Space on disk for features, which the processes of a machine share."""
    processes: int
    encoders: int = 1
    """Processes that may prepare and encode one image, because they share no features."""

    @property
    def bytes(self) -> float:
        """What one process keeps of these images."""
        return sum(min(self.capacity, self.images * size) for size in (self.feature_bytes, self.pixel_bytes))

    @property
    def is_full(self) -> bool:
        """Whether the images exceed the cache, so that each pass of an update prepares and encodes them again."""
        if not self.feature_bytes:
            return self.images * self.pixel_bytes > self.capacity
        return self.images * self.feature_bytes > max(self.capacity, self.on_disk)


def image_caches(params: Params, device: Device) -> list[ImageCache]:
    """The caches of the trainings; none if the models see no screenshots."""
    policy, judge = architecture_of(params.model.base), architecture_of(params.model.judge_base)
    distill = params.judge.distill
    judged = distill.screenshots * distill.optim.batch_size
    caches = [_cache(params, "distill_judge", judge, judged, "a batch")]
    if params.judge.reward == "distilled" and served_judge(params) is None:
        of_a_batch = distill.screenshots * judge_rows(params)
        judging = _cache(params, "train_rl", judge, of_a_batch, "a batch of questions")
        caches.append(replace(judging, processes=1, encoders=1))
    if params.agent.shows_screenshots:
        shown = params.observation.screenshots * params.sft.batch_size
        caches.append(_cache(params, "train_sft", policy, shown, "a batch"))
        of_an_update = _images_of_an_update(params, device)
        caches.append(_cache(params, "train_rl", policy, of_an_update, "an update"))
        if params.model.train_vision and sft_policy.is_loaded(params):  # its tower has other features than the policy's
            compared = min(of_an_update, sft_policy.TURNS * params.observation.screenshots)
            caches.append(_cache(params, sft_policy.STAGE, policy, compared, "the KL to the SFT policy"))
    return [cache for cache in caches if cache.images]


def cache_parts(params: Params, device: Device, stage: str) -> list[Part]:
    """The part of a process's memory that is for images in a stage, on a device that is the machine's processor."""
    caches = [cache for cache in image_caches(params, device) if cache.stage == stage]
    if not device.is_cpu or not caches:
        return []
    images = " + ".join(f"{cache.images:,}" for cache in caches)
    words = f"{images} screenshots, pixels and features each at most {params.model.image_cache.memory_gib:g} GiB"
    return [Part("image caches", sum(cache.bytes for cache in caches), words)]


def cache_lines(caches: list[ImageCache], is_cpu: bool) -> list[str]:
    """The caches of RL in words: what they take of the machine's memory beside GPUs, and which are too small."""
    of_rl = [cache for cache in caches if cache.stage == "train_rl"]
    shown = [cache for cache in of_rl if cache.is_full or not is_cpu]
    lines = [_note(cache) for cache in of_rl if cache.encoders > 1]
    for cache in shown:
        each = " + ".join(f"{size / 2**20:.2f} MiB" for size in (cache.feature_bytes, cache.pixel_bytes) if size)
        lines.append(f"{cache.images:,} screenshots of {cache.what} for {cache.model}, {each} each")
        lines += [_warning(cache)] if cache.is_full else []
    if shown and not is_cpu:
        now, most = (sum(size) / GIB for size in zip(*map(_in_all, shown), strict=True))
        lines.append(f"{now:.1f} GiB of the machine's own memory for them; at most {most:g} GiB in a long run")
    return lines


def cache_values(cache: ImageCache) -> dict[str, str | float]:
    """A cache as plain values."""
    return asdict(cache) | {"bytes": cache.bytes, "is_full": cache.is_full}


def _in_all(cache: ImageCache) -> tuple[float, float]:
    """What all processes keep of these images, and what they keep at most."""
    kinds = sum(size > 0 for size in (cache.feature_bytes, cache.pixel_bytes))
    return cache.processes * cache.bytes, cache.processes * kinds * cache.capacity


def _warning(cache: ImageCache) -> str:
    size = cache.images * (cache.feature_bytes or cache.pixel_bytes)
    return (
        f"these exceed the cache of {cache.capacity / GIB:g} GiB, so images are prepared and encoded more than once, "
        f"which the times leave out: set model.image_cache.memory_gib to {math.ceil(size / GIB)}"
    )


def _note(cache: ImageCache) -> str:
    """What it means that processes share no features."""
    size = math.ceil(cache.images * cache.feature_bytes / GIB)
    return (
        f"note: with model.image_cache.disk_gib = 0 the {cache.encoders} processes share no features, so an image is "
        f"prepared and encoded up to {cache.encoders} times, which the times leave out; the features of an update take "
        f"model.image_cache.disk_gib = {size}"
    )


def _cache(params: Params, stage: str, architecture: Architecture, images: int, counted: str) -> ImageCache:
    vision, viewport = architecture.vision_config, params.browser.viewport
    word = 4 if params.model.dtype == "float32" else 2
    layers = 1 + len(vision.deepstack_visual_indexes)
    features = layers * architecture.image_tokens(viewport) * vision.out_hidden_size
    cache, processes, is_trained = params.model.image_cache, params.training.processes, params.model.train_vision
    in_rollouts = stage == "train_rl" and params.inference.engine == "transformers"
    is_kept = not is_trained or stage == sft_policy.STAGE or in_rollouts
    return ImageCache(
        stage,
        architecture.name,
        images,
        counted,
        word * features if is_kept else 0,
        word * architecture.image_patches(viewport) * vision.patch_values,
        cache.memory_gib * GIB,
        cache.disk_gib * GIB,
        processes,
        encoders=1 if cache.disk_gib or is_trained else processes,
    )


def _images_of_an_update(params: Params, device: Device) -> int:
    """Screenshots of the groups that an update trains on; of all sampled groups, if the policy answers in the process
    of the trainer. The attempts of a group begin at the same page. Turns and groups are those of a run without a
    calibration."""
    rl, rates = params.rl, default_rates(params, device)
    most = 0.0
    for name, phase in (("short", rl.short), ("long", rl.long)):
        stage = f"train_rl@{name}"
        if not phase.iterations:
            continue
        share = rates.effective_share_of(stage)
        sampled = min(rl.max_sampled_groups, rl.effective_groups / share)
        groups = sampled if params.inference.engine == "transformers" else share * sampled
        turns = max(1.0, rates.habits_of(stage).turns * phase.max_steps)
        most = max(most, groups * (1 + rl.group_size * (turns - 1)))
    return round(most)
