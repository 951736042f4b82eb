"""The folder or bucket that all machines of a run share."""

from __future__ import annotations

import contextlib
import copy
import json
import uuid
from pathlib import Path
from typing import Any

import fsspec
from fsspec.implementations.local import LocalFileSystem


class StoreError(RuntimeError):
    """The shared store cannot be read or written."""


class SharedStore:
    """Files by name below an address that fsspec understands: a folder, `s3://bucket/folder`, and others.

    A file appears whole or not at all. Errors of the network and of permissions are `StoreError`s that name the file.
    """

    def __init__(self, url: str) -> None:
        """
        Raises:
            StoreError: the address has a kind that no installed package reads.
        """
        self.url = url.rstrip("/")
        try:
            self._files, self._root = fsspec.url_to_fs(self.url, use_listings_cache=False, skip_instance_cache=True)
        except (ImportError, ValueError) as error:
            raise StoreError(f"placement.store = {url}: {error}") from error
        self._is_folder = isinstance(self._files, LocalFileSystem)

    def child(self, name: str) -> SharedStore:
        """The part of the store below a name. It shares the connections of this one: a new client of S3 takes 0.1 s."""
        part = copy.copy(self)
        part.url, part._root = f"{self.url}/{name}", self._path(name)
        return part

    def read(self, name: str) -> bytes | None:
        """The content of a file; None if there is none."""
        with self._explained(name):
            try:
                return self._files.cat_file(self._path(name))
            except FileNotFoundError:
                return None

    def write(self, name: str, content: bytes) -> None:
        """Write a file, in place of an old one."""
        with self._explained(name):
            if not self._is_folder:
                self._files.pipe_file(self._path(name), content)
                return
            partial = Path(self._path(f"{name}.{uuid.uuid4().hex}.part"))
            partial.parent.mkdir(parents=True, exist_ok=True)
            partial.write_bytes(content)
            partial.replace(self._path(name))

    def read_json(self, name: str) -> dict[str, Any] | None:
        """The object in a JSON file; None if there is none."""
        content = self.read(name)
        return None if content is None else json.loads(content)

    def write_json(self, name: str, value: dict[str, Any]) -> None:
        """Write an object as a JSON file."""
        self.write(name, json.dumps(value).encode())

    def names(self) -> list[str]:
        """The names of all files, sorted."""
        with self._explained(""):
            try:
                return sorted(path[len(self._root) :].lstrip("/") for path in self._files.find(self._root))
            except FileNotFoundError:
                return []

    def remove(self, names: list[str]) -> None:
        """Remove files, if they exist."""
        with self._explained(", ".join(names[:3])):
            for name in names:
                with contextlib.suppress(FileNotFoundError):
                    self._files.rm_file(self._path(name))

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    @contextlib.contextmanager
    def _explained(self, name: str) -> Any:
        try:
            yield
        except Exception as error:  # each kind of store has errors of its own
            raise StoreError(f"placement.store: {self.url}/{name}: {type(error).__name__}: {error}") from error
