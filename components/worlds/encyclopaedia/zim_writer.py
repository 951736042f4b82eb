"""Writes a ZIM file. Only this module imports libzim, which the extra `encyclopaedia` installs."""

from __future__ import annotations

from pathlib import Path

from libzim.writer import Creator, Hint, Item, StringProvider


def write(pages: dict[str, tuple[str, str]], main: str, metadata: dict[str, str], path: Path) -> None:
    """Writes pages (path to title and HTML) in their order, with a full-text index. `main` is the main page's path."""
    with Creator(path).config_indexing(True, "zxx").config_nbworkers(1) as creator:
        creator.set_mainpath(main)
        for name, value in metadata.items():
            creator.add_metadata(name, value)
        for at, (title, html) in pages.items():
            creator.add_item(_Page(at, title, html))


class _Page(Item):
    def __init__(self, path: str, title: str, html: str) -> None:
        super().__init__()
        self._path, self._title, self._html = path, title, html

    def get_path(self) -> str:
        return self._path

    def get_title(self) -> str:
        return self._title

    def get_mimetype(self) -> str:
        return "text/html"

    def get_contentprovider(self) -> StringProvider:
        return StringProvider(self._html)

    def get_hints(self) -> dict[Hint, int]:
        return {Hint.FRONT_ARTICLE: 1}
