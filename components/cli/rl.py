"""`waymark rl rollback`: takes a phase of RL back to an earlier policy by hand."""

from __future__ import annotations

import argparse

from components.cli.command import Subparsers, fail


def add(commands: Subparsers) -> None:
    """Register `rl` with its subcommand."""
    group = commands.add_parser("rl", help="RL: go back to an earlier policy").add_subparsers(
        required=True, metavar="COMMAND"
    )
    parser = group.add_parser(
        "rollback",
        help="go back to the policy and the optimiser of an earlier checkpoint; the iterations done so far count",
    )
    parser.add_argument("iteration", type=int, metavar="ITERATION", help="an iteration that has a checkpoint")
    parser.add_argument("--phase", choices=["short", "long"], default="short", help="default: %(default)s")
    parser.set_defaults(run=rollback)


def rollback(options: argparse.Namespace) -> int:
    """Replace the newest checkpoint of the phase by the earlier one; returns the exit status.

    A phase that had finished is unfinished then, so that its next run keeps the checkpoints even if the code changed.
    """
    from components.params import RecipeError, load
    from components.pipeline.stage_run import StageBusy, reopen, stopped_stage
    from components.stages.train_rl import inputs_of
    from components.training.checkpoints import Checkpoints, NoCheckpoint

    stage = f"train_rl@{options.phase}"
    try:
        params = load()
        with stopped_stage(stage, params, inputs_of(params, options.phase)) as state:
            newest = Checkpoints(state).roll_back(options.iteration, by_hand=True)
            reopen(state)
    except (RecipeError, FileNotFoundError, StageBusy, NoCheckpoint) as error:
        return fail(error)
    print(f"{stage} is back at iteration {options.iteration}, after {newest} iterations.")
    print(f"`dvc repro --force --single-item {stage}` trains the iterations that are left, if any, and publishes; then")
    print("run the pipeline, whose later stages are stale.")
    return 0
