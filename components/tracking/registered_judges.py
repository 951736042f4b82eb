"""Judges that people registered with MLflow: `mlflow.genai.make_judge(...).register()`.

Only their instructions and values are used. Waymark asks its own endpoint, so that the model and the inference
parameters of the registration do not count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args, get_origin

from components.params import TrackingParams
from components.tracking.backend import TrackingError, connect, with_retries

if TYPE_CHECKING:
    from mlflow.genai.scorers import Scorer

_WORDS = ("success", "failure")
VARIABLES = ("inputs", "outputs", "expectations", "trace")
"""Variables of instructions that an episode can fill; the order is that of the question."""


@dataclass(frozen=True)
class RegisteredJudge:
    """Instructions with variables such as `{{ inputs }}`, and the values that mean success and failure."""

    name: str
    instructions: str
    variables: tuple[str, ...]
    success: bool | str
    failure: bool | str


def registered_judge(tracking: TrackingParams, name: str) -> RegisteredJudge:
    """The latest version of a judge.

    Raises:
        TrackingError: none has this name, it has no instructions, no episode can fill its variables, or its values are
            no verdicts.
    """
    scorer = _scorer(tracking, name)
    from mlflow.genai.judges.instructions_judge import InstructionsJudge

    if not isinstance(scorer, InstructionsJudge):
        raise TrackingError(f"{name!r} in MLflow has no instructions: register a judge of mlflow.genai.make_judge")
    if unknown := sorted(scorer.template_variables - {*VARIABLES}):
        raise TrackingError(
            f"the judge {name!r} wants {{{{ {unknown[0]} }}}}, which an episode does not have: "
            f"register it with {', '.join(VARIABLES)} alone"
        )
    success, failure = _verdicts(name, scorer.feedback_value_type)
    variables = tuple(variable for variable in VARIABLES if variable in scorer.template_variables)
    return RegisteredJudge(name, scorer.instructions, variables, success, failure)


def _scorer(tracking: TrackingParams, name: str) -> Scorer:
    backend = connect(tracking)
    from mlflow.exceptions import MlflowException
    from mlflow.genai.scorers import get_scorer

    try:
        return with_retries(lambda: get_scorer(name=name, experiment_id=backend.experiment_id))
    except MlflowException as error:
        raise TrackingError(
            f"MLflow's experiment {tracking.experiment!r} gives no judge {name!r} ({str(error).splitlines()[0]}): "
            f"register it with make_judge(...).register(experiment_id={backend.experiment_id!r})"
        ) from error


def _verdicts(name: str, values: object) -> tuple[bool | str, bool | str]:
    """The values that mean success and failure."""
    if values is bool:
        return True, False
    if get_origin(values) is Literal and {*get_args(values)} == {*_WORDS}:
        return _WORDS
    shown = getattr(values, "__name__", str(values)) if isinstance(values, type) else str(values)
    raise TrackingError(
        f"the values of the judge {name!r} ({shown}) are no verdicts: register it with feedback_value_type=bool or "
        f"Literal{[*_WORDS]}"
    )
