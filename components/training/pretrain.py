"""The small base: a Qwen3-VL from random weights, trained on questions about generated pages.

The frozen stage `pretrain_base` runs it once, and the result is committed in `data/base_model`. A sequence is a
conversation of several questions about one page, whose screenshot and element list are shown with one of the questions:
so the model learns to answer with and without a history before the page. A share of the sequences shows the screenshot
without the list, for the recipes that train on pixels.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from components.agent.grammar import parse_response
from components.agent.protocols.openwebrl import COMPACT
from components.agent.rendering import IM_END, IM_START
from components.memory import release_free_memory
from components.model.encoding import VISION_END, VISION_START, Encoder
from components.model.vlm import VLM, generate
from components.params import ModelParams, PageKindName, PretrainParams, PretrainPhase
from components.records import Image
from components.training.application_questions import ask_on_application
from components.training.new_base import image_sizes, new_vlm, train_tokenizer
from components.training.pages import Page, random_label
from components.training.pretrain_progress import Conversation, Figures, Progress
from components.training.questions import Question, ask
from components.training.respelling import respell, word_pieces
from components.training.sentence_questions import ask_in_sentences

STEPS_BETWEEN_CHECKPOINTS = 100


@dataclass(frozen=True)
class PageSet:
    """The pages of one kind. The first `held_out` are not trained on.

    Attributes:
        images: the screenshot of each page.
    """

    pages: list[Page]
    images: list[Image]
    held_out: int

    @classmethod
    def of(cls, pages: list[Page], held_out: int) -> PageSet:
        """The pages with their screenshots read."""
        return cls(pages, [Image.of(page.png) for page in pages], held_out)


def pretrain(
    pages_of: Mapping[PageKindName, list[Page]],
    params: PretrainParams,
    report: Callable[[Figures], None],
    checkpoint: Path | None = None,
) -> tuple[VLM, list[Figures]]:
    """Train the base, phase by phase.

    Args:
        pages_of: the pages of each kind that `params` names. The first `params.held_out` of each are not trained on.
        report: gets figures of loss and accuracy as they are measured.
        checkpoint: the file that holds the state of training, every 100 steps. Training that was killed goes on from
            it and makes the weights that it would have made.

    Returns:
        The model, and all figures, those before a kill too.
    """
    vlm = _begun(pages_of, params)
    sets = {kind: PageSet.of(pages, params.held_out) for kind, pages in pages_of.items()}
    progress = Progress.load(checkpoint, vlm) if checkpoint else Progress()

    def measured(figures: Figures) -> None:
        progress.curve.append(figures)
        report(figures)

    for number in range(progress.phase, len(params.phases)):
        phase = params.phases[number]
        pages = sets[params.kind_of(phase)]
        if number != progress.phase or progress.rng is None:
            progress.begin(number, random.Random(params.seed + number))
        _Phase(vlm, pages, params, progress, measured).run(checkpoint)
        figures = accuracy(vlm, Encoder(vlm), pages, params, phase, seed=2)
        measured({"step": sum(p.steps for p in params.phases[: number + 1]), **figures})
    return vlm, progress.curve


def _begun(pages_of: Mapping[PageKindName, list[Page]], params: PretrainParams) -> VLM:
    """The model before training."""
    if not params.start:
        return new_vlm(train_tokenizer(pages_of[params.kind], params), params)
    begun = VLM.load(params.start, ModelParams(base=params.start, judge_base=params.start), train=True)
    images_as = Qwen2VLImageProcessorPil.from_pretrained(params.start, size=image_sizes(params))
    return VLM(begun.model, begun.tokenizer, images_as)


class _Phase:
    """A phase of the curriculum, which trains the model in place."""

    def __init__(
        self,
        vlm: VLM,
        pages: PageSet,
        params: PretrainParams,
        progress: Progress,
        report: Callable[[Figures], None],
    ) -> None:
        self.vlm, self.pages, self.params, self.progress, self.report = vlm, pages, params, progress, report
        self.phase = params.phases[progress.phase]
        self.before = sum(phase.steps for phase in params.phases[: progress.phase])
        self.encoder = Encoder(vlm)
        self.pieces = word_pieces(vlm.tokenizer)
        matrices = [p for p in vlm.model.parameters() if p.ndim > 1]
        vectors = [p for p in vlm.model.parameters() if p.ndim <= 1]
        groups = [{"params": matrices, "weight_decay": 0.01}, {"params": vectors, "weight_decay": 0.0}]
        self.optimizer = torch.optim.AdamW(groups, lr=params.lr, betas=(0.9, 0.98))
        progress.restore(self.optimizer)

    def run(self, checkpoint: Path | None) -> None:
        """Take the steps that are left."""
        progress, model = self.progress, self.vlm.model
        model.train()
        started = time.monotonic() - progress.seconds
        for step in range(progress.step + 1, self.phase.steps + 1):
            loss = self._step(step)
            progress.step, progress.seconds = step, time.monotonic() - started
            if step % 5 == 0:
                release_free_memory()
            if step % 25 == 0:
                self.report(
                    {
                        "step": self.before + step,
                        "questions": progress.questions,
                        "loss": round(loss, 4),
                        "seconds": round(progress.seconds),
                    }
                )
            if step % 200 == 0:
                figures = accuracy(self.vlm, self.encoder, self.pages, self.params, self.phase, seed=1)
                self.report({"step": self.before + step, **figures})
                model.train()
            if checkpoint and (step % STEPS_BETWEEN_CHECKPOINTS == 0 or step == self.phase.steps):
                progress.save(checkpoint, self.vlm, self.optimizer)
        model.eval()

    def _step(self, step: int) -> float:
        """Take one step; its loss in nats per token."""
        model, phase, encoder = self.vlm.model, self.phase, self.encoder
        batch = self._draw()
        for group in self.optimizer.param_groups:
            group["lr"] = self.params.lr * min(1.0, step / phase.warmup_steps) * max(0.02, 1 - step / phase.decay_steps)
        inputs = encoder.collate([s.ids for s in batch], [[self.pages.images[s.page]] for s in batch], pad="right")
        # no token attends to padding on the right of all others; without the mask a step takes a third less time
        del inputs["attention_mask"]
        labels = torch.full_like(inputs["input_ids"], -100)
        for row, sequence in enumerate(batch):
            labels[row, : len(sequence.labels)] = torch.tensor(sequence.labels)
        # bfloat16 products with float32 weights are faster on CPUs that have them, and precise enough here
        with torch.autocast(model.device.type, torch.bfloat16):
            hidden = model.model(**inputs, use_cache=False).last_hidden_state[:, :-1]
            is_target = labels[:, 1:] != -100
            logits = model.lm_head(hidden[is_target]).float()
        loss = torch.nn.functional.cross_entropy(logits, labels[:, 1:][is_target])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.progress.questions += int((labels == encoder.end_id).sum())
        return loss.item()

    def _draw(self) -> list[Conversation]:
        """A batch from the pool, which is filled up before. Sequences of similar lengths share a batch; otherwise
        padding is a third of the cost."""
        params, progress, pages = self.params, self.progress, self.pages.pages
        rng, pool = progress.drawn_by, progress.pool
        while len(pool) < 8 * params.batch:
            index = rng.randrange(params.held_out, len(pages))
            page, questions = _asked(pages[index], rng, params.questions, params, self.phase, self.pieces)
            if questions:
                shown_at = 0 if rng.random() < 0.6 else rng.randrange(len(questions))
                with_list = rng.random() >= params.pixel_share
                image = self.pages.images[index]
                pool.append(_conversation(self.encoder, page, image, index, questions, shown_at, with_list))
        pool.sort(key=lambda sequence: len(sequence.ids))
        cut = rng.randrange(0, len(pool) - params.batch + 1)
        progress.pool = pool[:cut] + pool[cut + params.batch :]
        return pool[cut : cut + params.batch]


def _conversation(
    encoder: Encoder,
    page: Page,
    image: Image,
    index: int,
    questions: list[Question],
    shown_at: int,
    with_list: bool,
) -> Conversation:
    """Questions as a conversation. The page is shown with question `shown_at`; only the answers from there on are
    trained on."""
    ids = encoder.tokens(f"{IM_START}system\n{COMPACT}{IM_END}\n")
    labels = [-100] * len(ids)
    vision = (
        encoder.tokens(VISION_START)
        + [encoder.image_token_id] * encoder.vision.tokens(image)
        + encoder.tokens(VISION_END)
    )
    for number, question in enumerate(questions):
        context = encoder.tokens(f"{IM_START}user\nTask: {question.instruction}\n")
        if number == shown_at:
            context += vision
            if with_list:
                context += encoder.tokens("\n" + "\n".join(page.lines))
        context += encoder.tokens(f"{IM_END}\n{IM_START}assistant\n")
        response = [*encoder.tokens(question.response), encoder.end_id]
        ids += context + response + encoder.tokens("\n")
        labels += [-100] * len(context) + (response if number >= shown_at else [-100] * len(response)) + [-100]
    return Conversation(ids, labels, index)


def _asked(
    page: Page, rng: random.Random, count: int, params: PretrainParams, phase: PretrainPhase, pieces: list[str]
) -> tuple[Page, list[Question]]:
    """Up to `count` questions about a page, and the page as they ask about it."""
    questions = _questions(page, rng, count, params, phase)
    if not phase.respelled:
        return page, questions
    lines, questions = respell(page.lines, questions, rng, pieces, phase.respelled)
    return Page(page.png, lines), questions


def _questions(
    page: Page, rng: random.Random, count: int, params: PretrainParams, phase: PretrainPhase
) -> list[Question]:
    if params.kind_of(phase) == "applications":
        return ask_on_application(page.lines, rng, count)
    if params.kind_of(phase) == "sentences":
        return ask_in_sentences(page.lines, rng, count)
    return ask(page.lines, rng, random_label(rng), count, phase.points, phase.varied)


@torch.no_grad()
def accuracy(
    vlm: VLM, encoder: Encoder, pages: PageSet, params: PretrainParams, phase: PretrainPhase, seed: int
) -> dict[str, float]:
    """Shares of right answers of greedy decoding about held-out pages, with the element list and from the screenshot
    alone.

    An answer is right if it has the same tool calls, with every coordinate within 15 of 1000 (about half a small
    button).
    """
    vlm.model.eval()
    right: dict[str, list[bool]] = {"list": [], "pixels": []}
    pieces = word_pieces(vlm.tokenizer)
    for mode in right:
        rng = random.Random(seed)
        sets = [_asked(page, rng, 1, params, phase, pieces) for page in pages.pages[: pages.held_out]]
        items = [(index, page, question) for index, (page, questions) in enumerate(sets) for question in questions]
        for begin in range(0, len(items), 50):
            part = items[begin : begin + 50]
            sequences = [
                _conversation(encoder, page, pages.images[index], index, [question], 0, mode == "list")
                for index, page, question in part
            ]
            prompts = [s.ids[: next(k for k, label in enumerate(s.labels) if label != -100)] for s in sequences]
            inputs = encoder.collate(prompts, [[pages.images[s.page]] for s in sequences], pad="left")
            out = generate(
                vlm.model,
                inputs,
                max_new_tokens=72,
                do_sample=False,
                eos_token_id=encoder.end_id,
                pad_token_id=encoder.pad_id,
            )
            for (_, _, question), row in zip(part, out[:, inputs["input_ids"].shape[1] :].tolist(), strict=True):
                ids = row[: row.index(encoder.end_id)] if encoder.end_id in row else row
                right[mode].append(same_calls(encoder.decode(ids), question.response))
    return {f"accuracy_{mode}": round(sum(values) / len(values), 3) for mode, values in right.items()}


def same_calls(text: str, expected: str, tolerance: int = 15) -> bool:
    """Whether an answer has the expected tool calls, with every coordinate within `tolerance` of 1000."""
    actual, target = parse_response(text), parse_response(expected)
    if actual.error or len(actual.calls) != len(target.calls):
        return False
    for actual_call, target_call in zip(actual.calls, target.calls, strict=True):
        if actual_call.name != target_call.name or actual_call.arguments.keys() != target_call.arguments.keys():
            return False
        for key, value in target_call.arguments.items():
            other = actual_call.arguments[key]
            if isinstance(value, int) and isinstance(other, int) and abs(value - other) <= tolerance:
                continue
            if value != other:
                return False
    return True
