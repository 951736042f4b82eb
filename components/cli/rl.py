"""`waymark rl`: `rollback` takes a phase back to an earlier policy, `drift` shows what RL made less likely."""

from __future__ import annotations

import argparse
from pathlib import Path

from components.cli.command import Subparsers, fail, positive, whole_amount


def add(commands: Subparsers) -> None:
    """Register `rl` with its subcommands."""
    group = commands.add_parser(
        "rl", help="RL: go back to an earlier policy; see what training changed"
    ).add_subparsers(required=True, metavar="COMMAND")
    parser = group.add_parser(
        "rollback",
        help="go back to the policy and the optimiser of an earlier checkpoint; finished iterations stay counted",
    )
    parser.add_argument(
        "iteration", type=whole_amount, metavar="ITERATION", help="the iteration of an earlier checkpoint"
    )
    parser.add_argument(
        "--phase",
        choices=["short", "long"],
        default="short",
        help="the phase of RL; default: %(default)s",
    )  # fmt: skip
    parser.set_defaults(run=rollback)
    parser = group.add_parser(
        "drift", help="the tokens of an earlier policy's successes that a later policy would no longer write"
    )
    parser.add_argument(
        "--before", type=Path, default=Path("models/sft"), metavar="MODEL",
        help="the folder of the earlier model; default: %(default)s",
    )  # fmt: skip
    parser.add_argument(
        "--after", type=Path, default=Path("models/rl-long"), metavar="MODEL",
        help="the folder of the later model; default: %(default)s",
    )  # fmt: skip
    parser.add_argument(
        "--episodes",
        type=Path,
        default=Path("data/evaluation/sft"),
        metavar="FOLDER",
        help="trajectories and verdicts of the earlier policy; default: %(default)s",
    )
    parser.add_argument("--most", type=positive, default=20, metavar="N", help="tokens shown; default: %(default)s")
    parser.set_defaults(run=show_drift)


def rollback(options: argparse.Namespace) -> int:
    """Replace the newest checkpoint of the phase by the earlier one; returns the exit status.

    A phase that had finished is unfinished then, so that its next run keeps the checkpoints even if the code changed.
    """
    from components.params import RecipeError, load
    from components.pipeline.judge_gate import UntrustedJudge
    from components.pipeline.stage_run import StageBusy, reopen, stopped_stage
    from components.stages.train_rl import inputs_of
    from components.training.checkpoints import Checkpoints, NoCheckpoint

    stage = f"train_rl@{options.phase}"
    try:
        params = load()
        with stopped_stage(stage, params, inputs_of(params, options.phase)) as state:
            newest = Checkpoints(state).roll_back(options.iteration, by_hand=True)
            reopen(state)
    except (RecipeError, FileNotFoundError, StageBusy, NoCheckpoint, UntrustedJudge) as error:
        return fail(error)
    print(f"{stage} is back at iteration {options.iteration}, after {newest} iterations.")
    print(f"`dvc repro --force --single-item {stage}` trains the iterations that are left, if any, and publishes; then")
    print("run the pipeline, whose later stages are stale.")
    return 0


def show_drift(options: argparse.Namespace) -> int:
    """Print the tokens that became less likely, and the families; returns the exit status."""
    from components.params import RecipeError, load
    from components.store import UnreadableTable
    from components.training.agreement import TrainerMismatch
    from components.training.unlearned_tokens import NoSuccess, drift, read_successes

    for folder in (options.before, options.after):
        if not (folder / "config.json").is_file():
            return fail(f"{folder} holds no model: train it, or name another with --before or --after")
    try:
        params = load()
        chosen = read_successes(options.episodes)
        result = drift(options.before, options.after, chosen, params)
    except (RecipeError, FileNotFoundError, UnreadableTable, NoSuccess, TrainerMismatch) as error:
        return fail(error)
    print(f"{len(chosen)} successes in {options.episodes}: {options.before} -> {options.after}")
    print("\nlog-probability in nats per turn, by family:")
    for family in result.families:
        print(f"  {family.before:8.3f} -> {family.after:8.3f}  {family.turns:5} turns  {family.family}")
    print("\ntokens that became less likely, by the nats lost in all places:")
    for token in [token for token in result.tokens if token.nats > 0][: options.most]:
        change = f"{token.before:.3f} -> {token.after:.3f}"
        print(f"  {token.nats:7.2f}  {token.places:4} x  {change}  {token.token!r} after {token.context!r}")
    return 0
