"""The command: `python -m perf.gpu_check` writes a report and exits with 1 if the check did not pass.

It runs from a checkout that is not installed: docs/how-to/first-run-on-a-gpu.md names the packages, and
tests/test_light_imports.py runs it with these alone.
"""

from __future__ import annotations

import components.stages  # noqa: F401, isort: skip  (thread settings, before torch)

import argparse
import contextlib
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from perf.gpu_check.report import PARTS, run_parts
from perf.gpu_check.setting import FORMS, TRAINED, TURNS, DeviceKind, Setting, Size
from perf.training_workload import PUBLISHED

LIMIT_S = 1500.0
"""The whole check in the full size, in seconds."""
OTHERS_S = 540.0
"""What exactness, generation, serving and the last step of the part `training` may take of it."""
CASES: dict[str, tuple[Any, ...]] = {
    "models": tuple(PUBLISHED),
    "trained": TRAINED,
    "forms": FORMS,
    "turns": TURNS,
}
"""What the part `training` measures: fields of `Setting`, and options of the command."""
LEARNING_S: dict[Size, float] = {"full": 600.0, "tiny": 20.0}


def without_gpu() -> str:
    """Why there is nothing to check, and what to do."""
    cause = "is a CPU build: install one with CUDA" if torch.version.cuda is None else "finds no GPU: see nvidia-smi"
    return f"PyTorch {torch.__version__} {cause}; --device cpu runs a test of the check itself, in tiny sizes"


def main(arguments: Sequence[str] | None = None) -> int:
    """Check, print the report as one line of JSON on stdout, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m perf.gpu_check", description="Does training work on this GPU?")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--size", choices=("tiny", "full"), help="full on a GPU, tiny on a CPU")
    parser.add_argument(
        "--device", choices=("cpu", "cuda"), default="cuda", help="cpu: a test of the check, tiny sizes"
    )
    parser.add_argument("--seconds", type=float, help="of training in the part learning: 600, or 20 if tiny")
    for name, choices in CASES.items():
        kind = type(choices[0])
        parser.add_argument(f"--{name}", nargs="+", type=kind, choices=choices, default=choices, help="of training")
    parser.add_argument("--vllm", default=Setting.vllm, metavar="PYTHON", help="of vLLM's environment, for serving")
    parser.add_argument("--vllm-engine", type=json.loads, default={}, metavar="JSON", help="further engine arguments")
    parser.add_argument("--served-model", choices=tuple(PUBLISHED), default=Setting.served_model, help="of serving")
    parser.add_argument("--logs", type=Path, help="a directory for the servers' logs")
    parser.add_argument("--training-seconds", type=float, help="for the part training; what the limit leaves, if unset")
    parser.add_argument("--output", type=Path, help="a file for the report, too")
    options = parser.parse_args(arguments)
    device: DeviceKind = options.device
    if device == "cuda" and not torch.cuda.is_available():
        parser.error(without_gpu())
    size: Size = options.size or ("full" if device == "cuda" else "tiny")
    learning_s = options.seconds or LEARNING_S[size]
    training_s = options.training_seconds or max(60.0, LIMIT_S - learning_s - OTHERS_S)
    cases: dict[str, Any] = {name: tuple(getattr(options, name)) for name in CASES}
    setting = Setting(
        device,
        size,
        learning_s,
        training_s,
        **cases,
        vllm=options.vllm,
        engine=options.vllm_engine,
        served_model=options.served_model,
        logs=options.logs,
    )
    with contextlib.redirect_stdout(sys.stderr):  # libraries print, and the last line of stdout is the report
        report = run_parts(setting, options.parts)
    values = asdict(report)
    if options.output is not None:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(json.dumps(values, indent=1) + "\n")
    print(json.dumps(values), flush=True)
    return 0 if report.passed else 1


if __name__ == "__main__":
    sys.exit(main())
