"""Speed and memory of training steps of Qwen3-VL with random weights, packed and single, of all weights and with LoRA.

A step is what SFT does for one trajectory of T turns (`components.training.supervised`): forward and backward pass of
all micro-batches, clipping, and AdamW, with gradient checkpointing and a frozen vision tower, which reads each
screenshot once. All weights are float32 and rounded to bfloat16 in each product; beneath adapters they are bfloat16.

Utilisation (MFU) is `perf.training_workload.training_flops` (six operations per trained weight and token, four per
frozen weight), with and without `attention_flops`, over the time and the device's peak in
`components/plan/devices.json`. A step that runs out of memory is tried with micro-batches of half the tokens. Packed
steps have the memory that `components.plan.memory` plans beside the peak.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import product
from time import monotonic

import torch

from components.architecture import Architecture
from components.model import VLM, Encoder, Sample
from components.params import AgentParams, BrowserParams, LoRAParams, ModelParams, Params, TrainingParams
from components.plan.memory import RESIDENT, Training, trainer_parts
from components.training.forward import Forward
from components.training.objectives.supervised import WeightedSample
from components.training.optim import adamw, optimizer_step
from components.training.packing import pack
from components.training.supervised import add_gradients
from components.training.workers import SINGLE_PROCESS
from perf.gpu_check.setting import GIB, DeviceKind, Outcome, Setting, clock, free_memory, peak_flops, peak_gib, say
from perf.training_workload import (
    BFLOAT16,
    MIXED,
    SHAPES,
    TrajectoryShape,
    attention_flops,
    random_model,
    training_flops,
    trajectory,
)

ROW_TOKENS, FEWEST_ROW_TOKENS = 65536, 2048
ENOUGH_S = 3.0
"""A step is not repeated once its measurements have taken this long."""
LORA = LoRAParams(rank=16, alpha=32.0)
NO_TIME = "no time was left"
RAISED = "it raised "
"""How the problem of a step begins that failed for another reason than memory."""
_TRAJECTORIES: dict[tuple[int, TrajectoryShape], list[Sample]] = {}
PLAN_LIMIT = 0.15
"""Relative difference of planned and measured memory above which the report warns."""


@dataclass(frozen=True)
class Step:
    """A training step. What could not be measured is None, and `problem` says why."""

    model: str
    trained: str
    """`all` weights of the language model, or `lora`."""
    form: str
    """`packed`: shared prefixes once; `single`: each turn complete and padded."""
    turns: int
    row_tokens: int | None = None
    """Tokens of a micro-batch; fewer than 65,536 if more did not fit."""
    tokens: int | None = None
    """Of all rows, without padding."""
    seconds: float | None = None
    tokens_s: float | None = None
    mfu: float | None = None
    """Of the products with weights."""
    mfu_with_attention: float | None = None
    peak_gib: float | None = None
    planned_gib: float | None = None
    plan_error: float | None = None
    """(planned - measured) / measured."""
    problem: str | None = None


@dataclass(frozen=True)
class Steps:
    """All steps."""

    steps: list[Step]


@dataclass(frozen=True)
class Trainer:
    """A model in training."""

    name: str
    trained: str
    vlm: VLM
    optimizer: torch.optim.Optimizer
    device: DeviceKind

    @classmethod
    def of_random_model(cls, name: str, trained: str, device: DeviceKind) -> Trainer:
        """A new model. It is trained for one step on one turn, which makes the optimiser's state and loads kernels."""
        vlm = random_model(name, device, precision=MIXED if trained == "all" else BFLOAT16)
        if trained == "lora":
            vlm.add_lora(LORA, seed=0)
        vlm.model.train()
        vlm.model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        trainer = cls(name, trained, vlm, adamw(vlm, lr=1e-6, betas=(0.9, 0.999), weight_decay=0.01), device)
        encoder = Encoder(vlm)
        trainer.step(encoder, trajectory(encoder, 1, SHAPES[name]), Forward(), ROW_TOKENS)
        return trainer

    def step(self, encoder: Encoder, samples: Sequence[Sample], forward: Forward, row_tokens: int) -> None:
        """One step of the optimiser on samples of equal weight."""
        batch = [WeightedSample(sample) for sample in samples]
        add_gradients(self.vlm, encoder, batch, row_tokens, forward, SINGLE_PROCESS)
        optimizer_step(self.optimizer, self.vlm, 1.0)

    def measure(self, form: str, turns: int) -> Step:
        """A step with the largest micro-batches that fit."""
        step, row_tokens = Step(self.name, self.trained, form, turns), ROW_TOKENS
        while row_tokens >= FEWEST_ROW_TOKENS:
            try:
                return self._measured(step, row_tokens)
            except torch.OutOfMemoryError:
                say(f"training: {step.model}, {step.trained}, {form}, T = {turns}: {row_tokens} tokens do not fit")
            except Exception as error:  # the steps measured before, and those after, are worth having
                return replace(step, problem=f"{RAISED}{type(error).__name__}: {error}")
            self.optimizer.zero_grad()  # outside of the handler, whose traceback holds the activations
            free_memory(self.device)
            row_tokens //= 2
        return replace(step, problem=f"out of memory with micro-batches of {FEWEST_ROW_TOKENS} tokens")

    def _measured(self, step: Step, row_tokens: int) -> Step:
        shapes, encoder, forward = SHAPES[self.name], Encoder(self.vlm), Forward(step.form == "packed")
        samples = same_trajectory(encoder, step.turns, shapes)
        rows = [[samples[i] for i in batch] for batch in forward.micro_batches(samples, encoder, row_tokens)]
        packed = [pack(row, encoder, share=forward.packed) for row in rows]
        lengths = [len(row.ids) for row in packed]
        free_memory(self.device)
        seconds = self._seconds(samples, forward, row_tokens)
        peak = peak_gib(self.device)
        flops = training_flops(self.vlm, sum(lengths), sum(len(sample.response) for sample in samples))
        attention = attention_flops(self.vlm, [row.segments for row in packed])
        device_flops = peak_flops(torch.cuda.get_device_name()) if self.device == "cuda" else None
        planned = planned_gib(self.vlm, self.trained, lengths, shapes) if forward.packed else None
        return replace(
            step,
            row_tokens=row_tokens,
            tokens=sum(lengths),
            seconds=seconds,
            tokens_s=sum(lengths) / seconds,
            mfu=flops / seconds / device_flops if device_flops else None,
            mfu_with_attention=(flops + attention) / seconds / device_flops if device_flops else None,
            peak_gib=peak,
            planned_gib=planned,
            plan_error=(planned - peak) / peak if planned and peak else None,
        )

    def _seconds(self, samples: Sequence[Sample], forward: Forward, row_tokens: int) -> float:
        """Seconds of a step; on a GPU, of the fastest of up to three, since the first one also asks for memory."""
        times: list[float] = []
        while not times or (self.device == "cuda" and len(times) < 3 and sum(times) < ENOUGH_S):
            encoder = Encoder(self.vlm)  # without cached features, so that the step reads its screenshots
            with ThreadPoolExecutor() as pool:  # the images of all turns, which are not part of the step
                list(pool.map(encoder.vision.pixels, [sample.prompt.images[0] for sample in samples]))
            begin = clock(self.device)
            self.step(encoder, samples, forward, row_tokens)
            times.append(clock(self.device) - begin)
        return min(times)


def same_trajectory(encoder: Encoder, turns: int, shapes: TrajectoryShape) -> list[Sample]:
    """`trajectory`, made once: all models here share a tokenizer, and its pictures take longer than some steps."""
    if (turns, shapes) not in _TRAJECTORIES:
        _TRAJECTORIES[turns, shapes] = trajectory(encoder, turns, shapes)
    return _TRAJECTORIES[turns, shapes]


def check(setting: Setting) -> Outcome:
    """Measure all models, trained weights, forms and lengths while there is time; packed steps, the shorter, first."""
    begin = monotonic()
    steps: list[Step] = []
    models = ("tiny",) if setting.is_tiny else setting.models
    for name, trained in product(models, setting.trained):
        for step in model_steps(name, trained, setting, begin + setting.training_s):
            steps.append(step)
            say(f"training: {step}")
        free_memory(setting.device)
    reasons = [] if any(step.seconds is not None for step in steps) else ["no training step could be measured"]
    reasons += [f"{named(step)}: {step.problem}" for step in steps if (step.problem or "").startswith(RAISED)]
    return Outcome(Steps(steps), reasons, warnings(steps))


def model_steps(name: str, trained: str, setting: Setting, deadline: float) -> Iterator[Step]:
    """The steps of one model. If it does not fit, there is no measurement of it, and the check goes on."""
    cases = list(product(setting.forms, (1, 2, 3) if setting.is_tiny else setting.turns))
    trainer, problem = None, NO_TIME
    if monotonic() < deadline:
        try:
            trainer = Trainer.of_random_model(name, trained, setting.device)
        except torch.OutOfMemoryError as error:
            problem = f"out of memory with one turn: {error}".split(". ")[0]
    for form, turns in cases:
        if trainer is None:
            yield Step(name, trained, form, turns, problem=problem)
        elif monotonic() > deadline:
            yield Step(name, trained, form, turns, problem=NO_TIME)
        else:
            yield trainer.measure(form, turns)


def named(step: Step) -> str:
    """The step in words."""
    return f"{step.model}, {step.trained}, {step.form}, T = {step.turns}"


def warnings(steps: Sequence[Step]) -> list[str]:
    """A sentence for each step that did not fit, and for each whose memory the plan misses."""
    sentences = []
    for step in steps:
        where = named(step)
        if step.problem:
            sentences.append(f"{where}: {step.problem}")
        elif step.row_tokens != ROW_TOKENS:
            sentences.append(f"{where}: out of memory with {ROW_TOKENS} tokens, fits with {step.row_tokens}")
        if step.plan_error is not None and abs(step.plan_error) > PLAN_LIMIT:
            sentences.append(f"{where}: planned {step.planned_gib:.1f} GiB, measured {step.peak_gib:.1f} GiB")
    return sentences


def planned_gib(vlm: VLM, trained: str, lengths: Sequence[int], shapes: TrajectoryShape) -> float:
    """The tensors that `waymark plan` counts for a trainer of this model, in GiB.

    The plan adds the CUDA context and the loss of the allocator, which are not in torch's count. It assumes several
    rows per step: while the second row is computed, the gradient of the first one is held. With one row, the peak is
    the end of the forward pass without gradients, or the gradients without activations.

    Args:
        lengths: tokens of each row of the step.
    """
    architecture = Architecture.model_validate({**vlm.model.config.to_dict(), "name": "measured"})
    model = ModelParams(
        base="measured",
        judge_base="measured",
        dtype="bfloat16",
        lora=LORA if trained == "lora" else None,
        gradient_checkpointing=True,
    )
    # the sections that these parts depend on: a whole recipe would ask for the worlds, which import the browser
    params = Params.model_construct(
        model=model,
        training=TrainingParams(),
        browser=BrowserParams(viewport=shapes.screenshot),
        agent=AgentParams(max_response_tokens=1, max_context_tokens=max(lengths)),
    )
    parts = trainer_parts(Training("train_sft", architecture, max(lengths)), params)
    whole = sum(part.bytes for part in parts)
    gradients = sum(part.bytes for part in parts if part.name == "gradients")
    passing = sum(part.bytes for part in parts if part.name not in (*RESIDENT, "gradients"))
    return (whole if len(lengths) > 1 else max(whole - gradients, whole - passing)) / GIB
