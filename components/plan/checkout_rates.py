"""The calibration of this checkout, `reports/calibration.json`: a finished run writes it, and the next plan uses it.

A plan uses it without being told to only if it is for the same device, the same models and the same kind of pages
(generated, or the web's). All rates are shares of a device's peak or seconds of its cores, but those of a tiny model or
of generated pages say little about others.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from components.params import Params, RecipeError
from components.params.placement import STAGES
from components.plan.hardware import Device
from components.plan.rates import MeasuredOn, Rates, read_rates
from components.store import digest

CALIBRATION = Path("reports/calibration.json")
"""Where the stage `report` and `waymark plan --calibrate` leave the rates of a checkout's run."""


def rates_for_plan(params: Params, device: Device, path: Path = CALIBRATION) -> tuple[Rates | None, str]:
    """The rates of this checkout's run if they hold for a plan, and a line for the user.

    Returns:
        The rates, None if there are none or if they do not hold, and what is used or why not; an empty line if there is
        no calibration.
    """
    if not path.exists():
        return None, ""
    try:
        rates = read_rates(path)
    except RecipeError as error:
        return None, f"not used: {error}"
    measured = rates.measured_on
    if measured is None:
        return None, f"{path} is not used, because it does not name its machine: --calibration {path} uses it"
    reason = difference(measured, params)
    if measured.device != device.name:
        reason = f"it was measured on {measured.device}, and the plan is for {device.name}"
    if reason:
        return None, f"{path} is not used, because {reason}: --calibration {path} uses it all the same"
    return rates, f"with the rates of {path}, which is of {rates.source}; --uncalibrated plans without them"


def difference(measured: MeasuredOn, params: Params) -> str:
    """In what a recipe differs so from the run that was measured that its rates say little; empty if in nothing.

    What a calibration of an older version does not name counts as equal.
    """
    models = (params.model.base, params.model.judge_base)
    if measured.models is not None and measured.models != models:
        return f"its run had the models {' and '.join(measured.models)}, and the recipe has {' and '.join(models)}"
    if measured.on_web is not None and measured.on_web != bool(params.tasks.files):
        pages = ("pages of the web", "generated pages")
        own, other = pages if measured.on_web else reversed(pages)
        return f"its run had {own}, and the recipe has {other}"
    return ""


def digest_of_run(wall_s: Mapping[str, float]) -> str:
    """A digest of the seconds of a run's stages, which tells runs apart. The report, which may be drawn again, does not
    count."""
    return digest(json.dumps([wall_s.get(stage) for stage in STAGES if stage != "report"]))
