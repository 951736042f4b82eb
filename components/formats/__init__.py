"""Formats in which trajectories are published: readers for `waymark judge run`, writers for `waymark export --format`.

Each module of this package that decorates a class with `register` adds one `Format`; nothing outside of it names it. A
reader never drops a record in silence: what it cannot read is a `Damaged` with its place, the reason and what to do.
"""

from components.formats.interface import Damaged, Format, NotWritable, ReadTrajectory, Unreadable
from components.formats.registry import UnknownFormat, format_named, format_of, formats

__all__ = [
    "Damaged",
    "Format",
    "NotWritable",
    "ReadTrajectory",
    "UnknownFormat",
    "Unreadable",
    "format_named",
    "format_of",
    "formats",
]
