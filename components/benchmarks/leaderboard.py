"""Rewrites the leaderboard: `waymark leaderboard`; no DVC stage, since DVC does not know benchmark runs."""

from __future__ import annotations

from components.pipeline.leaderboard import publish
from components.pipeline.stage_run import stage
from components.reports.leaderboard import Entry


def main() -> list[Entry]:
    """Write the leaderboard and log it as the stage `leaderboard`; returns its rows."""
    with stage("leaderboard") as run:
        entries = publish(run)
        measured = [entry for entry in entries if entry.mark == "measured"]
        invalid = sum(entry.rate is None for entry in measured)
        run.result(
            {"measured": len(measured), "invalid": invalid, "published": len(entries) - len(measured)},
        )
    return entries


if __name__ == "__main__":
    main()
