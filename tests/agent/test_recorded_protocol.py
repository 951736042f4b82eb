"""A recorded trajectory names its protocol, and must not make Waymark import a module."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from components.agent.protocols import protocol, recorded_protocol

MODULE = """
from dataclasses import replace
from pathlib import Path
from components.agent.protocols import protocol

Path(__file__).with_name("imported").touch()
KIND = replace(protocol("openwebrl"), name="mine")
"""


def test_a_record_names_a_dotted_path_only_after_a_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "recorded_kind.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert recorded_protocol("recorded_kind:KIND") is None
    assert not (tmp_path / "imported").exists()
    named = protocol("recorded_kind:KIND")
    assert recorded_protocol("recorded_kind:KIND") is named
    sys.modules.pop("recorded_kind")


@pytest.mark.parametrize("name", ["", "unknown", "no.such.module"])
def test_a_record_of_an_unknown_protocol_has_none(name: str) -> None:
    assert recorded_protocol(name) is None
