"""Checks of tables with Great Expectations. No other package imports it.

    check("training", trajectory_frame(curated), docs_dir=Path("reports/quality/curate_sft"),
          evaluation=task_frame(held_out), max_rows=412)

Great Expectations is imported inside of functions, because its import takes two seconds.
"""

from components.quality.frames import task_frame, trajectory_frame, verdict_frame
from components.quality.gate import QualityError, check

__all__ = ["QualityError", "check", "task_frame", "trajectory_frame", "verdict_frame"]
