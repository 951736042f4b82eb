"""The published way to a verdict of webarena-verified, for comparison: its facade, on its own rows.

It runs in `.venv-verified` and imports nothing of ours. Each line of standard input has the id of a task, an answer,
the entries of a HAR and the addresses of sites; each line of standard output is the status of the package's result.
"""

from __future__ import annotations

import json
import logging
import sys
from typing import Any

from webarena_verified.api import WebArenaVerified
from webarena_verified.types.config import WebArenaVerifiedConfig

FACADES: dict[str, WebArenaVerified] = {}


def facade(environments: dict[str, str]) -> WebArenaVerified:
    """The facade for sites at these addresses; each reads the rows once."""
    key = json.dumps(environments, sort_keys=True)
    if key not in FACADES:
        by_site = {site: {"urls": [address]} for site, address in environments.items()}
        FACADES[key] = WebArenaVerified(config=WebArenaVerifiedConfig.model_validate({"environments": by_site}))
    return FACADES[key]


def status(case: dict[str, Any]) -> str:
    """What the package says of a case."""
    result = facade(case["environments"]).evaluate_task(
        task_id=case["task_id"], agent_response=case["answer"], network_trace=case["entries"]
    )
    return str(result.status)


if __name__ == "__main__":
    logging.disable()
    for line in sys.stdin:
        print(json.dumps(status(json.loads(line))), flush=True)
