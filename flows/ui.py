"""`make ui`: runs the MLflow and Prefect servers on loopback until Ctrl-C. If one of them ends, the other ends too.

MLflow's settings are in `mlflow/server.env`; Prefect's home is that of `make demo`, so its UI shows these runs.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

from rich.console import Console

from flows import process

LOGS = Path(".waymark/logs")
PREFECT = ("prefect", "server", "start", "--host", "127.0.0.1", "--port", "4200")
LEASES = {"PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect.server.concurrency.lease_storage.filesystem"}
"""A deployment's `concurrency_limit` leases a place to a run. By default Prefect's server keeps leases in memory, and a
server that was started again ends runs whose lease it does not know."""


def main() -> int:
    """Serve until interrupted; exit status 1 if a server ends by itself."""
    root, console = Path.cwd(), Console()
    settings = server_env((root / "mlflow/server.env").read_text())
    (root / "mlflow/store").mkdir(parents=True, exist_ok=True)
    (root / ".waymark/prefect").mkdir(parents=True, exist_ok=True)
    prefect = {"PREFECT_HOME": str(root / ".waymark/prefect"), "PREFECT_SERVER_ANALYTICS_ENABLED": "false"}
    prefect |= LEASES
    ended = threading.Event()
    messages: list[str] = []

    def serve(name: str, command: tuple[str, ...], environment: dict[str, str]) -> None:
        try:
            command_line = (sys.executable, "-m", *command)
            process.call(command_line, name=name, log=root / LOGS / f"{name}.log", root=root, environment=environment)
            messages.append(f"{name} ended by itself; see {LOGS / name}.log (is its port in use?)")
        except (process.Busy, process.Stopped) as error:
            messages.append(str(error))
        finally:
            ended.set()

    process.own_children(root)
    servers = [
        threading.Thread(target=serve, args=("mlflow-server", ("mlflow", "server"), {**os.environ, **settings})),
        threading.Thread(target=serve, args=("prefect-server", PREFECT, {**os.environ, **prefect})),
    ]
    console.print(f"MLflow   http://{settings['MLFLOW_HOST']}:{settings['MLFLOW_PORT']}")
    console.print("Prefect  http://127.0.0.1:4200\nBoth start in some seconds; Ctrl-C ends them.")
    try:
        for server in servers:
            server.start()
        ended.wait()
        console.print(messages[0])
        return 1
    except KeyboardInterrupt:
        return 0
    finally:
        process.stop_all()
        for server in servers:
            server.join()


def server_env(text: str) -> dict[str, str]:
    """The settings of an env file: NAME=VALUE lines, `#` starts a comment line."""
    lines = [line.strip() for line in text.splitlines()]
    pairs = [line.partition("=") for line in lines if line and not line.startswith("#")]
    return {name: value for name, _, value in pairs}


if __name__ == "__main__":
    sys.exit(main())
