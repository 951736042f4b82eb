"""Which files of a folder with ATIF are records: continuations and subagents belong to the record of another file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from components.formats import Damaged, format_named
from tests.formats.test_atif import another_agents

ATIF = format_named("atif")


def harbors_trial(folder: Path) -> Path:
    """The folder of a trial in which Harbor's Terminus summarised its context once and then continued in another file;
    a second summary failed, so no document names it."""
    folder.mkdir(parents=True)
    intent = {"source": "user", "message": "Book a table for two."}
    copied = intent | {"is_copied_context": True}
    summaries = [{"trajectory_path": f"trajectory.summarization-1-{name}.json"} for name in ("summary", "questions")]
    handoff = {"source": "system", "message": "Summarised.", "observation": {
        "results": [{"subagent_trajectory_ref": [*summaries, {"trajectory_path": "helper.json"}]}],
    }}  # fmt: skip
    head = [intent, {"source": "agent", "message": "I look."}, handoff]
    documents = {
        "trajectory": {"steps": head, "continued_trajectory_ref": "trajectory.cont-1.json"},
        "trajectory.cont-1": {"steps": [copied, {"source": "agent", "message": "Booked: table 4."}]},
        "trajectory.summarization-1-summary": {"steps": [copied, {"source": "agent", "message": "So far."}]},
        "trajectory.summarization-1-questions": {"steps": [copied, {"source": "agent", "message": "Which?"}]},
        "trajectory.summarization-2-summary": {"steps": [copied, {"source": "agent", "message": "So far."}]},
        "helper": {"steps": [intent, {"source": "agent", "message": "It is open."}]},
    }
    for name, document in documents.items():
        steps = [{"step_id": number, **step} for number, step in enumerate(document["steps"], start=1)]
        head = {"schema_version": "ATIF-v1.6", "agent": {"name": "terminus-2", "version": "2"}}
        (folder / f"{name}.json").write_text(json.dumps(head | document | {"steps": steps}))
    return folder


def test_a_trial_with_summaries_and_a_continuation_is_one_record(tmp_path):
    for number in (1, 2):
        harbors_trial(tmp_path / f"job/trial-{number}/agent")
    records = [*ATIF.read(tmp_path / "job")]
    assert [record.place for record in records] == [
        str(tmp_path / f"job/trial-{number}/agent/trajectory.json") for number in (1, 2)
    ]
    for record in records:
        assert (record.trajectory.task.intent, record.trajectory.answer) == (
            "Book a table for two.",
            "Booked: table 4.",
        )
        assert [turn.response for turn in record.trajectory.turns] == ["I look.", "Booked: table 4."]
        assert [turn.index for turn in record.trajectory.turns] == [0, 1]


@pytest.mark.parametrize(
    ("reference", "why"),
    [
        ("gone.json", "trajectory.json: goes on in 'gone.json', which does not exist: copy it into the folder"),
        (
            "trajectory.json",
            "trajectory.json: goes on in 'trajectory.json', which it went through: correct the reference",
        ),
        ("../../private.json", "trajectory.json: goes on in '../../private.json', which leads out of"),
        ("trajectory.cont-1.json", "trajectory.cont-1.json:1: is not JSON"),
    ],
)
def test_a_continuation_that_cannot_be_read_damages_its_trajectory(tmp_path, reference, why):
    folder = harbors_trial(tmp_path / "job/agent")
    (tmp_path / "private.json").write_text((folder / "trajectory.cont-1.json").read_text())
    (folder / "trajectory.cont-1.json").write_text("{")
    document = json.loads((folder / "trajectory.json").read_text()) | {"continued_trajectory_ref": reference}
    (folder / "trajectory.json").write_text(json.dumps(document))
    record = next(record for record in ATIF.read(tmp_path / "job") if record.place.endswith("trajectory.json"))
    assert isinstance(record, Damaged)
    assert why in record.reason


def test_an_image_of_a_continuation_is_beside_the_continuation(tmp_path):
    folder = another_agents(tmp_path / "job/later")
    another_agents(tmp_path / "job/first", continued_trajectory_ref="../later/trajectory.json")
    (record,) = ATIF.read(tmp_path / "job")
    assert record.missing == ()
    assert len(record.trajectory.turns) == 4
    (folder / "images/2.png").unlink()
    (record,) = ATIF.read(tmp_path / "job")
    assert record.missing == (f"{folder / 'images/2.png'} does not exist: copy the screenshots beside the record",)
