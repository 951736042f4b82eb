"""Schemas of rows in published task files, and the conversion of each row to a task.

A schema is a record with `task(source)`; `schema_of` chooses it by the row's field names. Rows of benchmarks are
evaluation tasks, which training tasks must not overlap with; rows of training sets (WebGym, InSTA) are training tasks.
Training sets with the schema of a benchmark (PAE with that of WebVoyager, WebArena-Lite's training tasks with that of
WebArena) are marked by the `split` of their entry in `tasks.files`.
"""

from components.tasks.rows.benchmarks import DeepShopRow, OnlineMind2WebRow, WebVoyagerRow
from components.tasks.rows.own import TaskRow
from components.tasks.rows.questions import QuestionRow
from components.tasks.rows.training import InstaRow, WebGymRow
from components.tasks.rows.visualwebarena import VisualWebArenaRow
from components.tasks.rows.webarena import WebArenaRow
from components.tasks.rows.webarena_verified import WebArenaVerifiedRow

Row = (
    WebVoyagerRow
    | OnlineMind2WebRow
    | DeepShopRow
    | WebArenaRow
    | VisualWebArenaRow
    | WebArenaVerifiedRow
    | QuestionRow
    | WebGymRow
    | InstaRow
    | TaskRow
)
ROWS: tuple[type[Row], ...] = (
    WebVoyagerRow,
    OnlineMind2WebRow,
    DeepShopRow,
    WebArenaRow,
    VisualWebArenaRow,
    WebArenaVerifiedRow,
    QuestionRow,
    WebGymRow,
    InstaRow,
    TaskRow,
)


def schema_of(row: dict) -> type[Row] | None:
    """The schema that shares most field names with a row, of several the smallest; None if no schema shares any."""
    shared = {schema: len(schema.model_fields.keys() & row.keys()) for schema in ROWS}
    best = max(ROWS, key=lambda schema: (shared[schema], -len(schema.model_fields)))
    return best if shared[best] else None


__all__ = ["ROWS", "Row", "schema_of"]
