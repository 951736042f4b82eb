"""Block pages are told from ordinary pages: precision and recall on a labelled set, judged by the real session.

`block_pages/` holds short pages that imitate the structure and the wording of block pages and of ordinary pages that
resemble them. The first line of each is its label, the place where an episode meets it, and its status:
`<!-- block later 403 -->`. The rules were written on `development`. The pages in `held_out` were written afterwards,
without sight of the rules, and changed no rule. A change of rules because of them moves them to `development` and
writes others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from components.browser import BlockedError, BrowserPool, EnvInitError, check_call
from components.params import EgressParams
from tests.browser.conftest import PARAMS, Pages, task

FOLDER = Path(__file__).parent / "block_pages"
OFFLINE = PARAMS.model_copy(
    update={
        "quiet_ms": 0,
        "egress": EgressParams(allowed_hosts=["127.0.0.1"], private_hosts=["127.0.0.1"]),
    }
)


@dataclass(frozen=True)
class Labelled:
    """A page of the set."""

    path: Path
    is_block: bool
    is_start: bool
    """Whether it is the start page; else the agent opens it later."""
    status: int

    @classmethod
    def read(cls, path: Path) -> Labelled:
        """The page in a file, with the label of its first line."""
        _, label, place, status, _ = path.read_text(encoding="utf-8").splitlines()[0].split()
        assert label in ("block", "content")
        assert place in ("start", "later")
        return cls(path, label == "block", place == "start", int(status))


@dataclass
class Score:
    """Counts of judgements, and the names of the wrong ones."""

    hits: int = 0
    false_alarms: tuple[str, ...] = ()
    misses: tuple[str, ...] = ()

    @property
    def precision(self) -> float:
        """Share of blocks among the pages that were judged as blocks."""
        return self.hits / (self.hits + len(self.false_alarms))

    @property
    def recall(self) -> float:
        """Share of the blocks that were judged as blocks."""
        return self.hits / (self.hits + len(self.misses))


def labelled(part: str) -> list[Labelled]:
    """The pages of a part, by name."""
    return [Labelled.read(path) for path in sorted((FOLDER / part).glob("*.html"))]


async def is_judged_block(pool: BrowserPool, pages: Pages, page: Labelled) -> bool:
    """Whether the session ends the episode because of the page."""
    url = f"{pages.origin}/{page.path.stem}"
    pages.pages[f"/{page.path.stem}"] = (page.status, page.path.read_text(encoding="utf-8"), {})
    async with pool.session() as session:
        try:
            await session.start(task(url if page.is_start else pages.add("/start", "<h1>Start</h1>")))
            if not page.is_start:
                await session.step([check_call("goto_url", {"url": url})])
        except BlockedError:
            return True
        except EnvInitError:
            return False
        return False


@pytest.fixture(scope="module")
def scores(pages) -> Iterator[dict[str, Score]]:
    """The score of each part."""

    async def main() -> dict[str, Score]:
        scores = {}
        async with BrowserPool(OFFLINE, text="elements") as pool:
            for part in ("development", "held_out"):
                score = scores[part] = Score()
                for page in labelled(part):
                    judged = await is_judged_block(pool, pages, page)
                    if judged and page.is_block:
                        score.hits += 1
                    elif judged:
                        score.false_alarms += (page.path.stem,)
                    elif page.is_block:
                        score.misses += (page.path.stem,)
        return scores

    return asyncio.run(main())


def test_the_set_has_sixty_pages_and_half_are_blocks():
    for part, least in (("development", 40), ("held_out", 20)):
        pages = labelled(part)
        assert len(pages) >= least
        assert 0.4 <= sum(page.is_block for page in pages) / len(pages) <= 0.6


@pytest.mark.slow
@pytest.mark.parametrize(("part", "precision", "recall"), [("development", 0.95, 0.95), ("held_out", 0.9, 0.85)])
def test_block_pages_are_told_from_content(scores, part, precision, recall):
    score = scores[part]
    print(f"{part}: precision {score.precision:.3f}, recall {score.recall:.3f}, {score}")
    assert score.precision >= precision, score.false_alarms
    assert score.recall >= recall, score.misses
