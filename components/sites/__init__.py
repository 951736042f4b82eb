"""Offline sites, served on loopback with their own rewards."""

from components.sites.miniwob import MiniWoB
from components.sites.miniwob_teacher import PLANS, Teacher, TeacherTurn
from components.sites.recipe import require_families, serves

__all__ = ["PLANS", "MiniWoB", "Teacher", "TeacherTurn", "require_families", "serves"]
