"""The small base that the demo starts from. The stage is frozen: its output is in the repository (`data/base_model`).

`python -m components.stages.pretrain_base` makes it anew in one go, as the section `pretrain` of params.yaml says.
Killed and run again, it goes on from its last checkpoint.
"""

from pathlib import Path

from components.params import load
from components.pipeline.stage_run import local_model, stage
from components.store import write_json
from components.training.page_rendering import render_pages_in_processes
from components.training.pretrain import pretrain
from components.training.pretrain_progress import Figures


def main() -> None:
    """Run the stage."""
    start = load().pretrain.start
    with stage("pretrain_base", inputs=local_model(start) if start else [], keeps_work=False) as run:
        params = run.params.pretrain
        steps = sum(phase.steps for phase in params.phases)
        pages_of = {}
        for kind in sorted({params.kind, *(params.kind_of(phase) for phase in params.phases)}):
            run.progress(0, steps, f"rendering {params.pages} pages of the kind {kind}")
            pages_of[kind] = render_pages_in_processes(params.pages, params.seed, kind)

        def report(figures: Figures) -> None:
            run.metrics(figures, int(figures["step"]))
            run.progress(figures["step"], steps, str(figures))

        vlm, curve = pretrain(pages_of, params, report, run.state / "checkpoint.pt")
        out = Path(params.out)
        vlm.publish(out)
        write_json(out / "pretraining.json", {"curve": curve})
        run.result(curve[-1])


if __name__ == "__main__":
    main()
