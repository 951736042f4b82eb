"""Checks of this machine, each with the command that fixes it (`waymark doctor`); `--fix` installs what is missing."""

from components.doctor.check import Check
from components.doctor.installation import install_chromium, install_world_programs
from components.doctor.table import LOCK, examine, show

__all__ = ["LOCK", "Check", "examine", "install_chromium", "install_world_programs", "show"]
