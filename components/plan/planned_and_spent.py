"""The planned seconds of each stage, to stand beside those that a run spent."""

from __future__ import annotations

from pathlib import Path

from components.params import Params, RecipeError
from components.plan.hardware import CPU, device_named
from components.plan.placement import Machine, devices_of
from components.plan.rates import Rates, default_rates, read_rates
from components.plan.setting import Setting
from components.plan.stages import iteration_time, phases, stage_times

CALIBRATION = Path("reports/calibration.json")
"""Where `waymark plan --calibrate` leaves the rates of a checkout's run."""


def planned_seconds(params: Params, calibration: Path = CALIBRATION) -> dict[str, float]:
    """Wall time of each stage, by the rates of a calibration if there is one, else by assumptions.

    The machine is that of the calibration. Without one, or with one that does not name its machine, it is the default
    device with as many as the recipe asks for.

    Returns:
        Seconds by stage; empty for models whose shape is not known here, and if the calibration cannot be read.
    """
    try:
        rates = read_rates(calibration) if calibration.exists() else None
        setting = _setting(params, rates)
        iterations = {
            name: iteration_time(setting, name) for name, phase in phases(setting).items() if phase.iterations
        }
        return {stage.stage: round(stage.seconds, 1) for stage in stage_times(setting, iterations)}
    except RecipeError:
        return {}


def _setting(params: Params, rates: Rates | None) -> Setting:
    measured = None if rates is None else rates.measured_on
    if rates is None or measured is None:
        device = device_named(None, params.model.device == "cuda")
        return Setting(params, Machine(device, devices_of(params)), rates or default_rates(params, device))
    device = device_named(None if measured.device == CPU else measured.device, is_cuda=False)
    return Setting(params, Machine(device, measured.devices), rates, measured.cores)
