"""What a machine lacks to reproduce a published result, each line with what to do. Nothing here costs money.

Looked at are the recipe in use, the checkpoint, the device, the task files, the addresses of sites that the user must
serve, the judge with its key, and whether names of hosts on the live web resolve.
"""

from __future__ import annotations

import os
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from components.benchmarks.checkpoints import absence
from components.benchmarks.judging import require_judge
from components.benchmarks.reproduction import Reproduction
from components.benchmarks.spec import Benchmark, BenchmarkError
from components.benchmarks.task_selection import judgeable_tasks
from components.judge import RuleError
from components.params import Params
from components.plan.hardware import gpus
from components.records import Task, start_tabs
from components.serving_limits import refusals, served_policy


def missing_everywhere(reproduction: Reproduction, params: Params, checkpoint: Path | None) -> list[str]:
    """What no benchmark can do without.

    Args:
        params: the recipe in use.
        checkpoint: the folder of the checkpoint (`find_checkpoint`); None if it is not here.
    """
    lines = []
    values = params.model_dump(mode="json")
    others = {key: _value(values, key) for key in reproduction.harness}
    others = {key: value for key, value in others.items() if value != reproduction.harness[key]}
    if others:
        named = ", ".join(f"{key} is {value!r} and not {reproduction.harness[key]!r}" for key, value in others.items())
        lines.append(f"the recipe in use has another harness ({named}): `waymark use {reproduction.recipe}`")
    if checkpoint is None:
        lines.append(absence(reproduction))
    vllm, listed = params.inference.vllm, len(gpus())
    starts_servers = params.inference.engine == "vllm" and not vllm.urls
    if params.model.device == "cuda" and not listed:
        lines.append("the recipe asks for a GPU, and nvidia-smi lists none: run on a machine with one")
    elif params.model.device == "cuda" and starts_servers and vllm.gpus[-1] >= listed:
        lines.append(
            f"the vLLM servers of the recipe take the GPUs {vllm.gpus[0]} to {vllm.gpus[-1]}, and nvidia-smi lists "
            f"{listed}, from 0 on: set inference.vllm.servers and first_gpu in a recipe of your own that extends it"
        )
    if starts_servers:
        served = served_policy(params)
        lines += refusals(params, replace(served, model=str(checkpoint or served.model)))
    if starts_servers and not Path(vllm.python).exists():
        lines.append(f"{vllm.python} does not exist: install vLLM as docs/how-to/first-run-on-a-gpu.md shows")
    return lines


def missing_for(benchmark: Benchmark, params: Params, files: Path) -> list[str]:
    """What one benchmark cannot do without, the judge that the claim was judged by included."""
    lines = []
    try:
        benchmark.over(params)
    except BenchmarkError as error:
        lines.append(str(error))
    tasks: list[Task] = []
    if benchmark.file is not None:
        try:
            tasks, _ = judgeable_tasks(benchmark, params, files)
        except (BenchmarkError, RuleError) as error:
            lines.append(str(error))
    lines += _judge(benchmark, params)
    if benchmark.reach.allowed_hosts == ["*"]:
        lines += _web(benchmark, tasks)
    return lines


def _judge(benchmark: Benchmark, params: Params) -> list[str]:
    try:
        require_judge(benchmark, params)
    except BenchmarkError as error:
        return [str(error)]
    if benchmark.judge_model is None or params.judge.model is None:
        return []
    endpoint = params.judge.model.endpoint
    lines = []
    if endpoint.model != benchmark.judge_model:
        lines.append(
            f"the claim was judged by {benchmark.judge_model}, and judge.model.endpoint.model of the recipe in use is "
            f"{endpoint.model}: set it before this benchmark"
        )
    if endpoint.key_variable is not None and not os.environ.get(endpoint.key_variable):
        lines.append(f"the judge's key is not in ${endpoint.key_variable}: export it")
    return lines


def _web(benchmark: Benchmark, tasks: list[Task]) -> list[str]:
    """A line if names of the benchmark's sites do not resolve. Hosts are reached through a proxy where one is set."""
    if any(os.environ.get(name) for name in ("HTTPS_PROXY", "https_proxy")):
        return []
    names = (urlsplit(start_tabs(task.start_url)[0]).hostname for task in tasks)
    hosts = list(dict.fromkeys(name for name in names if name))[:3]
    for host in hosts:
        try:
            socket.getaddrinfo(host, 443)
        except OSError:
            continue
        return []
    listed = ", ".join(hosts)
    return [f"{benchmark.name} is on the live web, and {listed} do not resolve: connect this machine"] if hosts else []


def _value(values: dict[str, Any], key: str) -> Any:
    """The value of a dotted key; None if there is none."""
    value: Any = values
    for part in key.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value
