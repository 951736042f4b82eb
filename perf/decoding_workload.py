"""The prompts of `perf.decoding` and `perf.generate`, and the two ways to answer them: our policy and transformers."""

from __future__ import annotations

import random

import torch
from transformers import Qwen3VLForConditionalGeneration

from components.agent import Request
from components.agent.rendering import IM_END, IM_START, Prompt, Text
from components.model import Encoder
from components.model.vlm import generate as transformers_generate
from components.params import SamplingParams
from components.policies import TransformersPolicy
from components.records import Image
from components.training.page_rendering import render_pages
from components.training.pages import random_label
from components.training.questions import ask

SAMPLING = SamplingParams(temperature=0.8)


async def page_prompts(count: int) -> list[Prompt]:
    """At least `count` prompts with questions on generated pages, a screenshot in each."""
    rng = random.Random(1)
    prompts = []
    for page in await render_pages(count, seed=1):
        for question in ask(page.lines, rng, random_label(rng), 1):
            screenshot = Image.of(page.png)
            head = f"{IM_START}system\nx{IM_END}\n{IM_START}user\nTask: {question.instruction}\n"
            tail = "\n" + "\n".join(page.lines) + f"{IM_END}\n{IM_START}assistant\n"
            prompts.append(Prompt((Text(head), screenshot, Text(tail))))
    return prompts


async def answer_with_policy(policy: TransformersPolicy, prompt: Prompt, seed: int, max_tokens: int) -> int:
    """Answer with our policy. Returns the number of tokens."""
    return len((await policy.complete(Request(prompt, (), SAMPLING, max_tokens, seed))).token_ids)


@torch.inference_mode()
def answer_with_transformers(
    model: Qwen3VLForConditionalGeneration, encoder: Encoder, prompts: list[Prompt], max_tokens: int
) -> list[int]:
    """Answer all prompts in one batch of `transformers.generate`. Returns the number of tokens of each answer,
    including its end token."""
    encoded = [encoder.encode(prompt) for prompt in prompts]
    inputs = encoder.collate([e.ids for e in encoded], [e.images for e in encoded], pad="left")
    out = transformers_generate(
        model,
        inputs,
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
