"""`python -m tests.all_stages`: all stages of the recipe in use, in the order of the DAG and in this process.

With names of stages: only these, as they come. The keys of the recipe that each reads are in `READS` then, by stage.

DVC starts a process for each stage, and each takes about ten seconds of CPU to import MLflow, Great Expectations and
torch. `test_smoke` runs the stages as users do; tests of what the stages make with a recipe need not wait for that.
"""

from __future__ import annotations

import runpy
import shlex
import sys
from pathlib import Path

from components.store import write_json
from flows import graph
from tests.recipe_reads import recorded

READS = Path(".waymark/reads.json")


def main() -> None:
    """Run the stages as their commands in dvc.yaml do."""
    read: dict[str, list[str]] = {}
    stages = graph.read()
    for stage in [stages[name] for name in sys.argv[1:] or stages]:
        _, _, module, *arguments = shlex.split(stage.command)
        sys.argv[1:] = arguments
        with recorded() as reads:
            try:
                runpy.run_module(module, run_name="__main__", alter_sys=True)
            except SystemExit as exit_:
                if exit_.code:
                    raise
        read[stage.name] = sorted(reads.keys)
    write_json(READS, read)


if __name__ == "__main__":
    main()
