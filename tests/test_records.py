"""Records have closed sets of values, cannot be changed, and have ids that depend on their content."""

from __future__ import annotations

import ast
import hashlib
from pathlib import Path

import pytest
from pydantic import ValidationError

from components import records
from components.records import Image, Outcome, Task, Termination, Trajectory, Turn, trajectory_id
from tests.samples import a_task, a_trajectory, a_turn


def test_records_import_nothing_of_ours() -> None:
    tree = ast.parse(Path(records.__file__).read_text())
    modules = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    modules += [name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names]
    assert {module.split(".")[0] for module in modules} == {"__future__", "enum", "typing", "hashlib", "pydantic"}


def test_only_these_five_endings_count_against_the_agent() -> None:
    agents = {t.value for t in Termination if t.is_agents_doing}
    assert agents == {"done", "max_steps", "response_length", "context_length", "format_error"}
    assert len(Termination) == 14


def test_an_unknown_termination_is_refused() -> None:
    with pytest.raises(ValidationError, match="termination"):
        a_trajectory(termination="bored")


def test_the_four_outcomes_are_different_things() -> None:
    assert [outcome.value for outcome in Outcome] == ["success", "failure", "unparsed", "error"]


def test_records_are_frozen_and_refuse_unknown_fields() -> None:
    task = a_task()
    with pytest.raises(ValidationError, match="frozen"):
        task.intent = "other"
    with pytest.raises(ValidationError, match="colour"):
        Task.model_validate(task.model_dump() | {"colour": "red"})


@pytest.mark.parametrize("wrong", [{"task_id": ""}, {"split": "test"}, {"horizon": 0}, {"difficulty": -1}])
def test_an_impossible_task_is_refused_by_field(wrong: dict) -> None:
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        a_task(**wrong)


def test_the_trajectory_id_is_keyed_by_task_attempt_policy_and_seed() -> None:
    keys = [("a", 0, "p", 0), ("b", 0, "p", 0), ("a", 1, "p", 0), ("a", 0, "q", 0), ("a", 0, "p", 1), ("a0", 0, "p", 0)]
    assert len({trajectory_id(*key) for key in keys}) == len(keys)
    assert trajectory_id("a", 0, "p", 0) == hashlib.sha256(b"a\x000\x00p\x000").hexdigest()[:20]


def test_an_image_knows_the_hash_of_its_bytes() -> None:
    assert Image.of(b"").sha256 == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_response_tokens_are_summed_over_turns() -> None:
    turns = [a_turn(0, token_ids=[1, 2, 3]), a_turn(1, token_ids=[4]), a_turn(2, token_ids=[])]
    assert a_trajectory(turns=0).model_copy(update={"turns": turns}).response_tokens == 4


@pytest.mark.parametrize(
    ("errors", "termination", "ok"),
    [
        ([None], "done", True),
        (["no tool call", None], "done", True),
        ([None, "no tool call"], "max_steps", False),
        (["no tool call"] * 3, "format_error", False),
        ([None], "format_error", False),
        ([], "env_init_error", False),
    ],
)
def test_the_format_is_ok_if_the_last_turn_parsed(errors: list, termination: str, ok: bool) -> None:
    turns: list[Turn] = [a_turn(index, parse_error=error) for index, error in enumerate(errors)]
    trajectory: Trajectory = a_trajectory(turns=0, termination=termination).model_copy(update={"turns": turns})
    assert trajectory.format_ok is ok


def test_half_a_surrogate_pair_does_not_stop_the_journal() -> None:
    call = {"name": "write", "arguments": {"text": "a\ud83d", "keys": ["\udc00"]}}
    turn = a_turn(response="\ud83d\ude00 \ud83d", tool_calls=[call], feedback=["typed \ud83d"])
    assert turn.tool_calls[0].arguments == {"text": "a?", "keys": ["?"]}
    assert turn.feedback == ["typed ?"]
    assert Turn.model_validate_json(turn.model_dump_json()) == turn
    rubric = [{"id": "1", "description": "a\ud83d", "facts": ["b\ud83d"]}]
    task = a_task(domain="c\ud83d", subdomain="d\ud83d", rubric=rubric)
    assert (task.domain, task.subdomain, task.rubric[0].description, task.rubric[0].facts) == ("c?", "d?", "a?", ["b?"])
