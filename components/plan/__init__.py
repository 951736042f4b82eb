"""Plans a run before it starts: memory of each device and of the machine, disk, and each stage's time and dollars.

`plan` needs the recipe and the shapes of its models alone. It starts no process, loads no weight and downloads nothing.
"""

from __future__ import annotations

from components.plan.checkout_rates import rates_for_plan
from components.plan.fit import parsed_setting
from components.plan.hardware import parsed_bytes
from components.plan.planner import PlanOptions, RunPlan, plan, plan_host
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
    "plan_host",
    "rates_for_plan",
    "read_rates",
    "simulated_episodes",
    "time_plan",
    "write_rates",
]
