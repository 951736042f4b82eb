"""Speed measurements. `python -m perf.NAME` runs one and prints its figures as one line of JSON at the end.

- `rollouts`, `faults`, `egress`: speed, robustness and isolation of the browser environment.
- `decoding`, `generate`: the policy in this process against transformers.
- `gpu_check`: exactness, memory, speed and learning on a GPU. `packing`: training on packed rows.
  `dedup`: deduplication of tasks.
- `steps`: optimiser steps of shuffled turns against steps of whole groups. `async_rl`: asynchronous against synchronous
  RL. `scale`: an iteration at the paper's size.
"""
