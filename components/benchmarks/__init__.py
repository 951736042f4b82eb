"""Published benchmarks: specification, evaluated model, run, judging, results, comparison of two models.

Import the modules by their own names: `run.evaluate` runs a benchmark, `compare.compare` compares two results.
"""
