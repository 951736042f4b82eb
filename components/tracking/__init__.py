"""The one room that knows MLflow: runs, metrics, datasets, traces and the model registry.

    with stage_run(params, "train_sft", key, state) as run:
        run.dataset(Path("data/sft/trajectories.parquet"), "training")
        run.metrics({"loss": 0.3}, step=3)
        version = run.register(Path("models/sft"), "waymark-policy")

MLflow itself is imported inside functions: it costs a second, and `import components.tracking` must not.
"""

from components.tracking.registry import JUDGE, POLICY, Champion, champion, promote
from components.tracking.runs import StageRun, stage_run

__all__ = ["JUDGE", "POLICY", "Champion", "StageRun", "champion", "promote", "stage_run"]
