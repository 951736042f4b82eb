"""Django's media files and cache, kept with the copy that is bound."""

from __future__ import annotations

import io
import pickle
import time
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.cache.backends.base import DEFAULT_TIMEOUT, BaseCache
from django.core.files.base import ContentFile, File
from django.core.files.storage import Storage
from django.utils.deconstruct import deconstructible

from city.copies import current


@deconstructible
class CopyStorage(Storage):
    """Files of the image, hidden by those that the copy has saved; an empty one stands for a file that was deleted."""

    def __init__(self, location: str | None = None, base_url: str | None = None) -> None:
        self._base = Path(location or settings.MEDIA_ROOT)
        self._base_url = base_url or settings.MEDIA_URL

    def read(self, name: str) -> bytes | None:
        """A file's content; None if there is no such file."""
        own = current().media
        if name in own:
            return own[name] or None
        path = (self._base / name).resolve()
        return path.read_bytes() if path.is_relative_to(self._base.resolve()) and path.is_file() else None

    def exists(self, name: str) -> bool:
        return self.read(name) is not None

    def size(self, name: str) -> int:
        return len(self._content(name))

    def url(self, name: str | None) -> str:
        return f"{self._base_url}{name}"

    def delete(self, name: str) -> None:
        current().media[name] = b""

    def listdir(self, path: str) -> tuple[list[str], list[str]]:
        prefix = f"{path.strip('/')}/" if path.strip("/") else ""
        own = current().media
        base = self._base / prefix
        names = {str(file.relative_to(base)) for file in base.rglob("*") if file.is_file()} if base.is_dir() else set()
        names |= {name.removeprefix(prefix) for name in own if name.startswith(prefix)}
        names = {name for name in names if own.get(prefix + name, b" ")}
        return sorted({name.split("/")[0] for name in names if "/" in name}), sorted(n for n in names if "/" not in n)

    def _open(self, name: str, mode: str = "rb") -> File:
        if "w" in mode:
            raise ValueError(f"{name}: files of a copy are written by save()")
        return ContentFile(self._content(name), name=name)

    def _save(self, name: str, content: File) -> str:
        content.seek(0)
        buffer = io.BytesIO()
        for chunk in content.chunks():
            buffer.write(chunk if isinstance(chunk, bytes) else chunk.encode())
        current().media[name] = buffer.getvalue()
        return name

    def _content(self, name: str) -> bytes:
        content = self.read(name)
        if content is None:
            raise FileNotFoundError(f"the copy has no file {name}")
        return content


class CopyCache(BaseCache):
    """A cache in the copy's memory."""

    def __init__(self, _location: str, params: dict[str, Any]) -> None:
        super().__init__(params)

    def add(self, key: str, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        if self.has_key(key, version):
            return False
        self.set(key, value, timeout, version)
        return True

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        entry = current().cache.get(self.make_and_validate_key(key, version))
        if entry is None:
            return default
        expires, data = entry
        return default if expires is not None and expires <= time.time() else pickle.loads(data)

    def set(self, key: str, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> None:
        entry = (self.get_backend_timeout(timeout), pickle.dumps(value, pickle.HIGHEST_PROTOCOL))
        current().cache[self.make_and_validate_key(key, version)] = entry

    def touch(self, key: str, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        value = self.get(key, self, version)
        if value is self:
            return False
        self.set(key, value, timeout, version)
        return True

    def delete(self, key: str, version: int | None = None) -> bool:
        return current().cache.pop(self.make_and_validate_key(key, version), None) is not None

    def has_key(self, key: str, version: int | None = None) -> bool:
        return self.get(key, self, version) is not self

    def clear(self) -> None:
        current().cache.clear()
