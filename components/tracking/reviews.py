"""Trajectories for people to label, as a review queue of MLflow, and their labels (experimental API of MLflow 3.17).

A review has a run with a trace per trajectory, screenshots attached and no verdict of a judge in sight, a question with
two answers, and a queue. A review that is opened again gets the trajectories that it lacks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from components.params import TrackingParams
from components.records import Outcome, Trajectory
from components.tracking.backend import Backend, TrackingError, connect, exclusive, with_retries
from components.tracking.pipeline import NAME, search
from components.tracking.traces import TRAJECTORY, log_conversations, traces_of

if TYPE_CHECKING:
    from mlflow.entities import Assessment
    from mlflow.genai.label_schemas import LabelSchema
    from mlflow.genai.review_queues import ReviewQueue

REVIEW = "waymark.review"
QUESTION = "task success"
"""The name of the question, which is the name of the assessments."""
INSTRUCTION = (
    "Did the agent do what the task asks for, and nothing else? Believe the screenshots and the browser's feedback, "
    "not the agent's words. Partly done is a failure."
)
SUCCESS, FAILURE = "success", "failure"
WITHOUT_LOGIN = ("", "default")
"""Who answered, where MLflow has no logins: its page of a queue writes `default`, that of a trace writes nothing."""


@dataclass(frozen=True)
class OpenedReview:
    """A review in MLflow: how many trajectories it has, and how many of them are new."""

    name: str
    queue_id: str
    experiment_id: str
    trajectories: int
    added: int


@dataclass(frozen=True)
class HumanLabel:
    """An answer about one trajectory. Of several answers by the same user of MLflow the last one counts.

    Answers without a login may be those of several people: equal ones are one label, and different ones are two.
    """

    trajectory_id: str
    reviewer: str
    outcome: Outcome
    comment: str

    @property
    def has_login(self) -> bool:
        """Whether the reviewer is a user of MLflow's authentication, so that it is one person."""
        return self.reviewer not in WITHOUT_LOGIN


def open_review(
    tracking: TrackingParams, name: str, trajectories: Sequence[Trajectory], reviewers: Sequence[str] = ()
) -> OpenedReview:
    """Put trajectories into a queue, which is made if there is none of this name.

    Args:
        reviewers: users of MLflow's authentication, 10 at most; the queue is made for them. Without authentication
            there are none.
    """
    from mlflow.genai.review_queues import add_items_to_review_queue

    backend = connect(tracking)
    with exclusive():
        run_id = _run(backend, name)
        before = set(_traces(backend, run_id).values())
        log_conversations(backend, run_id, "review", trajectories)
        ids = _traces(backend, run_id)
        queue = _queue(backend, name, reviewers) or _new_queue(backend, name, reviewers)
        with_retries(lambda: add_items_to_review_queue(queue.queue_id, item_ids=sorted(ids)))
        with_retries(lambda: backend.client.set_terminated(run_id, "FINISHED"))
    return OpenedReview(name, queue.queue_id, backend.experiment_id, len(ids), len(set(ids.values()) - before))


def human_labels(tracking: TrackingParams, name: str) -> list[HumanLabel]:
    """The answers of people to the question of a review that are not withdrawn, by trajectory and reviewer.

    Raises:
        TrackingError: there is no review of this name.
    """
    backend = connect(tracking)
    run = search(backend, {REVIEW: name})
    if run is None:
        raise TrackingError(
            f"no review {name!r} in experiment {tracking.experiment!r}: open it with `judge review open`"
        )
    labels: dict[tuple[str, str, str], HumanLabel] = {}
    for trace in traces_of(backend, run.info.run_id):
        trajectory_id = trace.info.tags.get(TRAJECTORY, "")
        answers = [answer for answer in trace.info.assessments if _is_answer(answer)]
        for answer in sorted(answers, key=lambda answer: answer.create_time_ms or 0):
            label = _label(trajectory_id, answer)
            person = (label.reviewer, "") if label.has_login else ("", label.outcome.value)
            labels[trajectory_id, *person] = label
    return [labels[key] for key in sorted(labels)]


def _is_answer(assessment: Assessment) -> bool:
    from mlflow.entities import AssessmentSourceType

    is_human = assessment.source.source_type == AssessmentSourceType.HUMAN
    return (
        is_human and assessment.name == QUESTION and assessment.valid is not False and _outcome(assessment) is not None
    )


def _outcome(assessment: Assessment) -> Outcome | None:
    """Success or failure: the page writes True or False, people who write by hand may name the answer."""
    value = assessment.feedback.value if assessment.feedback is not None else None
    answers = {True: Outcome.SUCCESS, False: Outcome.FAILURE, SUCCESS: Outcome.SUCCESS, FAILURE: Outcome.FAILURE}
    return answers.get(value) if isinstance(value, bool | str) else None


def _label(trajectory_id: str, assessment: Assessment) -> HumanLabel:
    outcome = _outcome(assessment)
    assert outcome is not None, "only answers are read"
    return HumanLabel(trajectory_id, assessment.source.source_id or "", outcome, assessment.rationale or "")


def _run(backend: Backend, name: str) -> str:
    run = search(backend, {REVIEW: name})
    if run is None:
        tags = {REVIEW: name, NAME: f"review {name}"}
        run = with_retries(lambda: backend.client.create_run(backend.experiment_id, tags=tags))
    return run.info.run_id


def _traces(backend: Backend, run_id: str) -> dict[str, str]:
    """The trajectory of each trace of a run."""
    return {trace.info.trace_id: trace.info.tags.get(TRAJECTORY, "") for trace in traces_of(backend, run_id)}


def _queue(backend: Backend, name: str, reviewers: Sequence[str]) -> ReviewQueue | None:
    """The queue of this name, for these reviewers too; None if there is none."""
    from mlflow.genai.review_queues import list_review_queues, update_review_queue

    token: str | None = None
    while True:
        page = with_retries(partial(list_review_queues, experiment_id=backend.experiment_id, page_token=token))
        for queue in page:
            if queue.name == name:
                users = list(dict.fromkeys([*queue.users, *reviewers]))
                if users == queue.users:
                    return queue
                return with_retries(partial(update_review_queue, queue.queue_id, users=users))
        token = page.token
        if not token:
            return None


def _new_queue(backend: Backend, name: str, reviewers: Sequence[str]) -> ReviewQueue:
    from mlflow.genai.review_queues import create_review_queue

    schema = _question(backend)
    return with_retries(
        lambda: create_review_queue(
            name, queue_type="custom", users=list(reviewers), schema_ids=[str(schema.schema_id)],
            experiment_id=backend.experiment_id,
        )
    )  # fmt: skip


def _question(backend: Backend) -> LabelSchema:
    """The question of all reviews of the experiment."""
    from mlflow.genai.label_schemas import InputPassFail, create_label_schema, list_label_schemas

    schemas = with_retries(lambda: list_label_schemas(backend.experiment_id))
    for schema in schemas:
        if schema.name == QUESTION:
            return schema
    return with_retries(
        lambda: create_label_schema(
            QUESTION, type="feedback", input=InputPassFail(SUCCESS, FAILURE), instruction=INSTRUCTION,
            enable_comment=True, experiment_id=backend.experiment_id,
        )
    )  # fmt: skip
