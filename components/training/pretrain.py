"""The small base: a Qwen3-VL from random weights, trained on questions about generated pages.

Run once by the frozen stage `pretrain_base`; its result is committed in `data/base_model`. One sequence per page: the
page's screenshot and element list, shown with one of several questions, so that the model learns to read the list both
before and after it knows what is asked, and to answer after a history. A share of the sequences shows the screenshot
alone, for the recipes that train on pixels.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3VLConfig, Qwen3VLForConditionalGeneration
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from components.agent.grammar import parse_response
from components.agent.protocols.openwebrl import COMPACT
from components.agent.rendering import IM_END, IM_START
from components.policies.encoding import IMAGE_PAD, VISION_END, VISION_START, Encoder
from components.policies.vlm import VLM
from components.records import Image
from components.training.pages import Page, random_label, random_word
from components.training.questions import Question, ask

SPECIAL = ["<|endoftext|>", IM_START, IM_END, VISION_START, VISION_END, IMAGE_PAD, "<|video_pad|>"]
MARKS = ["<think>", "</think>", "<tool_call>", "</tool_call>"]
CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}{% for part in message['content'] %}"
    "{% if part['type'] == 'text' %}{{ part['text'] }}{% else %}<|vision_start|><|image_pad|><|vision_end|>{% endif %}"
    "{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)

HELD_OUT = 100
"""Pages never trained on, to measure accuracy."""


@dataclass(frozen=True)
class Phase:
    """A part of the curriculum: first thoughts name what they mean, then they give its point too (`points`), and at
    last the questions come in wordings of all kinds (`varied`).

    The rate rises over `warmup_steps` and falls linearly to 2% over `decay_steps`; each phase has its own optimiser.
    """

    steps: int
    decay_steps: int
    warmup_steps: int
    points: bool
    varied: bool = False


@dataclass(frozen=True)
class PretrainConfig:
    """Everything that makes the base what it is."""

    pages: int = 10_000
    phases: tuple[Phase, ...] = (
        Phase(steps=600, decay_steps=950, warmup_steps=100, points=False),
        Phase(steps=1300, decay_steps=1300, warmup_steps=30, points=True),
        Phase(steps=1000, decay_steps=1000, warmup_steps=50, points=True, varied=True),
    )
    seed: int = 7
    vocabulary: int = 2560
    hidden: int = 192
    layers: int = 4
    vision_hidden: int = 96
    vision_depth: int = 3
    patch: int = 16
    lr: float = 1.5e-3
    batch: int = 32
    questions: int = 6
    pixel_share: float = 0.15


def train_tokenizer(pages: list[Page], config: PretrainConfig) -> PreTrainedTokenizerFast:
    """A byte-level BPE with the Qwen special tokens. Words, numbers of up to 3 digits and punctuation stay apart."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\p{L}+|\p{N}{1,3}|\n+|[^\p{L}\p{N}\n]+"), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    rng = random.Random(config.seed)
    corpus = [*(" ".join(page.lines) for page in pages), *_harness_texts(rng), *(f"{n} " * 400 for n in range(1001))]
    corpus += [q.instruction + q.response for page in pages for q in ask(page.lines, rng, random_word(rng), 4)]
    trainer = trainers.BpeTrainer(
        vocab_size=config.vocabulary - len(MARKS),
        special_tokens=SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(corpus, trainer)
    tokenizer.add_tokens([AddedToken(mark, normalized=False) for mark in MARKS])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token=IM_END, pad_token="<|endoftext|>", chat_template=CHAT_TEMPLATE
    )


def _harness_texts(rng: random.Random) -> list[str]:
    """What the harness says at run time, so that its words are short in tokens. Not trained on, only counted."""
    lines = []
    for _ in range(3000):
        word, role = random_word(rng), rng.choice(["button", "a", "input", "div", "span", "label"])
        no_effect = "Note: no visible navigation or new tab detected."
        lines.append(f'Succeed: `click` on <{role}> "{word}" at (512, 86) executed. {no_effect}')
        lines.append(
            f'Succeed: `write` typed "{word}" into <input> "{word}".\nSucceed: task marked as done. Response: {word}'
        )
        lines.append(f"system\n{COMPACT}user\nTask: {word}\nURL: http://{word}/{word}.html\nassistant\n")
        lines.append(f"Verdict: SUCCESS\nVerdict: NOT SUCCESS\nasked: {word} did:")
        lines.append("Failed: `write` no field is focused. Checked. Unchecked. Page navigated to http://")
    return lines


def new_vlm(tokenizer: PreTrainedTokenizerFast, config: PretrainConfig) -> VLM:
    """The untrained model."""
    torch.manual_seed(config.seed)
    ids = {token: tokenizer.convert_tokens_to_ids(token) for token in SPECIAL}
    heads, head_dim = 4, 48
    model_config = Qwen3VLConfig(
        text_config={
            "vocab_size": len(tokenizer),
            "hidden_size": config.hidden,
            "intermediate_size": 2 * config.hidden,
            "num_hidden_layers": config.layers,
            "num_attention_heads": heads,
            "num_key_value_heads": 2,
            "head_dim": head_dim,
            "max_position_embeddings": 8192,
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": 10000.0,
                "mrope_section": [8, 8, 8],
                "mrope_interleaved": True,
            },
            "tie_word_embeddings": True,
            "bos_token_id": None,
            "eos_token_id": ids[IM_END],
            "pad_token_id": ids["<|endoftext|>"],
        },
        vision_config={
            "depth": config.vision_depth,
            "hidden_size": config.vision_hidden,
            "intermediate_size": 3 * config.vision_hidden,
            "num_heads": 4,
            "out_hidden_size": config.hidden,
            "patch_size": config.patch,
            "spatial_merge_size": 2,
            "temporal_patch_size": 2,
            "deepstack_visual_indexes": [0, 1],
            "num_position_embeddings": 784,
        },
        image_token_id=ids[IMAGE_PAD],
        video_token_id=ids["<|video_pad|>"],
        vision_start_token_id=ids[VISION_START],
        vision_end_token_id=ids[VISION_END],
        tie_word_embeddings=True,
    )
    model = Qwen3VLForConditionalGeneration(model_config)
    model.generation_config.eos_token_id = ids[IM_END]
    model.generation_config.pad_token_id = ids["<|endoftext|>"]
    processor = Qwen2VLImageProcessorPil(
        patch_size=config.patch,
        temporal_patch_size=2,
        merge_size=2,
        size={"shortest_edge": 32 * 32, "longest_edge": 1280 * 1280},
        image_mean=[0.5, 0.5, 0.5],
        image_std=[0.5, 0.5, 0.5],
    )
    return VLM(model, tokenizer, processor)


@dataclass(frozen=True)
class _Sequence:
    ids: list[int]
    labels: list[int]
    images: list[Image]


def _sequence(
    encoder: Encoder, page: Page, image: Image, questions: list[Question], shown_at: int, with_list: bool
) -> _Sequence:
    """Questions as a conversation; the page is shown with question `shown_at` and answers count from there on."""
    ids = encoder.tokens(f"{IM_START}system\n{COMPACT}{IM_END}\n")
    labels = [-100] * len(ids)
    vision = (
        encoder.tokens(VISION_START)
        + [encoder.image_token_id] * encoder._image_tokens(image)
        + encoder.tokens(VISION_END)
    )
    for index, question in enumerate(questions):
        context = encoder.tokens(f"{IM_START}user\nTask: {question.instruction}\n")
        if index == shown_at:
            context += vision
            if with_list:
                context += encoder.tokens("\n" + "\n".join(page.lines))
        context += encoder.tokens(f"{IM_END}\n{IM_START}assistant\n")
        response = [*encoder.tokens(question.response), encoder.end_id]
        ids += context + response + encoder.tokens("\n")
        labels += [-100] * len(context) + (response if index >= shown_at else [-100] * len(response)) + [-100]
    return _Sequence(ids, labels, [image])


def pretrain(pages: list[Page], config: PretrainConfig, report: Callable[[dict], None]) -> VLM:
    """Train the base on all but the first `HELD_OUT` pages; `report` gets loss and accuracy as they come."""
    vlm = new_vlm(train_tokenizer(pages, config), config)
    images = [Image.of(page.png) for page in pages]
    for number, phase in enumerate(config.phases):
        train_phase(vlm, pages, images, config, number, report)
        figures = accuracy(vlm, Encoder(vlm), pages[:HELD_OUT], images[:HELD_OUT], phase, seed=2)
        report({"step": sum(p.steps for p in config.phases[: number + 1]), **figures})
    return vlm


def train_phase(
    vlm: VLM,
    pages: list[Page],
    images: list[Image],
    config: PretrainConfig,
    number: int,
    report: Callable[[dict], None],
) -> None:
    """One phase of the curriculum, in place."""
    phase, model, encoder = config.phases[number], vlm.model, Encoder(vlm)
    before = sum(p.steps for p in config.phases[:number])
    rng = random.Random(config.seed + number)
    matrices = [p for p in model.parameters() if p.ndim > 1]
    vectors = [p for p in model.parameters() if p.ndim <= 1]
    groups = [{"params": matrices, "weight_decay": 0.01}, {"params": vectors, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=config.lr, betas=(0.9, 0.98))
    started, asked = time.monotonic(), 0
    pool: list[_Sequence] = []
    model.train()
    for step in range(1, phase.steps + 1):
        batch, pool = _draw(pool, encoder, pages, images, config, phase, rng)
        for group in optimizer.param_groups:
            group["lr"] = config.lr * min(1.0, step / phase.warmup_steps) * max(0.02, 1 - step / phase.decay_steps)
        inputs = encoder.collate([s.ids for s in batch], [s.images for s in batch], pad="right")
        labels = torch.full_like(inputs["input_ids"], -100)
        for row, sequence in enumerate(batch):
            labels[row, : len(sequence.labels)] = torch.tensor(sequence.labels)
        # bfloat16 products, float32 weights: faster where the CPU has them, and nothing here must be exact
        with torch.autocast(model.device.type, torch.bfloat16):
            hidden = model.model(**inputs, use_cache=False).last_hidden_state[:, :-1]
            wanted = labels[:, 1:] != -100
            logits = model.lm_head(hidden[wanted]).float()
        loss = torch.nn.functional.cross_entropy(logits, labels[:, 1:][wanted])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        asked += int((labels == encoder.end_id).sum())
        if step % 25 == 0:
            seconds = round(time.monotonic() - started)
            report({"step": before + step, "questions": asked, "loss": round(loss.item(), 4), "seconds": seconds})
        if step % 200 == 0:
            figures = accuracy(vlm, encoder, pages[:HELD_OUT], images[:HELD_OUT], phase, seed=1)
            report({"step": before + step, **figures})
            model.train()
    model.eval()


def _draw(
    pool: list[_Sequence],
    encoder: Encoder,
    pages: list[Page],
    images: list[Image],
    config: PretrainConfig,
    phase: Phase,
    rng: random.Random,
) -> tuple[list[_Sequence], list[_Sequence]]:
    """A batch, and what stays in the pool. Like lengths share a batch: padding is a third of the cost otherwise."""
    while len(pool) < 8 * config.batch:
        index = rng.randrange(HELD_OUT, len(pages))
        questions = ask(pages[index].lines, rng, random_label(rng), config.questions, phase.points, phase.varied)
        if questions:
            shown_at = 0 if rng.random() < 0.6 else rng.randrange(len(questions))
            with_list = rng.random() >= config.pixel_share
            pool.append(_sequence(encoder, pages[index], images[index], questions, shown_at, with_list))
    pool = sorted(pool, key=lambda sequence: len(sequence.ids))
    cut = rng.randrange(0, len(pool) - config.batch + 1)
    return pool[cut : cut + config.batch], pool[:cut] + pool[cut + config.batch :]


@torch.no_grad()
def accuracy(
    vlm: VLM, encoder: Encoder, pages: list[Page], images: list[Image], phase: Phase, seed: int
) -> dict[str, float]:
    """Share of right answers on pages never trained on, greedy: with the list and from the screenshot alone.

    Right means the same tool calls, with every coordinate within 15 of 1000 (about half a small button).
    """
    vlm.model.eval()
    right: dict[str, list[bool]] = {"list": [], "pixels": []}
    for mode in right:
        rng = random.Random(seed)
        items = [
            (i, q)
            for i in range(len(pages))
            for q in ask(pages[i].lines, rng, random_label(rng), 1, phase.points, phase.varied)
        ]
        for begin in range(0, len(items), 50):
            part = items[begin : begin + 50]
            sequences = [_sequence(encoder, pages[i], images[i], [q], 0, mode == "list") for i, q in part]
            prompts = [s.ids[: next(k for k, label in enumerate(s.labels) if label != -100)] for s in sequences]
            inputs = encoder.collate(prompts, [s.images for s in sequences], pad="left")
            out = vlm.model.generate(
                **inputs, max_new_tokens=72, do_sample=False, eos_token_id=encoder.end_id, pad_token_id=encoder.pad_id
            )
            for (_, question), row in zip(part, out[:, inputs["input_ids"].shape[1] :].tolist(), strict=True):
                ids = row[: row.index(encoder.end_id)] if encoder.end_id in row else row
                right[mode].append(_same_calls(encoder.decode(ids), question.response))
    return {f"accuracy_{mode}": round(sum(values) / len(values), 3) for mode, values in right.items()}


def _same_calls(text: str, wanted: str) -> bool:
    got, want = parse_response(text), parse_response(wanted)
    if got.error or len(got.calls) != len(want.calls):
        return False
    for a, b in zip(got.calls, want.calls, strict=True):
        if a.name != b.name or a.arguments.keys() != b.arguments.keys():
            return False
        for key, value in b.arguments.items():
            other = a.arguments[key]
            if isinstance(value, int) and isinstance(other, int) and abs(value - other) <= 15:
                continue
            if value != other:
                return False
    return True


__all__ = ["PretrainConfig", "accuracy", "new_vlm", "pretrain", "train_tokenizer"]
