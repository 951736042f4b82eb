"""Stages on other machines: each is a deployment run in a Prefect work pool, started and watched by the pipeline flow.

The machines share a store (a folder or a bucket) and nothing else. Each has a clone of the repository.

1. The pipeline flow pushes what the stage needs to the store, writes an order (recipe, `dvc.lock`, commit), and starts
   a run of the deployment `stage/POOL` (`pool`).
2. A worker of the pool takes the run. It brings its clone to the state of the order, pulls the inputs, and runs
   `dvc repro` for the one stage (`worker`). While the stage runs, its state directory is copied to the store
   (`state_mirror`), and a sign of life with the progress is written there.
3. At the end the worker pushes the outputs and writes the outcome with the stage's entry of `dvc.lock`; the pipeline
   flow takes both over (`handover`).

If the signs of life end, the machine is lost: the pipeline flow writes a new order, and another worker continues from
the copied state. Only the machine that has the last order may write: one that was only out of reach sees that it has
been replaced, and ends its stage.
"""
