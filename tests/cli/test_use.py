"""`waymark use` replaces what it wrote itself, and never loses what a person changed in params.yaml."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from components.cli import main
from components.params import load
from components.params.file_header import with_header
from tests.samples import raw_recipe

PARAMS = Path("params.yaml")
COPY = Path("params.yaml.bak")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkout with the recipes `one`, which is in use, and `two`."""
    monkeypatch.chdir(tmp_path)
    Path("recipes").mkdir()
    for name in ("one", "two"):
        write(name)
    assert main.main(["use", "one"]) == 0


def write(name: str, **changes: object) -> None:
    Path(f"recipes/{name}.yaml").write_text(yaml.safe_dump(raw_recipe(name=name, **changes)))


def edit(old: str = "seed: 0", new: str = "seed: 7") -> str:
    """Change a line of params.yaml by hand; returns the new text."""
    text = PARAMS.read_text()
    assert old in text
    PARAMS.write_text(text.replace(old, new, 1))
    return PARAMS.read_text()


def test_a_params_yaml_that_was_changed_by_hand_stays(capsys: pytest.CaptureFixture[str]) -> None:
    text = edit()
    assert main.main(["use", "two"]) == 1
    assert capsys.readouterr().err == (
        "params.yaml was changed by hand (it differs from recipes/one.yaml in seed): put the changes into a recipe of "
        "your own with `extends: one` and use that, or give --force, which keeps the file as params.yaml.bak\n"
    )
    assert PARAMS.read_text() == text
    assert not COPY.exists()


def test_a_refusal_names_three_changed_keys_and_counts_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    edit()
    edit("dtype: float32", "dtype: bfloat16")
    edit("think_prefix: false", "think_prefix: true")
    edit("group_size: 5", "group_size: 6")
    assert main.main(["use", "two"]) == 1
    assert "in seed, model.dtype, model.think_prefix and 1 more)" in capsys.readouterr().err


def test_a_change_that_is_no_valid_recipe_stays_too(capsys: pytest.CaptureFixture[str]) -> None:
    text = edit("seed: 0", "seed: [")
    assert main.main(["use", "two"]) == 1
    assert capsys.readouterr().err.startswith("params.yaml was changed by hand: put the changes into")
    assert PARAMS.read_text() == text


def test_force_replaces_it_and_keeps_every_changed_file(capsys: pytest.CaptureFixture[str]) -> None:
    texts = []
    for seed in (7, 8):
        texts.append(edit("seed: 0", f"seed: {seed}"))
        assert main.main(["use", "--force", "one"]) == 0
    assert "(it differs from recipes/one.yaml in seed): it is kept as params.yaml.bak1\n" in capsys.readouterr().err
    assert [COPY.read_text(), Path("params.yaml.bak1").read_text()] == texts
    assert load(PARAMS).seed == 0


def test_a_recipe_that_changed_since_does_not_count_as_a_change_by_hand() -> None:
    write("one", seed=3)
    assert main.main(["use", "one"]) == 0
    assert load(PARAMS).seed == 3
    Path("recipes/one.yaml").unlink()
    assert main.main(["use", "two"]) == 0
    assert not COPY.exists()


def test_a_recipe_with_the_changes_replaces_them() -> None:
    edit()
    Path("recipes/mine.yaml").write_text("{extends: one, name: mine, seed: 7}")
    assert main.main(["use", "mine"]) == 0
    assert load(PARAMS).name == "mine"


@pytest.mark.parametrize("file", ["mine/one.yaml", "mine/one.yml"])
def test_a_recipe_elsewhere_is_not_taken_for_one_of_its_name(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine").mkdir()
    Path(file).write_text("{extends: one, rl: {lr: 3.0e-6}}")
    assert main.main(["use", file]) == 0
    assert f"from {file}, which extends recipes/one.yaml. " in PARAMS.read_text()
    edit()
    assert main.main(["use", "two"]) == 1
    assert f"(it differs from {file} in seed)" in capsys.readouterr().err
    Path(file).unlink()
    assert main.main(["use", "one"]) == 1
    assert "changed by hand: put" in capsys.readouterr().err, "recipes/one.yaml is another recipe"


def test_a_recipe_outside_of_the_checkout_is_known_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write("three", seed=3)
    file = tmp_path / "three.yaml"
    Path("recipes/three.yaml").rename(file)
    (tmp_path / "checkout").mkdir()
    monkeypatch.chdir(tmp_path / "checkout")
    assert main.main(["use", str(file)]) == 0
    assert "`waymark use` from three.yaml. " in PARAMS.read_text()
    edit("seed: 3")
    assert main.main(["use", str(file)]) == 1
    assert f"(it differs from {file} in seed)" in capsys.readouterr().err


@pytest.mark.parametrize("edited", [False, True])
def test_a_file_without_a_digest_is_kept_unless_a_recipe_has_it(edited: bool, capsys: pytest.CaptureFixture) -> None:
    lines = [line for line in PARAMS.read_text().splitlines(keepends=True) if "digest" not in line]
    PARAMS.write_text("".join(lines))
    text = edit() if edited else PARAMS.read_text()
    assert main.main(["use", "two"]) == 0
    assert load(PARAMS).name == "two"
    assert ("may have been changed by hand" in capsys.readouterr().err) == edited
    assert (COPY.exists() and COPY.read_text() == text) == edited


def test_using_params_yaml_adds_the_keys_that_it_lacks() -> None:
    """DVC reads no defaults, so a stage would fail at such a key."""
    whole = yaml.safe_load(PARAMS.read_text())
    lacking = {name: dict(section) if isinstance(section, dict) else section for name, section in whole.items()}
    del lacking["rl"]["carry_optimizer"]
    lacking["seed"] = 7
    PARAMS.write_text(yaml.safe_dump(lacking))
    assert main.main(["use", "params.yaml"]) == 0
    assert yaml.safe_load(PARAMS.read_text()) == {**whole, "seed": 7}
    assert yaml.safe_load(COPY.read_text()) == lacking


def remove_key() -> str:
    """Delete a line of params.yaml that has a key with a default; returns the new text."""
    return edit("  carry_optimizer: true\n", "")


def test_a_completed_file_is_still_one_that_was_changed_by_hand(capsys: pytest.CaptureFixture[str]) -> None:
    edit("seed: 0", "seed: 4242")
    remove_key()
    assert main.main(["use", "params.yaml"]) == 0
    assert load(PARAMS).seed == 4242
    assert main.main(["use", "two"]) == 1
    assert "(it differs from recipes/one.yaml in seed)" in capsys.readouterr().err


def test_a_number_in_another_form_is_not_called_a_missing_key(capsys: pytest.CaptureFixture[str]) -> None:
    text = edit("max_rejected: 0.05", "max_rejected: 5e-2")  # a text to YAML, which a recipe takes for the number
    assert main.main(["use", "params.yaml"]) == 0
    assert (COPY.read_text(), "max_rejected: 0.05" in PARAMS.read_text()) == (text, True)
    assert "params.yaml lacked keys, or wrote values in another way: the former" in capsys.readouterr().err


def test_a_completed_file_without_other_changes_is_as_written() -> None:
    written = PARAMS.read_text()
    remove_key()
    assert main.main(["use", "params.yaml"]) == 0
    assert PARAMS.read_text() == written
    assert main.main(["use", "two"]) == 0


def test_completing_a_file_keeps_the_copies_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    first = edit()
    assert main.main(["use", "--force", "one"]) == 0
    second = remove_key()
    assert main.main(["use", "params.yaml"]) == 0
    assert [COPY.read_text(), Path("params.yaml.bak1").read_text()] == [first, second]
    assert "the former file is kept as params.yaml.bak1\n" in capsys.readouterr().err


def test_a_file_of_an_earlier_version_stays_one_as_written() -> None:
    text = PARAMS.read_text()
    keys = text[text.index("name:") :].replace("  carry_optimizer: true\n", "")
    PARAMS.write_text(with_header("recipes/one.yaml", keys))
    assert main.main(["use", "params.yaml"]) == 0
    assert (PARAMS.read_text(), COPY.exists()) == (text, False)


def test_an_interrupt_ends_a_command_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("components.params.load", interrupted)
    assert main.main(["validate", "recipes/one.yaml"]) == main.INTERRUPTED
    assert capsys.readouterr().err == ""
