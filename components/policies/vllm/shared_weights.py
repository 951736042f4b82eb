"""The files of weights that the servers by URL of one fleet get, and what these servers must be like."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from components.policies.vllm.arguments import ServerSettings
from components.policies.vllm.checks import Requirements, required_versions
from components.policies.vllm.engine.waymark_weights import (
    BLOCK,
    file_hash,
    fingerprint,
    layout,
    local_directory,
    weight_files,
)
from components.policies.vllm.member import Weights


@dataclass(frozen=True)
class WeightFiles:
    """Files of weights, with their hashes."""

    paths: dict[str, Path]
    hashes: dict[str, str]

    @property
    def name(self) -> str:
        """The name of these weights."""
        return fingerprint({name: value for name, value in self.hashes.items() if name.endswith(".safetensors")})


NO_FILES = WeightFiles({}, {})
"""In place of an adapter: the model without one."""


class SharedWeights:
    """What the servers by URL of one fleet have in common. Files are hashed once for all of them."""

    def __init__(self, settings: ServerSettings, weights: Weights, changes: bool) -> None:
        """
        Args:
            weights: those of the fleet, which change.
            changes: whether training will change them.
        """
        self.settings, self.weights, self.changes = settings, weights, changes
        self.client = uuid.uuid4().hex
        self.has_model = not changes or settings.model.lora is not None
        """Whether the servers need the present model: before the first update without adapters they do not."""
        self._lock = asyncio.Lock()
        self._known: dict[Path, WeightFiles] = {}

    async def requirements(self) -> Requirements:
        """What a server must be like at the start.

        Raises:
            FileNotFoundError: a lock or the weights are missing.
        """
        directory = await asyncio.to_thread(local_directory, self.weights.model)
        name = (await self.model()).name if self.has_model else None
        shapes = await asyncio.to_thread(layout, directory)
        return Requirements(required_versions(), self.settings, name, shapes, self.changes)

    async def model(self) -> WeightFiles:
        """The files of the model."""
        return await self._files(await asyncio.to_thread(local_directory, self.weights.model), ())

    async def adapter(self) -> WeightFiles | None:
        """The files of the adapter."""
        adapter = self.weights.adapter
        return None if adapter is None else await self._files(adapter, ("adapter_config.json",))

    async def name(self) -> str:
        """The name of the model with its adapter."""
        model, adapter = await self.model(), await self.adapter()
        return model.name if adapter is None else f"{model.name}+{adapter.name}"

    async def _files(self, directory: Path, others: tuple[str, ...]) -> WeightFiles:
        async with self._lock:
            if directory not in self._known:
                self._known = {path: files for path, files in self._known.items() if path.exists()}
                paths = weight_files(directory) | {name: directory / name for name in others}
                hashes = {name: await asyncio.to_thread(file_hash, path) for name, path in paths.items()}
                self._known[directory] = WeightFiles(paths, hashes)
            return self._known[directory]


async def blocks(path: Path) -> AsyncIterator[bytes]:
    """The content of a file."""
    with path.open("rb") as file:
        while block := await asyncio.to_thread(file.read, BLOCK):
            yield block
