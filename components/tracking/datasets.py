"""Input tables as MLflow datasets, identified by DVC's md5. Only the footers of tables are read, not the images."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from components.tracking.backend import Backend, with_retries


def log_dataset(backend: Backend, run_id: str, path: Path, context: str) -> None:
    """Log a file or directory as an input of a run.

    Args:
        context: its purpose, such as `training`, `evaluation` or `input`.
    """
    from mlflow.entities import Dataset, DatasetInput, InputTag
    from mlflow.utils.mlflow_tags import MLFLOW_DATASET_CONTEXT

    schema, profile = _describe(path)
    dataset = Dataset(
        name=path.as_posix(),
        digest=dvc_md5(path),
        source_type="local",
        source=json.dumps({"uri": path.as_posix()}),
        schema=schema,
        profile=profile,
    )
    dataset_input = DatasetInput(dataset, tags=[InputTag(MLFLOW_DATASET_CONTEXT, context)])
    with_retries(lambda: backend.client.log_inputs(run_id, datasets=[dataset_input]))


def dvc_md5(path: Path) -> str:
    """The md5 of a file, or DVC's `<md5>.dir` of a directory: that of the sorted JSON list of its files.

    Files that `.dvcignore` hides from DVC are counted here; finished outputs have none.
    """
    if path.is_file():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "md5").hexdigest()
    files = [file for file in path.rglob("*") if file.is_file()]
    entries = [{"md5": dvc_md5(file), "relpath": file.relative_to(path).as_posix()} for file in files]
    listing = sorted(entries, key=lambda entry: entry["relpath"])
    return hashlib.md5(json.dumps(listing, sort_keys=True).encode(), usedforsecurity=False).hexdigest() + ".dir"


def _describe(path: Path) -> tuple[str | None, str | None]:
    """MLflow's column specification and size of a Parquet file; None for other files."""
    if path.suffix != ".parquet" or not path.is_file():
        return None, None
    footer = pq.read_metadata(path)
    columns = [
        {"name": column.name, "type": _TYPES.get(column.type, "object"), "required": False}
        for column in footer.schema.to_arrow_schema()
    ]
    profile = {"num_rows": footer.num_rows, "num_elements": footer.num_rows * len(columns)}
    return json.dumps({"mlflow_colspec": columns}), json.dumps(profile)


_TYPES = {
    pa.string(): "string",
    pa.int64(): "long",
    pa.float64(): "double",
    pa.bool_(): "boolean",
    pa.binary(): "binary",
}
