"""Numbers in options: a wrong one is refused with a sentence before anything starts."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from components.cli.command import SEEDS
from components.cli.main import parser
from components.params import Params
from tests.samples import raw_recipe

AT_LEAST_1 = "is too small: give at least 1"
COUNTS = [
    ["study", "clip", "--side-by-side"],
    ["plan", "--devices"],
    ["plan", "--cores"],
    ["run", "x", "--url", "http://x", "--max-steps"],
    ["judge", "review", "open", "x", "--name", "x", "--limit"],
    ["judge", "attack", "x", "--judge", "distilled", "--limit"],
    ["judge", "attack", "x", "--judge", "distilled", "--tries"],
    ["world", "check", "city", "--seeds"],
    ["world", "record", "x", "y", "--task"],
    ["blocklist", "--learn", "--days"],
]


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The last line on standard error, which is the reason of the refusal."""
    with pytest.raises(SystemExit) as ended:
        parser().parse_args(arguments)
    assert ended.value.code == 2
    return capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize("arguments", COUNTS)
@pytest.mark.parametrize("value", ["0", "-1"])
def test_a_count_is_at_least_1(arguments: list[str], value: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert refused([*arguments, value], capsys).endswith(f"argument {arguments[-1]}: {value} {AT_LEAST_1}")


@pytest.mark.parametrize("arguments", COUNTS)
def test_a_word_is_no_count(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert "'many' is no whole number: give one, such as 3" in refused([*arguments, "many"], capsys)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["run", "x", "--url", "http://x", "--minutes", "0"], "0 is no duration: give a number above 0"),
        (["run", "x", "--url", "http://x", "--minutes", "soon"], "'soon' is no number: give one, such as 2.5"),
        (["run", "x", "--url", "http://x", "--seed", "-1"], "-1 is negative: give at least 0"),
        (["run", "x", "--url", "http://x", "--seed", str(2**32)], "is too large: give a seed below 4294967296"),
        (["world", "check", "city", "--first-seed", "-1"], "-1 is negative: give at least 0"),
        (["rl", "rollback", "-1"], "-1 is negative: give at least 0"),
        (["serve", "--port", "65536"], "65536 is no port: give a number from 1 to 65535"),
        (["serve", "--port", "http"], "'http' is no whole number: give one, such as 3"),
        (["blocklist", "--learn", "--days", "36501"], "36501 is too large: give at most 36500"),
        (["run", "x", "--url", "http://x", "--endpoint", "127.0.0.1/v1"], "'127.0.0.1/v1' must begin with http://"),
        (["judge", "run", "x", "--out", "y", "--url", "api"], "'api' must begin with http:// or https://"),
        (["judge", "attack", "x", "--judge", "webjudge", "--attacker-url", "api"], "'api' must begin with http://"),
        (["evaluate", "x", "--steps", "5,x"], "'x' is no whole number: give one, such as 3"),
        (["evaluate", "x", "--budget-usd", "free"], "'free' is no number: give one, such as 2.5"),
    ],
)
def test_another_wrong_number_is_refused(arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert reason in refused(arguments, capsys)


def test_seeds_of_options_have_the_limit_of_a_recipe() -> None:
    assert Params.model_validate(raw_recipe(seed=SEEDS - 1)).seed == SEEDS - 1
    with pytest.raises(ValidationError, match="less than 4294967296"):
        Params.model_validate(raw_recipe(seed=SEEDS))


@pytest.mark.parametrize("other", ["--page", "--plan"])
def test_a_dry_run_of_a_study_is_not_ignored(other: str, capsys: pytest.CaptureFixture[str]) -> None:
    reason = refused(["study", "clip", "--dry-run", other], capsys)
    assert reason.endswith(f"argument {other}: not allowed with argument --dry-run")


def test_a_difference_is_not_ignored_beside_an_explained_key(capsys: pytest.CaptureFixture[str]) -> None:
    reason = refused(["params", "demo", "--diff", "--explain", "seed"], capsys)
    assert reason.endswith("argument --explain: not allowed with argument --diff")


@pytest.mark.parametrize(
    "arguments",
    [
        ["plan"],
        ["plan", "--device"],
        ["plan", "--calibration"],
        ["view"],
        ["view", "--out"],
        ["judge", "calibrate", "--judges"],
        ["judge", "attack", "x", "--judge"],
        ["judge", "run", "x", "--judge", "rules", "--out"],
        ["judge", "run", "x", "--out", "y", "--judge"],
        ["judge", "run", "x", "--out", "y", "--recipe"],
        ["judge", "run", "x", "--out", "y", "--format"],
        ["judge", "review", "collect", "x", "--out"],
        ["world", "new", "shop", "--directory"],
    ],
)
def test_an_empty_value_does_not_stand_for_the_default(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert refused([*arguments, ""], capsys).endswith("is empty: give a value, or leave the option out")
