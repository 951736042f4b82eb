"""Does a model learn to see? A model with random weights is trained from screenshots of drawn pages for a limited time.

The questions are those of the small base (`components.training.questions`) that one click answers, each with the
screenshot alone, without the element list. Training is that of SFT (`components.training.supervised`): packed rows, in
which the questions about one page share its screenshot, mixed precision on a GPU, AdamW; the vision tower is trained,
too. The answers to held-out pages are decoded greedily, before and after, and once with a white page instead of the
screenshot: what the model gets right there, it guesses.
"""

from __future__ import annotations

import itertools
import random
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from transformers import PreTrainedTokenizerFast

from components.agent.grammar import parse_response
from components.agent.rendering import IM_END, IM_START, Prompt, Text
from components.model import VLM, Encoder, Sample
from components.params import ImageCacheParams, PretrainParams, SamplingParams
from components.policies.generation import Row, generate_batch
from components.records import Image
from components.training.forward import Forward, token_count
from components.training.new_base import new_vlm
from components.training.objectives.supervised import WeightedSample
from components.training.optim import optimizer_step
from components.training.pages import Page
from components.training.pretrain import same_calls
from components.training.questions import Question, ask
from components.training.supervised import add_gradients
from components.training.workers import SINGLE_PROCESS
from perf.gpu_check.drawn_pages import SEEN_WORDS, blank_png, drawn_pages
from perf.gpu_check.setting import Outcome, Setting, clock, free_memory, say
from perf.training_workload import TOKENIZER

FULL: dict[str, Any] = {"hidden": 768, "layers": 16, "vision_hidden": 512, "vision_depth": 8, "lr": 4e-4, "batch": 64}
TINY: dict[str, Any] = {"hidden": 96, "layers": 2, "vision_hidden": 48, "vision_depth": 2, "lr": 3e-3, "batch": 4}
"""Keys of `PretrainParams`. `batch` counts pages; a page has up to `QUESTIONS` questions."""
QUESTIONS = 4
WARMUP_STEPS, LEAST_STEPS = 20, 30
"""Fewer steps than the least say nothing, however slow the machine is."""
NEAR = 50
"""Coordinates are right within this distance on the scale of 1000: a click is then inside of the element, and no
neighbour on the grid of the pages is as near."""
LEAST_FALL, LEAST_GAIN = 0.8, 0.1
"""The loss must fall below this share of the first, and accuracy must exceed guessing by this much. No GPU was there to
measure what ten minutes reach; 400 steps of a small model on a CPU reach the first and not the second."""
POINTS = 20


@dataclass(frozen=True)
class LossPoint:
    """A point of the loss curve: the mean over a part of the steps, in nats per token."""

    step: int
    loss: float


@dataclass(frozen=True)
class Learning:
    """What a limited time of training taught."""

    parameters: int
    pages: int
    held_out: int
    seconds: float
    steps: int
    questions: int
    tokens_s: float
    """Tokens of prompts and responses, as if no prefix were shared."""
    accuracy_before: float
    accuracy_after: float
    accuracy_blank: float
    """With a white page instead of the screenshot, after training."""
    curve: list[LossPoint]


def check(setting: Setting) -> Outcome:
    """Train, and measure on held-out pages."""
    tiny = setting.is_tiny
    vlm, params = new_model(setting)
    pages, held_out = drawn_pages(40 if tiny else 6000, seed=1), drawn_pages(10 if tiny else 200, seed=2)
    encoder = Encoder(vlm, ImageCacheParams(memory_gib=8))
    before = accuracy(vlm, encoder, held_out)
    losses, tokens, questions, seconds = train(vlm, encoder, pages, params, setting)
    after = accuracy(vlm, encoder, held_out)
    blank = accuracy(vlm, encoder, [Page(blank_png(), page.lines) for page in held_out])
    figures = Learning(
        parameters=sum(parameter.numel() for parameter in vlm.model.parameters()),
        pages=len(pages),
        held_out=len(held_out),
        seconds=seconds,
        steps=len(losses),
        questions=questions,
        tokens_s=tokens / seconds,
        accuracy_before=before,
        accuracy_after=after,
        accuracy_blank=blank,
        curve=curve(losses),
    )
    say(f"learning: {figures}")
    del vlm, encoder
    free_memory(setting.device)
    return Outcome(figures, reasons(figures, tiny))


def reasons(figures: Learning, is_tiny: bool) -> list[str]:
    """Why the model has not learned. Accuracy counts only for the full size, as a tiny model learns too little."""
    sentences = []
    first, last = figures.curve[0].loss, figures.curve[-1].loss
    if not last <= LEAST_FALL * first:  # True for NaN
        sentences.append(f"the loss went from {first:.3f} to {last:.3f}, less than to {LEAST_FALL:.0%}")
    guessed = max(figures.accuracy_before, figures.accuracy_blank)
    if not is_tiny and figures.accuracy_after < guessed + LEAST_GAIN:
        sentences.append(
            f"{figures.accuracy_after:.0%} of the answers on held-out pages are right, and {guessed:.0%} are guessed"
        )
    return sentences


def new_model(setting: Setting) -> tuple[VLM, PretrainParams]:
    """A model with random weights, of about 100 million parameters in the full size, and its settings."""
    params = PretrainParams.model_validate(TINY if setting.is_tiny else FULL)
    vlm = new_vlm(PreTrainedTokenizerFast.from_pretrained(TOKENIZER), params)
    vlm.model.to(setting.device)  # type: ignore[arg-type]  # transformers wraps it and loses its signature
    return replace(vlm, compute_dtype=torch.bfloat16 if setting.device == "cuda" else None), params


def train(
    vlm: VLM, encoder: Encoder, pages: list[Page], params: PretrainParams, setting: Setting
) -> tuple[list[float], int, int, float]:
    """Train until the time is over. Returns the loss of each step, and numbers of tokens, questions and seconds.

    The learning rate warms up, and falls linearly with the time to 2%.
    """
    optimizer = torch.optim.AdamW(vlm.trainable(), lr=params.lr, betas=(0.9, 0.98), weight_decay=0.01)
    rng, losses, tokens, questions = random.Random(params.seed), list[float](), 0, 0
    vlm.model.train()
    begin = clock(setting.device)
    while (elapsed := time.monotonic() - begin) < setting.learning_s or len(losses) < LEAST_STEPS:
        rate = min(1.0, (len(losses) + 1) / WARMUP_STEPS) * max(0.02, 1 - elapsed / setting.learning_s)
        for group in optimizer.param_groups:
            group["lr"] = params.lr * rate
        samples = lessons(encoder, rng.sample(pages, params.batch), rng, QUESTIONS)
        batch = [WeightedSample(sample) for sample in samples]
        losses.append(add_gradients(vlm, encoder, batch, 16384, Forward(), SINGLE_PROCESS))
        optimizer_step(optimizer, vlm, 1.0)
        tokens += token_count(samples)
        questions += len(samples)
        if len(losses) % 50 == 0:
            say(f"learning: step {len(losses)}, {elapsed:.0f} s, loss {statistics.fmean(losses[-50:]):.3f}")
    return losses, tokens, questions, clock(setting.device) - begin


def curve(losses: Sequence[float]) -> list[LossPoint]:
    """At most `POINTS` points: means over parts of the steps of about equal length."""
    count = min(POINTS, len(losses))
    ends = [round(len(losses) * part / count) for part in range(count + 1)]
    return [LossPoint(end, statistics.fmean(losses[begin:end])) for begin, end in itertools.pairwise(ends)]


def lessons(encoder: Encoder, pages: Sequence[Page], rng: random.Random, count: int) -> list[Sample]:
    """Up to `count` questions about each page that one click answers. The screenshot comes before the question."""
    samples = []
    for page in pages:
        screenshot = Image.of(page.png)
        questions = ask(page.lines, rng, rng.choice(SEEN_WORDS), 4 * count, points=False)
        for question in [question for question in questions if _is_click(question)][:count]:
            head, tail = f"{IM_START}user\n", f"\nTask: {question.instruction}{IM_END}\n{IM_START}assistant\n"
            prompt = encoder.encode(Prompt((Text(head), screenshot, Text(tail))))
            samples.append(Sample(prompt, [*encoder.tokens(question.response), encoder.end_id]))
    return samples


def _is_click(question: Question) -> bool:
    calls = parse_response(question.response).calls
    return [call.name for call in calls] == ["click"]


def accuracy(vlm: VLM, encoder: Encoder, pages: Sequence[Page]) -> float:
    """Share of right answers of greedy decoding, one question about each page."""
    samples, greedy = lessons(encoder, pages, random.Random(3), 1), SamplingParams(temperature=0.0)
    right = []
    for begin in range(0, len(samples), 50):
        part = samples[begin : begin + 50]
        answers = generate_batch(vlm, encoder, [Row(sample.prompt, greedy, 64, 0) for sample in part])
        right += [
            same_calls(answer.text, encoder.decode(sample.response), NEAR)
            for answer, sample in zip(answers, part, strict=True)
        ]
    return statistics.fmean(right)
