"""Results for people: the report of a run, the trajectory viewer, the leaderboard, the papers' published rows."""

from components.reports.report import Report, build, read_episodes, read_teacher, with_plan, write_report
from components.reports.stage_results import StageResults, read_results
from components.reports.viewer import write_page

__all__ = [
    "Report",
    "StageResults",
    "build",
    "read_episodes",
    "read_results",
    "read_teacher",
    "with_plan",
    "write_page",
    "write_report",
]
