"""Does training work on this machine's GPU? `python -m perf.gpu_check`, or `make gpu-check`, answers in 25 minutes.

- `exactness`: packed rows against single sequences, and the attention of packed rows against its definition.
- `generation`: log-probabilities of the sampled tokens against the trainer's, and tokens per second of decoding.
- `training`: speed and memory of training steps of Qwen3-VL-2B, 4B and 8B with random weights.
- `learning`: a small model learns from screenshots for a limited time.

`setting` has what the parts share, `drawn_pages` the screenshots, and `report` runs the parts and writes the report.
No part needs a browser, a server, the pipeline or a download: a checkout and the packages of training are enough. On a
CPU, the same code runs with tiny sizes.
"""
