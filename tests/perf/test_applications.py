"""The printed figures of an application."""

from __future__ import annotations

from perf.applications import summary

FIGURES = {"ms_per_step": 572.0, "controls": 304, "share": 1.0, "calls": 9, "waits": 2}


def test_a_journey_that_ended_has_its_figures_alone():
    assert summary("nicegui", FIGURES | {"failed": None}) == "nicegui: 572.0 ms per step, 100.0% of 304 controls"


def test_a_journey_that_did_not_end_is_said_to_have_failed():
    line = summary("nicegui", FIGURES | {"failed": 9})
    assert line.endswith("; the journey FAILED after 9 calls, so the figures are of these alone")
