"""Greedy similarity dedup into the SFT pool and the stricter RL pool, in a seeded order that mixes families.

The SFT pool has the tasks that the teacher tries, and the RL pool also those of the split `rl`.
No cosine is above a threshold above 1: the pool then has all tasks, and nothing is embedded for it.
"""

from pathlib import Path

from components import quality
from components.pipeline.stage_run import stage
from components.records import Task
from components.store import read_table, write_table
from components.tasks import Funnel, dedup, embed, require_levels, shuffled

POOLS = Path("data/pools")
TRAIN, EVALUATION = POOLS / "train.parquet", [POOLS / "eval.parquet", POOLS / "heldout.parquet"]


def main() -> None:
    """Run the stage."""
    with stage("dedup_tasks", inputs=[TRAIN, *EVALUATION]) as run:
        params = run.params.dedup
        tasks = shuffled(read_table(TRAIN, Task), run.params.seed)
        evaluation = [task for path in EVALUATION for task in read_table(path, Task)]
        thresholds = {"sft": params.sft_threshold, "rl": params.rl_threshold}
        embeddings_NE = None
        if min(thresholds.values()) <= 1:
            run.progress(0, 1, f"embedding {len(tasks)} intents")
            embeddings_NE = embed([task.own_intent for task in tasks], params.embedder)
        max_rows = len(tasks) + len(evaluation)
        sizes, funnels = {}, {}
        for pool, threshold in thresholds.items():
            members = [index for index, task in enumerate(tasks) if pool == "rl" or task.split == "train"]
            candidates = [tasks[index] for index in members]
            kept = candidates
            if embeddings_NE is not None and threshold <= 1:
                websites = [task.website for task in candidates] if params.per_website else None
                indices = dedup(embeddings_NE[members], threshold, params.max_similar, websites)
                kept = [candidates[index] for index in indices]
            run.check("tasks", quality.task_frame(kept + evaluation), max_rows=max_rows, min_training=1)
            if pool == "rl" and run.params.rl.task_sampling.name == "ratio":
                require_levels(kept)  # before a teacher and SFT are paid for
            write_table(POOLS / f"{pool}.parquet", Task, kept)
            sizes[pool], kept_ids = len(kept), {task.task_id for task in kept}
            dropped = [f"{task.task_id}: {task.intent[:120]}" for task in candidates if task.task_id not in kept_ids]
            funnels[f"{pool}_funnel"] = Funnel(total=len(candidates)).then("near duplicates", dropped).rows()
        run.progress(1, 1, f"SFT pool {sizes['sft']}, RL pool {sizes['rl']}")
        run.result({**sizes, **funnels})


if __name__ == "__main__":
    main()
