"""The dataset card: a README.md whose YAML header the Hugging Face Hub and the library `datasets` read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import yaml

from components.export.columns import EPISODES, TURNS, Column

if TYPE_CHECKING:
    from components.export.dataset import Counts

SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
"""The Hub's names of sizes; larger sets are `1M<n<10M`."""


@dataclass(frozen=True)
class Origin:
    """How a dataset was made.

    Attributes:
        title: of the card.
        licence: an identifier of the Hub, such as `apache-2.0`.
        recipe: the name of the recipe in use at the export.
        version: of Waymark.
        seeds: by the name of a table, the seed of the run that made it, where one is recorded.
    """

    title: str
    licence: str
    recipe: str
    version: str
    seeds: Mapping[str, int] = field(default_factory=dict)


def card(origin: Origin, counts: Counts) -> str:
    """The whole file."""
    return "\n".join(
        [
            "---",
            yaml.safe_dump(_header(origin, counts), sort_keys=False, allow_unicode=True).rstrip(),
            "---",
            "",
            f"# {origin.title}",
            "",
            "Episodes of agents that operate web pages from screenshots, with what each episode changed and how it was "
            "judged. `turns` has one row per turn with its screenshot, `episodes` has one row per episode.",
            "",
            "```python",
            "from datasets import load_dataset",
            "",
            'turns = load_dataset("PATH", "turns")  # the folder, or the name of the repository',
            'episodes = load_dataset("PATH", "episodes")',
            "```",
            "",
            "## Splits",
            "",
            "The splits are those of the tasks: `train`, `eval` (other seeds or tasks of the same kinds), and "
            "`heldout` (kinds that were never trained on).",
            "",
            *_table(
                ["split", "episodes", "turns"],
                [[split, str(number), str(counts.turns[split])] for split, number in sorted(counts.episodes.items())],
            ),
            "",
            "## How it was made",
            "",
            f"Waymark {origin.version} wrote these trajectories with `waymark export`; the recipe in use was then "
            f"`{origin.recipe}`. A seed stands where `dvc.lock` records it for the run that made the table. "
            "Worlds and numbers of episodes: "
            f"{_counted(counts.worlds)}. Protocols: {_counted(counts.protocols)}. Endings: "
            f"{_counted(counts.terminations)}.",
            "",
            *_table(
                ["table", "seed", "policy", "success", "failure", "unknown"],
                [
                    [
                        table,
                        _seed(origin, table),
                        f"`{policy}`",
                        *(str(numbers[name]) for name in ("success", "failure", "unknown")),
                    ]
                    for (table, policy), numbers in sorted(counts.successes.items())
                ],
            ),
            "",
            "Passwords in addresses and the values of the environment variables that the recipe names are replaced by "
            "`***` in all texts. In `changes`, `missing` and `side_effects`, so are the values of columns whose names "
            "mean a secret, such as `password`, `secret_key`, `token` or `session_key`. Screenshots are as the browser "
            "took them. Diagnostics, token ids and log-probabilities are left out.",
            "",
            "## Columns of `turns`",
            "",
            *_columns(TURNS),
            "",
            "## Columns of `episodes`",
            "",
            *_columns(EPISODES),
            "",
            "## Licence",
            "",
            f"`{origin.licence}`, as stated at the export. Pages of other people's sites may have terms of their own.",
            "",
        ]
    )


def _header(origin: Origin, counts: Counts) -> dict[str, object]:
    splits = sorted(counts.episodes)
    rows = counts.turns.total()
    return {
        "license": origin.licence,
        "pretty_name": origin.title,
        "language": ["en"],
        "task_categories": ["image-text-to-text"],
        "tags": ["web-agents", "trajectories", "waymark"],
        "size_categories": [next((name for limit, name in SIZES if rows < limit), "1M<n<10M")],
        "configs": [
            {
                "config_name": name,
                **({"default": True} if name == "turns" else {}),
                "data_files": [
                    {"split": split, "path": f"{name}/{split}-*.parquet"}
                    for split in splits
                    if name == "episodes" or counts.turns[split]
                ],
            }
            for name in ("turns", "episodes")
        ],
    }


def _seed(origin: Origin, table: str) -> str:
    return str(origin.seeds.get(table, "not recorded"))


def _columns(columns: tuple[Column, ...]) -> list[str]:
    return _table(["column", "type", "meaning"], [[f"`{c.name}`", c.kind, c.meaning] for c in columns])


def _table(heads: list[str], rows: list[list[str]]) -> list[str]:
    lines = [heads, ["---"] * len(heads), *rows]
    return [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines]


def _counted(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {number}" for name, number in sorted(numbers.items()))
