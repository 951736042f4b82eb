"""The four papers' results as data: `papers/*.json` has every row of their results tables that their text contains.

OpenWebRL (tables 2 to 4 and 9, sections 5.2 and C.1, appendix E), WebGym (tables 2 to 4), WebAgent-R1 (tables 2 and 3,
section 3.4), BrowserAgent (tables 2 and 4 to 6). Each file lists under `left_out` what its text lacks; no value is
invented. Values are as printed, in the table's `unit`.

They cannot be compared with the demo's numbers: tasks, model and budget differ. Only the shape can be compared: base
below SFT, SFT below RL, and RL with the larger gain (`SHAPE`).
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Literal

from components.records import Record

PAPERS = Path(__file__).parent / "papers"
AVERAGE = "average"
SHAPE = {
    "Qwen3-VL-4B-Thinking": "base",
    "OpenWebRL-4B-SFT": "sft",
    "OpenWebRL-4B": "rl",
    "Qwen3-VL-8B-Thinking": "base",
    "OpenWebRL-8B-SFT": "sft",
    "OpenWebRL-8B": "rl",
}
"""OpenWebRL's models, before and after each of its two stages."""

TITLES = {
    "webvoyager-595": "WebVoyager (595)",
    "online-mind2web": "Online-Mind2Web",
    "deepshop": "DeepShop",
    "webgym-ood": "WebGym, out of distribution",
    "webarena-lite": "WebArena-Lite",
    "nq": "NQ",
    "popqa": "PopQA",
    "hotpotqa": "HotpotQA",
    "2wikimultihopqa": "2WikiMultihopQA",
    "musique": "MuSiQue",
    "bamboogle": "Bamboogle",
    "triviaqa": "TriviaQA",
    AVERAGE: "Average",
}
"""The benchmarks' names for readers."""

Unit = Literal["percent", "share", "steps", "tokens"]


class PublishedRow(Record):
    """A row of a table: `values` by column, None where the paper prints a dash."""

    paper: str
    table: str
    """The table's number, or the section whose text has the numbers."""
    metric: str
    unit: Unit
    model: str
    settings: dict[str, str]
    values: dict[str, float | None]
    ablation: bool
    note: str

    @property
    def source(self) -> str:
        """Paper and table, for citations."""
        kind = "table " if self.table.isdigit() else "appendix " if self.table[0].isalpha() else ""
        return f"{self.paper}, {kind}{self.table}"

    def share(self, column: str) -> float | None:
        """A rate between 0 and 1.

        Raises:
            ValueError: the row has no rates.
        """
        if self.unit not in ("percent", "share"):
            raise ValueError(f"{self.source} is in {self.unit} and has no rates")
        value = self.values[column]
        return round(value / 100, 6) if value is not None and self.unit == "percent" else value


@cache
def rows() -> tuple[PublishedRow, ...]:
    """All rows of all papers, in the order of their tables."""
    published: list[PublishedRow] = []
    for path in sorted(PAPERS.glob("*.json")):
        paper = json.loads(path.read_text(encoding="utf-8"))
        for table in paper["tables"]:
            published += [
                PublishedRow(
                    paper=paper["paper"],
                    table=table["table"],
                    metric=table["metric"],
                    unit=table["unit"],
                    model=row["model"],
                    settings=row.get("settings", {}),
                    values=dict(zip(table["columns"], row["values"], strict=True)),
                    ablation=table.get("ablation", False),
                    note=table.get("note", ""),
                )
                for row in table["rows"]
            ]
    return tuple(published)


@cache
def sets() -> dict[str, str]:
    """The papers' descriptions of the benchmarks' tasks, by benchmark."""
    return {
        name: description
        for path in sorted(PAPERS.glob("*.json"))
        for name, description in json.loads(path.read_text(encoding="utf-8"))["sets"].items()
    }


@cache
def left_out() -> tuple[str, ...]:
    """What the papers' texts lack, each line with its paper."""
    papers = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(PAPERS.glob("*.json"))]
    return tuple(f"{paper['paper']}: {line}" for paper in papers for line in paper["left_out"])


def shape() -> list[PublishedRow]:
    """The rows of `SHAPE`, in its order."""
    by_model = {row.model: row for row in table("OpenWebRL", "2", "success")}
    return [by_model[model] for model in SHAPE]


def judge_agreement() -> dict[str, dict[str, dict[str, float | None]]]:
    """OpenWebRL's tables of judge agreement (3 and 9), in percent: by source and note, by judge, by metric."""
    tables = [table("OpenWebRL", number, "judge agreement") for number in ("3", "9")]
    return {f"{rows[0].source}: {rows[0].note}": {row.model: row.values for row in rows} for rows in tables}


def table(paper: str, number: str, metric: str) -> list[PublishedRow]:
    """The rows of one table."""
    return [row for row in rows() if (row.paper, row.table, row.metric) == (paper, number, metric)]
