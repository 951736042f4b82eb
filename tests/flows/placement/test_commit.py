"""What tells that a pipeline and a worker have the same code."""

from __future__ import annotations

from pathlib import Path

from flows.placement.handover import commit


def test_without_a_commit_other_code_is_seen(tmp_path: Path) -> None:
    """As in the images, which have no commits."""
    found = []
    for content in ("a = 1", "a = 2", "a = 1"):
        (tmp_path / "components/training").mkdir(parents=True, exist_ok=True)
        (tmp_path / "components/training/steps.py").write_text(content)
        found.append(commit(tmp_path))
    assert found[0] == found[2] != found[1]
    assert all(found)
