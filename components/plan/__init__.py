"""Plans a run before it starts: the memory of each device, and the time, tokens and dollars of each stage.

`plan` needs the recipe and the shapes of its models alone. It starts no process, loads no weight and downloads nothing.
"""

from __future__ import annotations

from components.plan.checkout_rates import rates_for_plan
from components.plan.fit import parsed_setting
from components.plan.hardware import parsed_bytes
from components.plan.planner import PlanOptions, RunPlan, plan
from components.plan.rates import Rates, check_device, read_rates, write_rates
from components.plan.text import as_json, as_text
from components.plan.time_plan import MANY_EPISODES, TimeOptions, TimePlan, simulated_episodes, time_plan

__all__ = [
    "MANY_EPISODES",
    "PlanOptions",
    "Rates",
    "RunPlan",
    "TimeOptions",
    "TimePlan",
    "as_json",
    "as_text",
    "check_device",
    "parsed_bytes",
    "parsed_setting",
    "plan",
    "rates_for_plan",
    "read_rates",
    "simulated_episodes",
    "time_plan",
    "write_rates",
]
