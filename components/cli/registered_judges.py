"""`mlflow:NAME` in the place of a judge: one that is registered with MLflow, asked through the recipe's endpoint.

`mlflow:NAME:3` shows it the last three screenshots, too. The judge of a name that itself ends in a colon and a number,
such as `clear:2`, is `mlflow:clear:2:0`.
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

    def judge_of(form: re.Match[str]) -> JudgeProtocol:
        screenshots = int(form["screenshots"] or 0)
        judge = registered_judge(params.tracking, form["judge"])
        return instructed(judge.instructions, judge.variables, judge.success, judge.failure, screenshots)

    try:
        return {name: judge_of(form) for name, form in forms.items()}
    except TrackingError as error:
        raise UnavailableJudge(str(error)) from error
