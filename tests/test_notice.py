"""NOTICE names each installed package whose licence is not permissive."""

from __future__ import annotations

import importlib.metadata
import re
from pathlib import Path

NOTICE = Path(__file__).parents[1] / "NOTICE"
COPYLEFT = re.compile(r"GPL|MPL|EPL|EUPL|CDDL|SSPL|CC-BY-SA|Mozilla Public|GNU ", re.IGNORECASE)


def licence_of(metadata) -> str:
    """What the metadata say of the licence; of a text in full, its first line."""
    classifiers = [text for text in metadata.get_all("Classifier", []) if text.startswith("License")]
    texts = [metadata.get("License-Expression"), (metadata.get("License") or "").partition("\n")[0], *classifiers]
    return "; ".join(filter(None, texts))


def test_notice_names_each_package_under_a_copyleft_licence() -> None:
    notice = NOTICE.read_text().casefold()
    licences = {item.metadata["Name"]: licence_of(item.metadata) for item in importlib.metadata.distributions()}
    copyleft = {name: licence for name, licence in licences.items() if COPYLEFT.search(licence)}
    assert {"psycopg", "hypothesis", "pygit2"} <= copyleft.keys()
    missing = {name: text for name, text in copyleft.items() if name.removesuffix("-bin").casefold() not in notice}
    assert missing == {}, "NOTICE does not name them"
