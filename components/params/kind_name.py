"""Texts that name a kind of a family (`components.plugins`), such as a protocol."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from components import plugins


@dataclass(frozen=True)
class KindName:
    """Annotation of a text that is a name of a family or a dotted path: `Annotated[str, KindName("protocols")]`."""

    family: str
    others: tuple[str, ...] = ()
    """Names that are allowed besides."""

    @property
    def names(self) -> list[str]:
        """The allowed names that need no dotted path."""
        return [*self.others, *plugins.names(self.family)]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._known, handler(source))

    def _known(self, name: str) -> str:
        if name in self.others or name in plugins.builtin(self.family):
            return name
        try:
            plugins.find_checked(self.family, name)
        except plugins.UnknownKindError as error:
            others = f"; {' and '.join(self.others)} are allowed, too" if self.others else ""
            raise ValueError(f"{error}{others}") from error
        return name
