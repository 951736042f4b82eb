"""The small base before training: its tokenizer, and a Qwen3-VL with random weights."""

from __future__ import annotations

import random

import torch
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3VLConfig, Qwen3VLForConditionalGeneration
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from components.agent.protocols.openwebrl import COMPACT
from components.agent.rendering import IM_END, IM_START
from components.model.encoding import IMAGE_PAD, VISION_END, VISION_START, token_id
from components.model.vlm import VLM
from components.params import PretrainParams
from components.training.pages import Page, random_word
from components.training.questions import ask

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
        size=image_sizes(params),
        image_mean=[0.5, 0.5, 0.5],
        image_std=[0.5, 0.5, 0.5],
    )
    return VLM(model, tokenizer, processor)


def image_sizes(params: PretrainParams) -> dict[str, int]:
    """The image processor's sizes: these "edges" are numbers of pixels."""
    return {"shortest_edge": 32 * 32, "longest_edge": params.max_pixels}
