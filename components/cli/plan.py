"""`waymark plan`: memory, disk, time and cost of a recipe before it runs."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

from components.cli.command import PARAMS, Subparsers, amount, cannot_write, fail, nonempty, nonempty_path, positive

if TYPE_CHECKING:
    from components.plan import Rates, RunPlan, TimeOptions

DOES_NOT_FIT = 3
"""Exit status of a recipe that cannot run on the devices."""


def add(commands: Subparsers) -> None:
    """Register `plan`."""
    parser = commands.add_parser(
        "plan",
        help="what a recipe needs before it runs: memory of each device and of the machine, disk, what would make it "
        "fit, time and cost",
        epilog="Exit status: 0 the recipe fits; 1 the recipe or an option is wrong; 2 wrong arguments; 3 the recipe "
        "does not fit.",
    )
    parser.add_argument(
        "recipe", nargs="?", type=nonempty_path, default=PARAMS, metavar="RECIPE",
        help="a file, or a name in recipes/; default: %(default)s",
    )  # fmt: skip
    parser.add_argument(
        "--set", action="append", default=[], type=_setting, metavar="KEY=VALUE", dest="settings",
        help="plan with another value of a key, such as rl.micro_batch_tokens=16384; repeatable",
    )  # fmt: skip
    parser.add_argument(
        "--device", type=nonempty, metavar="NAME", help="such as H100 or L4; default: H100, or this machine's CPU"
    )
    parser.add_argument("--devices", type=positive, metavar="N", help="number of devices; default: the recipe's")
    parser.add_argument(
        "--device-memory", type=_bytes, metavar="SIZE", help="memory of each device, such as 24GiB; default: its own"
    )
    parser.add_argument(
        "--host-memory", type=_bytes, metavar="SIZE",
        help="the machine's own memory, such as 512GiB; default: this machine's, if the plan is for it",
    )  # fmt: skip
    parser.add_argument(
        "--disk", type=_bytes, metavar="SIZE",
        help="free disk for all that a run writes, such as 2TB; default: that of this machine's folders, if the plan "
        "is for it",
    )  # fmt: skip
    measured = parser.add_mutually_exclusive_group()
    measured.add_argument(
        "--calibrate", type=nonempty_path, metavar="RUN_DIR",
        help="take the rates from a checkout with finished stages, and write them to RUN_DIR/reports/calibration.json; "
        "--device and --cores are then those of that run",
    )  # fmt: skip
    measured.add_argument(
        "--calibration", type=nonempty_path, metavar="FILE",
        help="take the rates of a calibration; default: reports/calibration.json, which the last run in this checkout "
        "wrote, if it was on such a device with the same models and such pages",
    )  # fmt: skip
    measured.add_argument(
        "--uncalibrated", action="store_true", help="assume the rates, even if the last run in this checkout left some"
    )
    parser.add_argument(
        "--cores", type=positive, default=0, metavar="N",
        help="cores for browsers; default: this machine's for a recipe without GPU, else one per browser",
    )  # fmt: skip
    parser.add_argument(
        "--side-by-side", type=positive, metavar="N",
        help="concurrent stages; default: as in the calibrated run, else 2, or 1 with GPUs",
    )  # fmt: skip
    parser.add_argument("--device-hour", type=amount, metavar="USD", help="price of a device for an hour")
    parser.add_argument("--browser-hour", type=amount, metavar="USD", help="price of a browser for an hour")
    parser.add_argument(
        "--picture", type=nonempty_path, metavar="FILE", help="draw the times into an .svg, .png or .pdf, too"
    )
    parser.add_argument("--format", choices=["text", "json"], default="text", help="default: %(default)s")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the plan; returns the exit status."""
    from components.params import RecipeError
    from components.plan import PlanOptions, as_json, as_text, check_device, plan, time_plan
    from components.plan.picture_file import require_picture_file

    if options.picture is not None and (problem := cannot_write(options.picture)):
        return fail(f"--picture {problem}")
    if repeated := [key for key, count in Counter(key for key, _ in options.settings).items() if count > 1]:
        return fail(f"--set {', '.join(repeated)}: one key has two values: give each key once")
    wishes = PlanOptions(
        settings=dict(options.settings),
        device=options.device,
        devices=options.devices,
        device_memory=options.device_memory,
        host_memory=options.host_memory,
        disk=options.disk,
    )
    try:
        if options.picture is not None:
            require_picture_file(options.picture)
        planned = plan(options.recipe, wishes)
        timing = _time_options(options, planned)
        if timing.rates is not None and options.device is None:
            check_device(timing.rates, planned.machine.device)
        _announce_simulation(planned)
        times = time_plan(planned.recipe, planned.machine, timing)
        if options.picture is not None:
            from components.plan.picture import draw  # matplotlib takes a second to import

            draw(times, planned.recipe.name, options.picture)
    except RecipeError as error:
        return fail(error)
    print(as_json(planned, times) if options.format == "json" else as_text(planned, times))
    return 0 if planned.fits else DOES_NOT_FIT


def _announce_simulation(planned: RunPlan) -> None:
    """Say on standard error what is simulated, if it takes longer than a few seconds."""
    from components.plan import MANY_EPISODES, simulated_episodes

    episodes = simulated_episodes(planned.recipe)
    if episodes >= MANY_EPISODES:
        line = f"simulating up to {episodes:,} episodes of an RL iteration, and again with twice as many browsers, "
        print(f"{line}cores and servers: this takes a minute or two", file=sys.stderr, flush=True)


def _time_options(options: argparse.Namespace, planned: RunPlan) -> TimeOptions:
    """Rates and prices."""
    from components.plan import TimeOptions

    rates = _rates(options, planned)
    return TimeOptions(rates, options.cores, options.device_hour, options.browser_hour, options.side_by_side)


def _rates(options: argparse.Namespace, planned: RunPlan) -> Rates | None:
    """The rates that the options name, or those of the last run in this checkout; None for assumptions.

    A calibration is made on the device of the run: that of its recipe, or `--device`.
    """
    from components.plan import rates_for_plan, read_rates

    if options.calibration is not None:
        return read_rates(options.calibration)
    if options.calibrate is not None:
        from components.plan.calibration import write_calibration

        path, rates = write_calibration(options.calibrate, options.device, options.cores)
        print(f"wrote {path}", file=sys.stderr)
        return rates
    if options.uncalibrated:
        return None
    own, line = rates_for_plan(planned.recipe, planned.machine.device)
    if line:
        print(line, file=sys.stderr)
    return own


def _setting(text: str) -> tuple[str, Any]:
    from components.plan import parsed_setting

    try:
        return parsed_setting(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: write KEY=VALUE, such as model.lora.rank=16") from error


def _bytes(text: str) -> float:
    from components.plan import parsed_bytes

    try:
        return parsed_bytes(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: write a size with its unit, such as 24GiB") from error
