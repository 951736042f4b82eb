"""What the benchmarks of decoding have in common: prompts on generated pages, our policy asked, and transformers."""

from __future__ import annotations

import random

import torch
from transformers import Qwen3VLForConditionalGeneration

from components.agent import Request
from components.agent.rendering import IM_END, IM_START, Prompt, Text
from components.params import SamplingParams
from components.policies import Encoder, TransformersPolicy
from components.records import Image
from components.training.pages import random_label, render_pages
from components.training.questions import ask

SAMPLING = SamplingParams(temperature=0.8)


async def questions(count: int) -> list[Prompt]:
    """Prompts on generated pages."""
    rng = random.Random(1)
    prompts = []
    for page in await render_pages(count, seed=1):
        for question in ask(page.lines, rng, random_label(rng), 1):
            shown = Image.of(page.png)
            head = f"{IM_START}system\nx{IM_END}\n{IM_START}user\nTask: {question.instruction}\n"
            tail = "\n" + "\n".join(page.lines) + f"{IM_END}\n{IM_START}assistant\n"
            prompts.append(Prompt((Text(head), shown, Text(tail))))
    return prompts


async def complete(policy: TransformersPolicy, prompt: Prompt, seed: int, max_tokens: int) -> int:
    """Ask our policy; returns the tokens of its answer."""
    return len((await policy.complete(Request(prompt, (), SAMPLING, max_tokens, seed))).token_ids)


@torch.inference_mode()
def generate(
    model: Qwen3VLForConditionalGeneration, encoder: Encoder, prompts: list[Prompt], max_tokens: int
) -> list[int]:
    """Ask transformers for all prompts in one batch; returns the tokens of each answer, up to its end token."""
    encoded = [encoder.encode(prompt) for prompt in prompts]
    inputs = encoder.collate([e.ids for e in encoded], [e.images for e in encoded], pad="left")
    out = model.generate(
        **inputs,
        max_new_tokens=max_tokens,
        do_sample=True,
        temperature=SAMPLING.temperature,
        top_k=SAMPLING.top_k,
        top_p=SAMPLING.top_p,
        eos_token_id=encoder.end_id,
        pad_token_id=encoder.pad_id,
    )
    rows = out[:, inputs["input_ids"].shape[1] :].tolist()
    return [row.index(encoder.end_id) + 1 if encoder.end_id in row else len(row) for row in rows]
