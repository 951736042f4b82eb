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

import torch
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3VLConfig, Qwen3VLForConditionalGeneration
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from components.agent.grammar import parse_response
from components.agent.protocols.openwebrl import COMPACT
from components.agent.rendering import IM_END, IM_START
from components.memory import release_free_memory
from components.model.encoding import IMAGE_PAD, VISION_END, VISION_START, Encoder, token_id
from components.model.vlm import VLM, generate
from components.params import ModelParams, PageKindName, PretrainParams, PretrainPhase
from components.records import Image
from components.training.application_questions import ask_on_application
from components.training.pages import Page, random_label, random_word
from components.training.questions import Question, ask
from components.training.respelling import respell, word_pieces
from components.training.sentence_questions import ask_in_sentences

SPECIAL = ["<|endoftext|>", IM_START, IM_END, VISION_START, VISION_END, IMAGE_PAD, "<|video_pad|>"]
MARKS = ["<think>", "</think>", "<tool_call>", "</tool_call>"]
CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}{% for part in message['content'] %}"
    "{% if part['type'] == 'text' %}{{ part['text'] }}{% else %}<|vision_start|><|image_pad|><|vision_end|>{% endif %}"
    "{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def train_tokenizer(pages: list[Page], params: PretrainParams) -> PreTrainedTokenizerFast:
    """Train a byte-level BPE with Qwen's special tokens. A token never spans words, numbers of up to 3 digits and
    punctuation."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\p{L}+|\p{N}{1,3}|\n+|[^\p{L}\p{N}\n]+"), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    rng = random.Random(params.seed)
    corpus = [*(" ".join(page.lines) for page in pages), *_harness_texts(rng), *(f"{n} " * 400 for n in range(1001))]
    corpus += [q.instruction + q.response for page in pages for q in ask(page.lines, rng, random_word(rng), 4)]
    trainer = trainers.BpeTrainer(
        vocab_size=params.vocabulary - len(MARKS),
        special_tokens=SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(corpus, trainer)
    tokenizer.add_tokens([AddedToken(mark, normalized=False) for mark in MARKS])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token=IM_END, pad_token="<|endoftext|>", chat_template=CHAT_TEMPLATE
    )


def _harness_texts(rng: random.Random) -> list[str]:
    """Texts that the harness writes at run time, so that its words need few tokens. The tokenizer counts them; the
    model is not trained on them."""
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


def new_vlm(tokenizer: PreTrainedTokenizerFast, params: PretrainParams) -> VLM:
    """The model with random weights."""
    torch.manual_seed(params.seed)
    ids = {token: token_id(tokenizer, token) for token in SPECIAL}
    heads, head_dim = 4, 48
    model_config = Qwen3VLConfig(
        text_config={
            "vocab_size": len(tokenizer),
            "hidden_size": params.hidden,
            "intermediate_size": 2 * params.hidden,
            "num_hidden_layers": params.layers,
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
            "depth": params.vision_depth,
            "hidden_size": params.vision_hidden,
            "intermediate_size": 3 * params.vision_hidden,
            "num_heads": 4,
            "out_hidden_size": params.hidden,
            "patch_size": params.patch,
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
        patch_size=params.patch,
        temporal_patch_size=2,
        merge_size=2,
        size=_limits(params),
        image_mean=[0.5, 0.5, 0.5],
        image_std=[0.5, 0.5, 0.5],
    )
    return VLM(model, tokenizer, processor)


def _limits(params: PretrainParams) -> dict[str, int]:
    """The image processor's sizes: these "edges" are numbers of pixels."""
    return {"shortest_edge": 32 * 32, "longest_edge": params.max_pixels}


@dataclass(frozen=True)
class _Sequence:
    ids: list[int]
    labels: list[int]
    images: list[Image]


def _sequence(
    encoder: Encoder, page: Page, image: Image, questions: list[Question], shown_at: int, with_list: bool
) -> _Sequence:
    """Questions as a conversation. The page is shown with question `shown_at`; only the answers from there on are
    trained on."""
    ids = encoder.tokens(f"{IM_START}system\n{COMPACT}{IM_END}\n")
    labels = [-100] * len(ids)
    vision = (
        encoder.tokens(VISION_START)
        + [encoder.image_token_id] * encoder.vision.tokens(image)
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


def pretrain(
    pages_of: Mapping[PageKindName, list[Page]], params: PretrainParams, report: Callable[[dict], None]
) -> VLM:
    """Train the base, phase by phase; `report` gets figures of loss and accuracy.

    Args:
        pages_of: the pages of each kind that `params` names. The first `params.held_out` of each are not trained on.
    """
    if params.start:
        begun = VLM.load(params.start, ModelParams(base=params.start, judge_base=params.start), train=True)
        images_as = Qwen2VLImageProcessorPil.from_pretrained(params.start, size=_limits(params))
        vlm = VLM(begun.model, begun.tokenizer, images_as)
    else:
        vlm = new_vlm(train_tokenizer(pages_of[params.kind], params), params)
    images_of = {kind: [Image.of(page.png) for page in pages] for kind, pages in pages_of.items()}
    for number, phase in enumerate(params.phases):
        pages, images = pages_of[params.kind_of(phase)], images_of[params.kind_of(phase)]
        train_phase(vlm, pages, images, params, number, report)
        figures = accuracy(
            vlm, Encoder(vlm), pages[: params.held_out], images[: params.held_out], params, phase, seed=2
        )
        report({"step": sum(p.steps for p in params.phases[: number + 1]), **figures})
    return vlm


def train_phase(
    vlm: VLM,
    pages: list[Page],
    images: list[Image],
    params: PretrainParams,
    number: int,
    report: Callable[[dict], None],
) -> None:
    """Train one phase of the curriculum, in place."""
    phase, model, encoder = params.phases[number], vlm.model, Encoder(vlm)
    before = sum(p.steps for p in params.phases[:number])
    rng = random.Random(params.seed + number)
    matrices = [p for p in model.parameters() if p.ndim > 1]
    vectors = [p for p in model.parameters() if p.ndim <= 1]
    groups = [{"params": matrices, "weight_decay": 0.01}, {"params": vectors, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=params.lr, betas=(0.9, 0.98))
    started, question_count = time.monotonic(), 0
    pool: list[_Sequence] = []
    pieces = word_pieces(vlm.tokenizer)
    model.train()
    for step in range(1, phase.steps + 1):
        batch, pool = _draw(pool, encoder, pages, images, params, phase, pieces, rng)
        for group in optimizer.param_groups:
            group["lr"] = params.lr * min(1.0, step / phase.warmup_steps) * max(0.02, 1 - step / phase.decay_steps)
        inputs = encoder.collate([s.ids for s in batch], [s.images for s in batch], pad="right")
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
        optimizer.step()
        optimizer.zero_grad()
        question_count += int((labels == encoder.end_id).sum())
        if step % 5 == 0:
            release_free_memory()
        if step % 25 == 0:
            seconds = round(time.monotonic() - started)
            report(
                {"step": before + step, "questions": question_count, "loss": round(loss.item(), 4), "seconds": seconds}
            )
        if step % 200 == 0:
            figures = accuracy(vlm, encoder, pages[: params.held_out], images[: params.held_out], params, phase, seed=1)
            report({"step": before + step, **figures})
            model.train()
    model.eval()


def _draw(
    pool: list[_Sequence],
    encoder: Encoder,
    pages: list[Page],
    images: list[Image],
    params: PretrainParams,
    phase: PretrainPhase,
    pieces: list[str],
    rng: random.Random,
) -> tuple[list[_Sequence], list[_Sequence]]:
    """A batch, and the rest of the pool. Sequences of similar lengths share a batch; otherwise padding is a third of
    the cost."""
    while len(pool) < 8 * params.batch:
        index = rng.randrange(params.held_out, len(pages))
        page, questions = _asked(pages[index], rng, params.questions, params, phase, pieces)
        if questions:
            shown_at = 0 if rng.random() < 0.6 else rng.randrange(len(questions))
            with_list = rng.random() >= params.pixel_share
            pool.append(_sequence(encoder, page, images[index], questions, shown_at, with_list))
    pool = sorted(pool, key=lambda sequence: len(sequence.ids))
    cut = rng.randrange(0, len(pool) - params.batch + 1)
    return pool[cut : cut + params.batch], pool[:cut] + pool[cut + params.batch :]


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
    vlm: VLM,
    encoder: Encoder,
    pages: list[Page],
    images: list[Image],
    params: PretrainParams,
    phase: PretrainPhase,
    seed: int,
) -> dict[str, float]:
    """Shares of right answers of greedy decoding, with the element list and from the screenshot alone.

    An answer is right if it has the same tool calls, with every coordinate within 15 of 1000 (about half a small
    button).
    """
    vlm.model.eval()
    right: dict[str, list[bool]] = {"list": [], "pixels": []}
    pieces = word_pieces(vlm.tokenizer)
    for mode in right:
        rng = random.Random(seed)
        sets = [_asked(page, rng, 1, params, phase, pieces) for page in pages]
        items = [(page, image, q) for (page, qs), image in zip(sets, images, strict=True) for q in qs]
        for begin in range(0, len(items), 50):
            part = items[begin : begin + 50]
            sequences = [_sequence(encoder, page, image, [q], 0, mode == "list") for page, image, q in part]
            prompts = [s.ids[: next(k for k, label in enumerate(s.labels) if label != -100)] for s in sequences]
            inputs = encoder.collate(prompts, [s.images for s in sequences], pad="left")
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
