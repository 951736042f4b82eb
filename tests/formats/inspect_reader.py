"""Reads logs with inspect_ai's own reader and prints what it understood: run by the Python of `.venv-inspect`."""

from __future__ import annotations

import json
import sys

from inspect_ai.log import EvalLog, list_eval_logs, read_eval_log, recompute_metrics


def figures(log: EvalLog) -> dict[str, float]:
    return {score.name: metric.value for score in log.results.scores for metric in score.metrics.values()}


logs = []
for info in list_eval_logs(sys.argv[1]):
    log, header = read_eval_log(info), read_eval_log(info, header_only=True)
    written = figures(log)
    recompute_metrics(log)
    logs.append(
        {
            "task": header.eval.task,
            "model": header.eval.model,
            "written": written,
            "recomputed": figures(log),
            "samples": [sample.model_dump(mode="json", exclude_none=True) for sample in log.samples],
        }
    )
print(json.dumps(logs))
