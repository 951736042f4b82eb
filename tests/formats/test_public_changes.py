"""What is published of changed rows whose columns hold JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.formats.public_changes import public_check
from components.records import RowChange, StateCheck


def published(text: str | None) -> str | None:
    check = StateCheck(
        reward=0.0, credit=0.0, changes=[RowChange(table="app", key="1", before=None, after={"state": text})]
    )
    (change,) = public_check(check).changes
    assert change.after is not None
    return change.after["state"]


def test_secrets_within_json_are_masked_by_the_names_of_their_keys():
    state = {"users": [{"name": "Ada", "password": "md5$x"}], "auth": {"api_key": "k7", "ttl": 5}, "token": ""}
    public = {"users": [{"name": "Ada", "password": "***"}], "auth": {"api_key": "***", "ttl": 5}, "token": ""}
    text = published(json.dumps(state))
    assert text is not None
    assert json.loads(text) == public


@pytest.mark.parametrize(
    "text",
    [None, "", "plain", '{"a":  1, "é": [2]}', "{password: x", "[" * 100_000, '["password"]', "{}", "[x] password"],
)
def test_other_texts_stay_as_they_are(text):
    assert published(text) == text


@given(
    st.recursive(st.none() | st.integers() | st.text(), lambda part: st.lists(part) | st.dictionaries(st.text(), part))
)
def test_any_json_stays_json(value):
    text = published(json.dumps(value))
    assert text is not None
    json.loads(text)


def test_a_sentence_ends_at_a_column_whose_json_has_a_secret():
    row = {"name": "Ada", "profile": '{"password": "hunter2"}'}
    sentence = 'also added 1 row to app (name Ada, profile {"password": "hunter2"})'
    check = StateCheck(
        reward=0.0,
        credit=0.0,
        side_effects=[sentence],
        changes=[RowChange(table="app", key="1", before=None, after=row)],
    )
    assert public_check(check).side_effects == ["also added 1 row to app (name Ada, profile ***)"]
