"""The planned seconds of each stage, to stand beside those that a run spent."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from components.params import Params, RecipeError
from components.plan.checkout_rates import CALIBRATION, difference, digest_of_run
from components.plan.hardware import CPU, device_named
from components.plan.placement import Machine, devices_of
from components.plan.rates import Rates, default_rates, read_rates
from components.plan.setting import Setting
from components.plan.stages import iteration_time, phases, stage_times


def planned_seconds(params: Params, spent_s: Mapping[str, float], calibration: Path = CALIBRATION) -> dict[str, float]:
    """Wall time of each stage, by the rates of an earlier run if a calibration has them, else by assumptions.

    The machine is that of the calibration. Without one, or with one that does not name its machine, it is the default
    device with as many as the recipe asks for. The calibration of the same run does not count, because a plan by it
    gives the seconds that the run spent; nor does one that says little about the recipe (`checkout_rates.difference`).

    Args:
        spent_s: what the stages of the run took.

    Returns:
        Seconds by stage; empty for models whose shape is not known here, and if the calibration cannot be read.
    """
    try:
        setting = _setting(params, _earlier(params, spent_s, calibration))
        iterations = {
            name: iteration_time(setting, name) for name, phase in phases(setting).items() if phase.iterations
        }
        return {stage.stage: round(stage.seconds, 1) for stage in stage_times(setting, iterations)}
    except RecipeError:
        return {}


def _earlier(params: Params, spent_s: Mapping[str, float], calibration: Path) -> Rates | None:
    """The rates of a calibration that is of another run, and of such a device, such models and such pages."""
    rates = read_rates(calibration) if calibration.exists() else None
    measured = None if rates is None else rates.measured_on
    if measured is None:
        return rates
    is_other = measured.run != digest_of_run(spent_s)
    is_like = (measured.device == CPU) == (params.model.device == "cpu") and not difference(measured, params)
    return rates if is_other and is_like else None


def _setting(params: Params, rates: Rates | None) -> Setting:
    measured = None if rates is None else rates.measured_on
    if rates is None or measured is None:
        device = device_named(None, params.model.device == "cuda")
        return Setting(params, Machine(device, devices_of(params)), rates or default_rates(params, device))
    device = device_named(None if measured.device == CPU else measured.device, is_cuda=False)
    return Setting(params, Machine(device, measured.devices), rates, measured.cores)
