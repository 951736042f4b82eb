"""The small base that the demo starts from. Frozen: its output is in the repository (`data/base_model`)."""

from pathlib import Path

from components.stages._run import stage
from components.store import write_json
from components.training.pages import render_pages_in_processes
from components.training.pretrain import PretrainConfig, pretrain

OUT = Path("data/base_model")


def main() -> None:
    config = PretrainConfig()
    with stage("pretrain_base") as run:
        steps = sum(phase.steps for phase in config.phases)
        run.progress(0, steps, f"rendering {config.pages} pages")
        pages = render_pages_in_processes(config.pages, config.seed)
        curve: list[dict[str, float]] = []

        def report(figures: dict[str, float]) -> None:
            curve.append(figures)
            run.metrics(figures, int(figures["step"]))
            run.progress(figures["step"], steps, str(figures))

        vlm = pretrain(pages, config, report)
        vlm.publish(OUT)
        write_json(OUT / "pretraining.json", {"curve": curve})
        run.result(curve[-1])


if __name__ == "__main__":
    main()
