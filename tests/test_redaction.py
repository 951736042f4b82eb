"""Passwords in addresses: left out of what others read, and refused where they would be copied."""

import html
import json
import re
import time
from urllib.parse import quote, quote_plus, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import make_url

from components.params import RecipeError, parse
from components.redaction import MARK, Redaction, cleaned_json, redacted
from components.tasks.sources import parse_rows
from tests.samples import recipe

WORDS = st.text("abcXYZ019-._~%!$&()*+,;=", min_size=1, max_size=12)
USERS = st.text("abcXYZ019-._~%!$&()*+,;=@", min_size=1, max_size=12)


@given(user=USERS, password=WORDS, around=st.sampled_from(["{}", "see {} there", "a={}, b", '"{}"', "{}/x?y=1"]))
def test_the_password_goes_and_the_rest_stays(user, password, around):
    for scheme in ("postgresql", "https", "ray", "mysql+pymysql"):
        text = around.format(f"{scheme}://{user}:{password}@host:5432/db")
        assert redacted(text) == around.format(f"{scheme}://{user}:***@host:5432/db")


@given(user=USERS, password=st.text("ab Z9/'\"?#", min_size=1, max_size=12).filter(lambda text: not text[0].isdigit()))
def test_passwords_of_databases_go_whatever_sqlalchemy_takes(user, password):
    address = f"postgresql+psycopg2://{user}:{password}@host:5432/db"
    assert make_url(address).password == password
    assert redacted(f"see {address} there") == f"see postgresql+psycopg2://{user}:***@host:5432/db there"


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=6, max_size=12))
def test_a_secret_goes_however_addresses_html_and_json_write_it(secret):
    clean = Redaction([secret])
    written = [
        secret,
        quote(secret, safe=""),
        quote_plus(secret),
        urlencode({"a": secret}).removeprefix("a="),
        html.escape(secret),
        html.escape(secret, quote=False),
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
    ]
    for form in written:
        assert clean(f"<{form}>") == f"<{MARK}>"
    lower = re.sub("%..", lambda code: code[0].lower(), quote(secret, safe=""))
    assert clean(f"<{lower}>") == f"<{MARK}>"


def test_a_secret_goes_from_json_as_a_number_and_as_a_key_too():
    value = {"83719264": [83719264, -83719264, 83719264.5, 837192640], "near": [8371926, 0.5, True, None, float("inf")]}
    assert cleaned_json(value, Redaction(["83719264"])) == {
        "***": ["***", "-***", "***.5", "***0"],
        "near": [8371926, 0.5, True, None, float("inf")],
    }


def test_text_without_a_password_stays():
    for text in (
        "https://example.org:8080/a@b",
        "sqlite:///mlflow/store/mlflow.db",
        "postgresql://host:5432/db of me@example.org",
        "postgresql://me@host:5432/db of me@example.org",
        "https://me@host:8080/a@b",
        "at 10:30 to me@example.org",
        "http://me@host/",
    ):
        assert redacted(text) == text


@pytest.mark.parametrize("part", ["a", "a@", "a://", "a://a:", "a:@", "mysql+", "mysql://", "mysql://a:b "])
def test_a_long_text_without_a_password_is_read_in_little_time(part):
    text = part * 20_000
    began = time.process_time()
    assert redacted(text) == text
    assert time.process_time() - began < 1


def test_a_start_page_with_a_password_is_rejected_without_repeating_it():
    row = {"web_name": "Shop", "id": "1", "ques": "Buy a lamp.", "web": "https://alice:wonderland@shop.example/"}
    tasks, (rejection,) = parse_rows([row], "webvoyager", "tasks.jsonl")
    assert tasks == []
    assert "shop.example: an address with a password" in rejection.reason
    assert "wonderland" not in rejection.model_dump_json()


def test_an_error_about_a_recipe_does_not_repeat_its_password():
    raw = recipe().model_dump(mode="json")
    raw["rollout"]["ray_workers"] = "ray://admin:wonderland@10.0.0.1"
    with pytest.raises(RecipeError, match=r"ray_workers = 'ray://admin:\*\*\*@10.0.0.1'"):
        parse(raw)
