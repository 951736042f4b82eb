"""Greedy similarity dedup into the SFT pool and the stricter RL pool, in a seeded order that mixes families."""

from pathlib import Path

from components import quality
from components.pipeline.stage_run import stage
from components.records import Task
from components.store import read_table, write_table
from components.tasks import Funnel, dedup, embed, shuffled

POOLS = Path("data/pools")
TRAIN, EVALUATION = POOLS / "train.parquet", [POOLS / "eval.parquet", POOLS / "heldout.parquet"]


def main() -> None:
    """Run the stage."""
    with stage("dedup_tasks", inputs=[TRAIN, *EVALUATION]) as run:
        params = run.params.dedup
        tasks = shuffled(read_table(TRAIN, Task), run.params.seed)
        evaluation = [task for path in EVALUATION for task in read_table(path, Task)]
        run.progress(0, 1, f"embedding {len(tasks)} intents")
        embeddings_NE = embed([task.own_intent for task in tasks], params.embedder)
        websites, sizes, funnels = [task.website for task in tasks], {}, {}
        for pool, threshold in (("sft", params.sft_threshold), ("rl", params.rl_threshold)):
            indices = dedup(embeddings_NE, threshold, params.max_similar, websites if params.per_website else None)
            kept = [tasks[index] for index in indices]
            run.check("tasks", quality.task_frame(kept + evaluation), max_rows=len(tasks) + len(evaluation))
            write_table(POOLS / f"{pool}.parquet", Task, kept)
            sizes[pool], kept_indices = len(kept), set(indices)
            dropped = [f"{task.task_id}: {task.intent[:120]}" for i, task in enumerate(tasks) if i not in kept_indices]
            funnels[f"{pool}_funnel"] = Funnel(total=len(tasks)).then("near duplicates", dropped).rows()
        run.progress(1, 1, f"SFT pool {sizes['sft']}, RL pool {sizes['rl']}")
        run.result({**sizes, **funnels})


if __name__ == "__main__":
    main()
