"""The one room that knows Great Expectations: is this table fit to train on?

    check("training", trajectory_frame(curated), docs_dir=Path("reports/quality/curate_sft"),
          evaluation=task_frame(held_out), max_rows=412)

Great Expectations is imported inside functions: it costs two seconds, and `import components.quality` must not.
"""

from components.quality.frames import task_frame, trajectory_frame, verdict_frame
from components.quality.gate import QualityError, check

__all__ = ["QualityError", "check", "task_frame", "trajectory_frame", "verdict_frame"]
