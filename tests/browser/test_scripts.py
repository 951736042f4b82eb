"""Our scripts are joined before they run in a page: a name that two of them declare ends all of them, in silence."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from components.browser import elements
from components.browser.elements import list_sources, script

HERE = Path(elements.__file__).parent
JOINED = {
    "the probe": script({"op": "focus"}),
    "a person's input": list_sources() + (HERE / "person_input.js").read_text(),
}
DECLARED = re.compile(r"^(?:const|let|var|class|function\*?|async function)\s+(?:\[([^\]]+)\]|([\w$]+))", re.MULTILINE)


def declared(source: str) -> Counter[str]:
    """The names that a script declares at its top level, which our style does not indent."""
    names = (name.strip() for several, one in DECLARED.findall(source) for name in (several or one).split(","))
    return Counter(names)


@pytest.mark.parametrize("joined", JOINED)
def test_no_two_scripts_that_are_joined_declare_one_name(joined):
    counts = declared(JOINED[joined])
    assert len(counts) > 100
    assert [name for name, count in counts.items() if count > 1] == []
