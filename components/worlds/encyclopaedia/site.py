"""The encyclopaedia as a site: Kiwix at `http://encyclopaedia/`, whose first page has a search field.

The ZIM file is the one that `zim` builds, or the file `worlds.encyclopaedia.zim`, such as a Wikipedia. The pages have
no tasks and give no reward: a rule judges the answers (`evaluator: {"type": "qa", "answers": [...]}`).
"""

from __future__ import annotations

from pathlib import Path

from components.worlds import LoopbackSite
from components.worlds.encyclopaedia.articles import BOOK, start_page
from components.worlds.encyclopaedia.kiwix import KiwixServer
from components.worlds.encyclopaedia.zim import ensure


class EncyclopaediaSite(LoopbackSite[KiwixServer]):
    """The `Site` of a ZIM file. One pool at a time may use it."""

    origin = "http://encyclopaedia"
    origins = (origin,)
    lists_details = False  # the models of its recipes were trained on trees that do not say how far a page continues

    def __init__(self, path: Path | None = None) -> None:
        super().__init__()
        self._path = path

    def serve(self) -> KiwixServer:
        """Start Kiwix. Builds the ZIM file first if the project's own file does not exist yet.

        Raises:
            KiwixError: Kiwix is not installed, or the file cannot be served.
        """
        path, book = (self._path, None) if self._path is not None else (ensure(), BOOK)
        return KiwixServer(path, start_page(book), bar=self._path is not None)
