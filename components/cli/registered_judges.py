"""`mlflow:NAME` in the place of a judge: one that is registered with MLflow, asked through the recipe's endpoint.

`mlflow:NAME:3` shows it the last three screenshots, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from components.judge.protocols import JudgeProtocol
    from components.params import Params

_FORM = re.compile(r"mlflow:(?P<judge>.*?)(?::(?P<screenshots>\d{1,3}))?", re.DOTALL)


def registered_protocols(names: Iterable[str], params: Params) -> dict[str, JudgeProtocol]:
    """The protocols of those names that begin with `mlflow:`.

    Raises:
        UnavailableJudge: MLflow has no such judge, or it gives no verdicts on episodes.
    """
    from components.judge.judges import UnavailableJudge
    from components.judge.registered import instructed

    forms = {name: match for name in names if (match := _FORM.fullmatch(name))}
    if not forms:
        return {}
    from components.tracking import TrackingError
    from components.tracking.registered_judges import registered_judge

    try:
        judges = {name: registered_judge(params.tracking, form["judge"]) for name, form in forms.items()}
    except TrackingError as error:
        raise UnavailableJudge(str(error)) from error
    return {
        name: instructed(
            judge.instructions, judge.variables, judge.success, judge.failure, int(forms[name]["screenshots"] or 0)
        )
        for name, judge in judges.items()
    }
