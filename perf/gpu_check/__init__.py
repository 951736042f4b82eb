"""Does training work on this machine's GPU? `python -m perf.gpu_check`, or `make gpu-check`, answers.

The aim is 25 minutes for all parts; they were never run in one go on a GPU.

- `exactness`: packed rows against single sequences, and the attention of packed rows against its definition.
- `generation`: log-probabilities of the sampled tokens against the trainer's, and tokens per second of decoding.
- `serving`: the same for a vLLM server, with new weights and sleep; left out where vLLM's environment is missing.
- `training`: speed and memory of training steps of Qwen3-VL-2B, 4B and 8B with random weights.
- `learning`: a small model learns from screenshots for a limited time.

`setting` has what the parts share, `drawn_pages` the screenshots, and `report` runs the parts and writes the report.
No other part needs more than a checkout and the packages of training: no browser, no pipeline and no download. On a
CPU, the same code runs with tiny sizes.
"""
