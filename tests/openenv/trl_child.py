"""Runs the Python of docs/how-to/use-another-trainer.md in the environment of TRL: `trl_child.py URL PAGE TOKENIZER`.

First an episode with screenshots, without a model. Then a step of training: the model is a text model of two layers
whose answers are scripted. Of two answers, the first clicks the button of the task and the second does not; then both
call `done`. Last line: JSON.
"""

from __future__ import annotations

import json
import re
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import torch
from transformers import AutoTokenizer, Qwen3Config, Qwen3ForCausalLM

URL, PAGE, FOLDER = sys.argv[1:]
BLOCKS = [
    block.replace("http://127.0.0.1:8010", URL).replace("/demo/", "/smoke/")
    for block in re.findall(r"```python\n(.*?)```", Path(PAGE).read_text(), re.DOTALL)
]
TOKENIZER = AutoTokenizer.from_pretrained(FOLDER)
TOKENIZER.chat_template = files("trl").joinpath("chat_templates/qwen3.jinja").read_text()


class Scripted(Qwen3ForCausalLM):
    """Answers by the text of its prompt."""

    def generate(self, input_ids: torch.Tensor, **options: object) -> torch.Tensor:
        prompts = [TOKENIZER.decode(row) for row in input_ids]
        answers = [TOKENIZER.encode(answer(prompt, row) + "<|im_end|>") for row, prompt in enumerate(prompts)]
        width = max(map(len, answers))
        padded = [ids + [TOKENIZER.pad_token_id] * (width - len(ids)) for ids in answers]
        return torch.cat([input_ids, torch.tensor(padded)], dim=1)


def answer(prompt: str, row: int) -> str:
    _, _, conversation = prompt.partition("Do the task in the browser.")
    results = conversation.count("<tool_response>")
    name = re.search(r'Click on the "(.*?)" button', conversation)
    assert name is not None, prompt
    point = re.search(rf'button "{re.escape(name[1])}" (\d+) (\d+)', conversation)
    assert point is not None, prompt
    click = {"name": "click", "arguments": {"x": float(point[1]), "y": float(point[2])}}
    done = {"name": "done", "arguments": {"answer": ""}}
    steps = [click, done] if (row == 0 and results < 2) or "executed" in conversation else [done]
    return f"<tool_call>\n{json.dumps(steps[results])}\n</tool_call>" if results < len(steps) else "I am ready."


def check_screenshots() -> None:
    """An episode by hand, with a model that sees images."""
    space: dict[str, Any] = {}
    exec(BLOCKS[1].replace("SCREENSHOTS = False", "SCREENSHOTS = True"), space)
    browser = space["WebTask"]()
    text, image = browser.reset(task_id="miniwob/click-button/0")
    assert "Click on the" in text["text"], text
    assert image["image"].size == (160, 210), image
    text, image = browser.click(x=1, y=1)
    assert text["text"].startswith("Succeed"), text
    assert browser.get_reward() == 0.0
    last = browser.done(answer="")
    assert "The task has ended" in last[0]["text"], last
    assert browser.click(x=1, y=1) == "The task has ended. Make no further call."
    assert browser.get_reward() == 0.0
    browser.reset(task_id="miniwob/click-button/0")
    try:
        browser.click(x="left", y=1)
        browser._client.close()
        browser.click(x=1, y=1)
    except Exception as error:
        print(f"without a connection: {type(error).__name__}")
    assert browser.get_reward() is None
    browser._client.close()


def main() -> None:
    exec(BLOCKS[0], {})
    check_screenshots()
    config = Qwen3Config(
        vocab_size=len(TOKENIZER), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=2, head_dim=16,
    )  # fmt: skip
    space = {"MODEL": Scripted(config), "TOKENIZER": TOKENIZER}
    exec(BLOCKS[1], space)
    training = BLOCKS[2].replace("GRPOTrainer(", "GRPOTrainer(processing_class=TOKENIZER, ", 1)
    training = training.replace("in tasks]", 'in tasks if "/click-button/" in task["id"]]', 1)
    options = "use_cpu=True, report_to=[], logging_steps=1"
    exec(training.replace("GRPOConfig(", f"GRPOConfig({options}, ", 1), space)
    print(json.dumps(space["trainer"].state.log_history))


if __name__ == "__main__":
    main()
