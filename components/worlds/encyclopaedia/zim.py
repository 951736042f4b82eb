"""The encyclopaedia as a ZIM file, the format of Kiwix, with a full-text index.

The file is built once per content and kept under `.waymark/cache`, in a folder named by a digest of all pages. The same
packages give the same pages in the same order. libzim draws a new UUID for each file, so two builds differ in those 16
bytes and in the checksum over them, but not in their pages.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.metadata
from pathlib import Path

from components import store
from components.worlds.encyclopaedia.articles import BOOK, MAIN, TITLE, about, article, main_page, path_of
from components.worlds.encyclopaedia.facts import SOURCES, entities
from components.worlds.encyclopaedia.kiwix import KiwixError

CACHE = store.STATE / "cache" / "encyclopaedia"
DATE = "2026-01-01"
"""The date in the metadata. It is fixed, because the date of the build would make every file different."""


def pages() -> dict[str, tuple[str, str]]:
    """All pages in order: path to title and HTML."""
    start_pages = {MAIN: (TITLE, main_page(len(entities()))), "about": ("About", about())}
    return start_pages | {path_of(title): (title, article(entity)) for title, entity in entities().items()}


def metadata() -> dict[str, str]:
    """The metadata of the file, with every source and its licence."""
    sources = "; ".join(f"{source.package} {source.version}" for source in SOURCES)
    return {
        "Name": BOOK,
        "Title": TITLE,
        "Creator": "Waymark",
        "Publisher": "Waymark",
        "Date": DATE,
        "Language": "eng",
        "Description": "Countries, cities, languages, currencies and elements",
        "Source": sources,
        "License": "; ".join(f"{source.package}: {source.licence}" for source in SOURCES),
    }


def ensure(cache: Path = CACHE) -> Path:
    """The path of the file, which is built first if it does not exist."""
    contents = pages()
    digest = hashlib.sha256(repr((sorted(metadata().items()), list(contents.items()))).encode()).hexdigest()[:16]
    path = cache / digest / f"{BOOK}.zim"  # Kiwix names a book after its file
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            partial = path.with_suffix(".part")
            partial.unlink(missing_ok=True)
            build(contents, partial)
            store.publish(partial, path)
    return path


def find_libzim() -> str:
    """The version of libzim, which writes the file. It is an optional extra because its licence is the GPL.

    Raises:
        KiwixError: libzim is not installed.
    """
    try:
        return importlib.metadata.version("libzim")
    except importlib.metadata.PackageNotFoundError as error:
        raise KiwixError(
            "libzim is not installed, and the encyclopaedia's file is not built yet: "
            "type `pip install -e '.[encyclopaedia]'`"
        ) from error


def build(contents: dict[str, tuple[str, str]], path: Path) -> None:
    """Write a ZIM file of these pages.

    Raises:
        KiwixError: libzim is not installed.
    """
    find_libzim()
    from components.worlds.encyclopaedia.zim_writer import write

    write(contents, MAIN, metadata(), path)
