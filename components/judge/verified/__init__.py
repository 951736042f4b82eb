"""webarena-verified: the verdicts of WebArena's corrected version, by its own evaluator.

Waymark calls the evaluator of the package `webarena-verified` (Apache-2.0) and implements none of its checks: its
types of answers (durations, distances, currencies, addresses, coordinates, dates, …) and its comparison of network
events are about 5,000 lines, and the published figures are theirs by definition. The package pins pydantic 2.12.0 and
16 more packages exactly, and Waymark needs pydantic 2.14, so it cannot be an extra: it lives in an environment of its
own, `.venv-verified` (`make verified`), as vLLM does. `evaluate` runs there as a process; `client` talks
to it; `rule` makes its input from a trajectory.

The rows are inside of the package (`assets/dataset/webarena-verified.json`), and their file is read like any other
task file.
"""
