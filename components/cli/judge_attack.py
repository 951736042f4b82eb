"""`waymark judge attack`: what answers that know nothing win by rules, and what changed failures win from a judge."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import Counter
from contextlib import nullcontext
from typing import TYPE_CHECKING

from components.cli.command import Subparsers, fail, nonempty, nonempty_path, positive, web_address
from components.cli.judge_run import WITHOUT_MODEL, add_endpoint, add_format, recipe_of
from components.cli.one_command import CommandBusy, only_command
from components.cli.registered_judges import registered_protocols

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from components.judge.attack_judge import AttackedJudge, JudgeAttackResult
    from components.judge.failures import Failures
    from components.params import Params

TRIES = 3
"""Answers of the attacker for a failure, without `--tries`."""
EVERY = 20
"""Verdicts between two lines of progress."""


_OF_ATTACKER = ("attacker_url", "attacker_model", "attacker_key_variable", "tries")


def add_attack(commands: Subparsers) -> None:
    """Register `judge attack`."""
    parser = commands.add_parser(
        "attack",
        help="how easily judges are deceived: what guesses win by the rules of tasks; with --judge, which failed "
        "episodes the judge accepts once they claim success",
    )
    parser.add_argument(
        "files", type=nonempty_path, nargs="+", metavar="FILE",
        help="task files, such as those of tasks.files; with --judge, files or folders of trajectories",
    )  # fmt: skip
    add_format(parser)
    parser.add_argument(
        "--judge",
        type=nonempty,
        metavar="NAME",
        help="attack this judge: distilled or a protocol (openwebrl, webjudge, …)",
    )
    parser.add_argument(
        "--labels", type=nonempty_path, metavar="FILE",
        help="with --judge: the true outcomes, a verdicts.parquet or a CSV file; default: by the rules",
    )  # fmt: skip
    parser.add_argument("--limit", type=positive, metavar="N", help="with --judge: attack with at most N failures")
    parser.add_argument(
        "--attacker-url", type=web_address, metavar="URL",
        help="with --judge: the address of an endpoint, up to /v1, whose model writes answers that pretend success",
    )  # fmt: skip
    parser.add_argument(
        "--attacker-model", type=nonempty, metavar="NAME", help="the model of that endpoint; with --attacker-url"
    )
    parser.add_argument(
        "--attacker-key-variable",
        type=nonempty,
        metavar="VARIABLE",
        help="the environment variable with its key; default: none",
    )
    parser.add_argument(
        "--tries", type=positive, metavar="N",
        help=f"answers that it writes for a failure; after each it reads the judge's reasons; default: {TRIES}",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    add_endpoint(parser)
    parser.set_defaults(run=attack)


def attack(options: argparse.Namespace) -> int:
    """Attack the rules of task files, or a judge; returns the exit status."""
    if options.judge is not None:
        return _attack_judge(options)
    if given := _given(options, "format", "labels", "limit", "recipe", "url", "model", "key_variable", *_OF_ATTACKER):
        return fail(f"{given}: for attacks on a judge; name it with --judge, or leave the option out")
    return _attack_rules(options)


def _given(options: argparse.Namespace, *names: str) -> str:
    """Those of some options that were given, as they are written."""
    values = vars(options)
    return ", ".join(f"--{name.replace('_', '-')}" for name in names if values[name] is not None)


def _attack_rules(options: argparse.Namespace) -> int:
    import json

    from components.judge.attack import as_text, attack_rules
    from components.judge.rules import RuleError
    from components.tasks import load_files

    results, names = {}, Counter(file.name for file in options.files)
    for file in options.files:
        try:
            loaded = load_files([file])
            if loaded.missing or not loaded.tasks:
                return fail(f"{file}: {'no such file' if loaded.missing else 'has no task'}; name files of tasks")
            results[file.name if names[file.name] == 1 else str(file)] = attack_rules(loaded.tasks)
        except (ValueError, RuleError) as error:
            return fail(error)
    if options.json:
        print(json.dumps({name: attacked.model_dump(mode="json") for name, attacked in results.items()}, indent=1))
    else:
        print("\n\n".join(as_text(name, attacked) for name, attacked in results.items()))
    return 0


def _attack_judge(options: argparse.Namespace) -> int:
    from components.endpoint import EndpointError
    from components.formats import UnknownFormat, Unreadable, format_named
    from components.judge import JudgeOutage
    from components.judge.attack_judge import as_text
    from components.judge.failures import read_failures
    from components.judge.judges import UnavailableJudge
    from components.judge.labels import CannotCompare
    from components.params import RecipeError
    from components.store import STATE, digest

    if (options.attacker_url is None) != (options.attacker_model is None):
        return fail("--attacker-url and --attacker-model belong together: give both")
    if options.attacker_url is None and (given := _given(options, *_OF_ATTACKER)):
        return fail(f"{given}: for attacks by a model; name it with --attacker-url and --attacker-model")
    try:
        params = recipe_of(options)
        kind = format_named(options.format) if options.format else None
        failures = read_failures(options.files, options.labels, options.limit, _say, kind)
        if not failures.trajectories:
            return fail(
                f"no failed episode to attack with: {failures.successes} are successes, {failures.unlabelled} have no "
                f"true outcome, {failures.unfinished} were not ended by the agent; name more trajectories, or --labels"
            )
        inputs = [str(file.resolve()) for file in [*options.files, *([options.labels] if options.labels else [])]]
        state = STATE / "attack_judge" / digest(*inputs)
        asks_models = options.judge not in WITHOUT_MODEL or options.attacker_url is not None
        with only_command(state) if asks_models else nullcontext():
            attacked = asyncio.run(_ask(options, params, failures, state))
    except (RecipeError, CommandBusy, EndpointError, JudgeOutage, UnavailableJudge, CannotCompare) as error:
        return fail(error)
    except (UnknownFormat, Unreadable, OSError, ValueError) as error:
        return fail(error)
    print(attacked.model_dump_json(indent=1) if options.json else as_text(attacked))
    return 0


async def _ask(options: argparse.Namespace, params: Params, failures: Failures, state: Path) -> AttackedJudge:
    from components.endpoint import ANSWERS, Endpoint
    from components.judge.attack_judge import attack_judge, truth_by_rules
    from components.judge.attack_writer import attack_by_model
    from components.judge.clients import JudgeClients
    from components.judge.judges import judge_named
    from components.params import EndpointParams

    named = (options.judge, failures.trajectories, _say_progress)
    truth = truth_by_rules if options.labels is None else None
    async with JudgeClients(params.judge.model, state, ANSWERS) as clients:
        judge = judge_named(options.judge, params, clients, registered_protocols([options.judge], params))
        if options.attacker_url is None:
            return await attack_judge(judge, *named, truth=truth)
        endpoint = EndpointParams(
            url=options.attacker_url, model=options.attacker_model, key_variable=options.attacker_key_variable
        )
        async with Endpoint(endpoint, state / "spent-attacker.json", ANSWERS) as writer:

            async def further(baseline: set[str], on_result: Callable[[JudgeAttackResult], None]) -> None:
                tries = failures.trajectories, options.tries or TRIES, baseline
                await attack_by_model(judge, writer, *tries, on_result, _say_progress, truth)

            return await attack_judge(judge, *named, further, truth)


def _say_progress(attack: str, count: int) -> None:
    if count % EVERY == 0:
        print(f"{attack}: {count} verdicts", file=sys.stderr, flush=True)


def _say(left_out: str) -> None:
    print(left_out, file=sys.stderr)
