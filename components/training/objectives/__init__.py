"""What training minimises, one file per objective: its formula, its paper, its deviations.

`mm_grpo` (OpenWebRL), `m_grpo` (WebAgent-R1), `filtered_bc` (WebGym) and `rft` (BrowserAgent) are objectives of RL, one
of which `rl.objective.name` names; `interface.py` says what they implement, and `registry.py` finds them. To add one,
add a module here, whose `KIND` is the class, and one with its section to `components/params/objectives`. `sft` and
`judge` are objectives of supervised training (`supervised.py`).
"""

from components.training.objectives.interface import (
    NO_UPDATE,
    Objective,
    UpdateContext,
    UpdateStats,
)
from components.training.objectives.registry import class_of, objective_class, objective_of
from components.training.objectives.supervised import SupervisedObjective, WeightedSample

__all__ = [
    "NO_UPDATE",
    "Objective",
    "SupervisedObjective",
    "UpdateContext",
    "UpdateStats",
    "WeightedSample",
    "class_of",
    "objective_class",
    "objective_of",
]
