"""MLflow: runs, metrics, datasets, traces and the model registry. No other package imports MLflow.

    with stage_run(params, "train_sft", key, state) as run:
        run.dataset(Path("data/sft/trajectories.parquet"), "training")
        run.metrics({"loss": 0.3}, step=3)
        version = run.register(Path("models/sft"), "waymark-policy")

MLflow is imported inside of functions, because its import takes a second.
"""

from components.tracking.backend import TrackingError
from components.tracking.registry import (
    JUDGE,
    POLICY,
    ChampionChanged,
    ModelVersion,
    champion,
    model_digest,
    promote,
    registered,
)
from components.tracking.reviews import HumanLabel, OpenedReview, human_labels, open_review
from components.tracking.runs import StageRun, stage_run
from components.tracking.studies import StudyChild, StudyParent, log_study

__all__ = [
    "JUDGE",
    "POLICY",
    "ChampionChanged",
    "HumanLabel",
    "ModelVersion",
    "OpenedReview",
    "StageRun",
    "StudyChild",
    "StudyParent",
    "TrackingError",
    "champion",
    "human_labels",
    "log_study",
    "model_digest",
    "open_review",
    "promote",
    "registered",
    "stage_run",
]
