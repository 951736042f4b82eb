"""Multi-turn behaviour cloning of the curated trajectories."""

from pathlib import Path

import torch

from components import tracking
from components.agent import Renderer
from components.params import Params, load
from components.policies import VLM, Encoder
from components.records import Trajectory
from components.stages._curve import write_curve
from components.stages._launch import team
from components.stages._run import local_model, stage
from components.store import read_table
from components.training.sft import Checked, demonstrations, shuffled_as, train
from components.training.sharding import shard, whole_state
from components.training.team import Team

DATA, OUT, CURVE = Path("data/sft/trajectories.parquet"), Path("models/sft"), Path("reports/curves/sft.csv")


def main() -> None:
    with team("components.stages.train_sft") as together:
        if together.leads:
            lead(together)
        else:
            together.follow()


def lead(together: Team) -> None:
    """The stage."""
    with stage("train_sft", inputs=[DATA, *local_model(load().model.base)]) as run:
        curve: list[dict[str, float]] = []

        def report(step: int, steps: int, loss: float) -> None:
            curve.append({"step": step, "loss": round(loss, 6)})
            run.metrics({"loss": loss}, step)
            run.progress(step, steps, f"loss {loss:.3f}")

        together.held["report"] = report
        vlm, state, trajectories, turns, checked = together.run(clone, run.params)
        vlm.publish(OUT, state=state)
        write_curve(CURVE, curve)
        version = run.tracker.register(OUT, tracking.POLICY)
        run.result(
            {"trajectories": trajectories, "turns": turns, "loss": curve[-1]["loss"], "version": version}
            | checked.figures
            | {"losses": curve}
        )


def clone(together: Team, params: Params) -> tuple[VLM, dict[str, torch.Tensor] | None, int, int, Checked]:
    """A job: behaviour cloning, shared by all processes; the model, its state where it is spread over them, how many
    trajectories and turns it saw, and whether it packed them."""
    torch.manual_seed(params.seed)
    vlm = VLM.load(params.model.base, params.model, train=True)
    vlm.prepare(params.model, params.seed)
    if params.training.shard and together.size > 1:
        shard(vlm, together)
    encoder = Encoder(vlm)
    renderer = Renderer(params.agent, params.observation, params.model.think_prefix)
    trajectories = read_table(DATA, Trajectory)
    turns = demonstrations(trajectories, renderer, encoder)
    report = together.held.get("report", lambda step, steps, loss: None)
    data = shuffled_as(params.sft.shuffle, turns)
    checked = train(vlm, encoder, data, params.sft, params.seed, report, together)
    return vlm, whole_state(vlm), len(trajectories), sum(map(len, turns)), checked


if __name__ == "__main__":
    main()
