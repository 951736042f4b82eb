"""The evaluator of `webarena-verified` as a process: one JSON request per line of standard input, one answer per line.

It runs in the environment `.venv-verified` (`make verified`), where neither Waymark nor its packages are installed,
so it imports none of them. A request has `row` (a row of the published file), `environments` (an address per
placeholder of its sites), `answer` (the agent's response, as text, or null) and `entries` (the entries of the
episode's HAR). The answer has `status` (success, failure or error), `error`, and `checks`, one per evaluator of the
row: its name, status and messages.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import MappingProxyType
from typing import Any

from webarena_verified.api.internal.data_reader import WebArenaVerifiedDataReader
from webarena_verified.api.internal.evaluator import WebArenaVerifiedEvaluator
from webarena_verified.types.config import EnvironmentConfig, WebArenaVerifiedConfig
from webarena_verified.types.eval import WEBARENA_VERIFIED_VERSION, EvaluatorResult, TaskEvalContext
from webarena_verified.types.task import WebArenaSite, WebArenaVerifiedTask
from webarena_verified.types.tracing import NetworkEvent, NetworkTrace

READER = WebArenaVerifiedDataReader(WebArenaVerifiedConfig())
SITES = {site.url_name_template: site for site in WebArenaSite}


def evaluate(request: dict[str, Any]) -> dict[str, Any]:
    """The evaluator's result on one episode."""
    environments = {
        SITES[placeholder]: EnvironmentConfig(urls=[address])
        for placeholder, address in request["environments"].items()
    }
    config = WebArenaVerifiedConfig(environments=environments)
    trace = NetworkTrace.model_construct(
        is_playwright=False,
        src_file=Path("network.har"),
        events=tuple(NetworkEvent(data=MappingProxyType(entry)) for entry in request["entries"]),
    )
    context = TaskEvalContext(
        task=WebArenaVerifiedTask.model_validate(request["row"]),
        agent_response_raw=request["answer"],
        network_trace=trace,
        config=config,
    )
    result = WebArenaVerifiedEvaluator(config=config, reader=READER).evaluate_task(context=context)
    return {
        "status": str(result.status),
        "error": result.error_msg,
        "checks": [check(evaluator) for evaluator in result.evaluators_results],
    }


def check(result: EvaluatorResult) -> dict[str, Any]:
    """One evaluator's result: its name, its status, and the messages of what did not hold."""
    messages = [message for assertion in result.assertions or () for message in assertion.assertion_msgs or ()]
    errors = [assertion.error_msg for assertion in result.assertions or () if assertion.error_msg]
    return {
        "name": result.evaluator_name,
        "status": str(result.status),
        "messages": [*messages, *errors, *([result.error_msg] if result.error_msg else [])],
    }


def main() -> None:
    """Answer requests until standard input ends. The first line says which version of the package answers."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what the package prints is no answer
    print(json.dumps({"version": WEBARENA_VERIFIED_VERSION}), file=answers, flush=True)
    for line in sys.stdin:
        try:
            answer = evaluate(json.loads(line))
        except Exception as error:  # the request is answered, and the next one is not lost
            answer = {"status": "error", "error": f"{type(error).__name__}: {error}", "checks": []}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
