"""`mlflow:NAME` in the place of a judge: one that is registered with MLflow, asked through the recipe's endpoint."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from components.judge.protocols import JudgeProtocol
    from components.params import Params

PREFIX = "mlflow:"


def registered_protocols(names: Iterable[str], params: Params) -> dict[str, JudgeProtocol]:
    """The protocols of those names that begin with `mlflow:`.

    Raises:
        UnavailableJudge: MLflow has no such judge, or it gives no verdicts on episodes.
    """
    from components.judge.judges import UnavailableJudge
    from components.judge.registered import instructed

    registered = [name for name in names if name.startswith(PREFIX)]
    if not registered:
        return {}
    from components.tracking import TrackingError
    from components.tracking.registered_judges import registered_judge

    try:
        judges = {name: registered_judge(params.tracking, name.removeprefix(PREFIX)) for name in registered}
    except TrackingError as error:
        raise UnavailableJudge(str(error)) from error
    return {
        name: instructed(judge.instructions, judge.variables, judge.success, judge.failure)
        for name, judge in judges.items()
    }
