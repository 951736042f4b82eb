"""A pipeline on two machines: `python -m perf.two_machines [--recipe smoke] [--kill train_rl@short]`.

Clones of the last commit stand for the machines: `a` runs the pipeline and has a worker of the pool `cpu`; `b` and `c`
have workers of the pool `gpu`, which trains. They share a Prefect server, an MLflow server and an S3 bucket (moto), all
started here on free ports. With `--kill` every process of the machine that runs the stage is ended with SIGKILL when it
has two checkpoints.

The last line is JSON: wall time in seconds, the stages by machine, seconds from the kill until another machine has the
checkpoints, how many the lost machine had written and how many were taken over, and the stages that `dvc status` calls
stale in the clone of the pipeline.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import yaml

from components.ports import free_port

ROOT = Path(__file__).parents[1]
MACHINES = {"a": "cpu", "b": "gpu", "c": "gpu"}
RESULTS = ("params.yaml", "dvc.lock", ".dvc/cache", "data", "models", "reports")
POOLS = {"train_*": "gpu", "distill_judge": "gpu", "*_rollouts": "cpu"}
"""The tasks, the labels, the evaluations and the report are made where the pipeline runs."""
ITERATIONS = 5
"""Of the first phase of RL, if a machine is to be lost in it."""
START_S = 120.0


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", default="smoke")
    parser.add_argument("--kill", metavar="STAGE", help="the stage whose machine is lost")
    parser.add_argument("--folder", type=Path, help="where the clones are made, and kept; default: a temporary one")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = options.folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="waymark-machines-")))
        folder.mkdir(parents=True, exist_ok=True)
        print(json.dumps(measure(folder, options.recipe, options.kill, stack)))


def measure(
    folder: Path, recipe: str, kill: str | None, stack: contextlib.ExitStack, begun: Path | None = None
) -> dict[str, object]:
    """Set the machines up, run the pipeline, and say what happened.

    Args:
        folder: where the clones, the servers' data and the logs are made.
        recipe: the name of a recipe.
        kill: the stage of RL whose machine is lost; None: no machine is.
        stack: ends the servers and workers.
        begun: a checkout in which the recipe has run. Machine `a` begins with its results, and all have its recipes.
    """
    clones = {name: clone(folder / name) for name in MACHINES}
    if begun:
        for path in clones.values():
            shutil.copytree(begun / "recipes", path / "recipes", dirs_exist_ok=True)
        take_results(begun, clones["a"])
    shared, tracking = environment(folder), f"http://127.0.0.1:{free_port()}"
    serve(shared, folder, tracking, stack)
    placement = {"store": "s3://waymark/run", "pools": POOLS, "sync_s": 2.0, "lost_after_s": 15.0}
    ours: dict[str, object] = {
        "extends": recipe,
        "name": recipe,
        "placement": placement,
        "tracking": {"tracking_uri": tracking},
    }
    if kill:
        ours["rl"] = {"short": {"iterations": ITERATIONS}}
    (folder / "machines.yaml").write_text(yaml.safe_dump(ours))
    for name, pool in MACHINES.items():
        command = [sys.executable, "-m", "prefect", "worker", "start", "--pool", pool, "--name", name]
        stack.enter_context(
            running(command, machine(shared, clones[name]), clones[name], folder / f"worker-{name}.log")
        )
    code = f"from flows.pipeline import pipeline; pipeline(recipe={str(folder / 'machines.yaml')!r})"
    began = time.monotonic()
    figures: dict[str, object] = {}
    flow = stack.enter_context(
        running([sys.executable, "-c", code], machine(shared, clones["a"]), clones["a"], folder / "pipeline.log")
    )
    if kill:
        figures = strike(kill, clones, flow)
    flow.wait()
    seconds = time.monotonic() - began
    if flow.returncode:
        print((folder / "pipeline.log").read_text()[-4000:], file=sys.stderr)
    status = subprocess.run(
        [sys.executable, "-m", "dvc", "status", "--json"],
        cwd=clones["a"], env=machine(shared, clones["a"]), stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    return {
        "recipe": recipe,
        "completed": flow.returncode == 0,
        "wall_s": round(seconds, 1),
        "stages": {name: ran_in(path) for name, path in clones.items()},
        **figures,
        "stale": [stage for stage in json.loads(status.stdout) if stage != "pretrain_base"],
    }


def clone(path: Path) -> Path:
    """A clone of the last commit of this project."""
    subprocess.run(["git", "clone", "-q", str(ROOT), str(path)], check=True)
    return path


def take_results(begun: Path, path: Path) -> None:
    """Copy the recipe in use and the outputs of all stages into a clone."""
    for name in RESULTS:
        if (begun / name).is_dir():
            shutil.copytree(begun / name, path / name, dirs_exist_ok=True)
        else:
            shutil.copy2(begun / name, path / name)


def environment(folder: Path) -> dict[str, str]:
    """What all machines have in their environment."""
    keys = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "us-east-1"}
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "AWS_"))},
        **keys,
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{free_port()}",
        "PREFECT_API_URL": f"http://127.0.0.1:{free_port()}/api",
        "PREFECT_HOME": str(folder / "prefect"),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    }


def machine(shared: dict[str, str], path: Path) -> dict[str, str]:
    """The environment of one machine: the code is that of its clone."""
    packages = [str(path), *filter(None, [shared.get("PYTHONPATH")])]
    return {**shared, "PYTHONPATH": os.pathsep.join(packages), "WAYMARK_PROJECT": str(path)}


def serve(shared: dict[str, str], folder: Path, tracking: str, stack: contextlib.ExitStack) -> None:
    """Start the bucket, Prefect with its pools, and MLflow."""
    ports = [shared[name].split(":")[2].split("/")[0] for name in ("AWS_ENDPOINT_URL", "PREFECT_API_URL")]
    store = [
        "--backend-store-uri",
        f"sqlite:///{folder}/mlflow.db",
        "--artifacts-destination",
        str(folder / "artifacts"),
    ]
    servers = {
        "moto": ["moto.server", "-H", "127.0.0.1", "-p", ports[0]],
        "prefect": ["prefect", "server", "start", "--host", "127.0.0.1", "--port", ports[1]],
        "mlflow": [
            "mlflow",
            "server",
            "--host",
            "127.0.0.1",
            "--port",
            tracking.split(":")[2],
            "--workers",
            "1",
            *store,
        ],
    }
    for name, command in servers.items():
        stack.enter_context(running([sys.executable, "-m", *command], shared, folder, folder / f"{name}.log"))
    for url in (f"{shared['AWS_ENDPOINT_URL']}/moto-api", f"{shared['PREFECT_API_URL']}/health", f"{tracking}/health"):
        wait_for(url)
    create = "import boto3; boto3.client('s3').create_bucket(Bucket='waymark')"
    subprocess.run([sys.executable, "-c", create], env=shared, check=True)
    for pool in sorted({*MACHINES.values()}):
        command = [sys.executable, "-m", "prefect", "work-pool", "create", pool, "--type", "process"]
        subprocess.run(command, env=shared, check=True, capture_output=True)


def wait_for(url: str) -> None:
    """Wait until a server answers."""
    ends = time.monotonic() + START_S
    while True:
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except OSError:
            if time.monotonic() > ends:
                raise
            time.sleep(0.5)


@contextlib.contextmanager
def running(command: list[str], variables: dict[str, str], cwd: Path, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that ends with the context, with all processes that it started."""
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=cwd, env=variables, stdout=output, stderr=output)
    try:
        yield process
    finally:
        with contextlib.suppress(psutil.NoSuchProcess):
            family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
            for member in family:
                with contextlib.suppress(psutil.NoSuchProcess):
                    member.terminate()
            for member in psutil.wait_procs(family, timeout=20)[1]:
                member.kill()
        process.wait()


def strike(stage: str, clones: dict[str, Path], flow: subprocess.Popen[bytes]) -> dict[str, object]:
    """Wait until a stage has written a checkpoint, and end its machine."""
    name = ""
    while not name:
        if flow.poll() is not None:
            raise SystemExit(f"the pipeline ended before {stage} had a checkpoint")
        name = next((key for key, path in clones.items() if iterations(path, stage) >= 2), "")
        time.sleep(0.5)
    lost, began = iterations(clones[name], stage), time.monotonic()
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get("WAYMARK_PROJECT") == str(clones[name]):
                process.kill()
    others = {key: path for key, path in clones.items() if key != name}
    while not any(iterations(path, stage) for path in others.values()):
        if flow.poll() is not None:
            raise SystemExit(f"the pipeline ended before another machine continued {stage}")
        time.sleep(0.2)
    seconds = time.monotonic() - began
    taken_over = max(iterations(path, stage) for path in others.values())
    return {"killed": name, "continued_after_s": round(seconds, 1), "checkpoints": lost, "taken_over": taken_over}


def iterations(path: Path, stage: str) -> int:
    """The number of the last checkpoint of a stage of RL in a clone."""
    numbers = [file.stem.split("-")[-1] for file in (path / ".waymark/state" / stage).glob("*/checkpoints/*")]
    return max((int(number) for number in numbers if number.isdigit()), default=0)


def ran_in(path: Path) -> list[str]:
    """The stages that DVC ran in a clone."""
    logs = sorted((path / ".waymark/logs").glob("*.log"))
    return [log.stem for log in logs if f"Running stage '{log.stem}'" in log.read_text(errors="replace")]


if __name__ == "__main__":
    main()
