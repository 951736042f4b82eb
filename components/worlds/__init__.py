"""Worlds: sets of sites with tasks, rules and possibly a scripted teacher and state. One package per world."""

from components.records import RowChange
from components.worlds.loopback_site import LoopbackSite, PageServer
from components.worlds.registry import Worlds, even_counts, installed_worlds, unknown_names, world_class, worlds_of
from components.worlds.state import State, StateDiff
from components.worlds.task_check import TaskCheck
from components.worlds.teacher import ElementTeacher, PointTeacher, Teacher, TeacherTurn
from components.worlds.world import NotSupportedError, PinnedTasks, Requirement, World, WorldError

__all__ = [
    "ElementTeacher",
    "LoopbackSite",
    "NotSupportedError",
    "PageServer",
    "PinnedTasks",
    "PointTeacher",
    "Requirement",
    "RowChange",
    "State",
    "StateDiff",
    "TaskCheck",
    "Teacher",
    "TeacherTurn",
    "World",
    "WorldError",
    "Worlds",
    "even_counts",
    "installed_worlds",
    "unknown_names",
    "world_class",
    "worlds_of",
]
