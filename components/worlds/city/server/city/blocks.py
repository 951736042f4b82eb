"""Databases as blocks of bytes: databases that come from one another share the blocks in which they are equal."""

from __future__ import annotations

BLOCK = 4096
"""Bytes of a block: SQLite's page size, so a changed row changes few blocks."""

Blocks = tuple[bytes, ...]


def split(data: bytes, origin: Blocks = ()) -> Blocks:
    """The blocks of a database.

    Args:
        origin: the blocks of the database that it was made from. A block with the same bytes at the same place is the
            origin's object, and takes no memory of its own.
    """
    blocks = []
    for number, start in enumerate(range(0, len(data), BLOCK)):
        block = data[start : start + BLOCK]
        is_equal = number < len(origin) and origin[number] == block
        blocks.append(origin[number] if is_equal else block)
    return tuple(blocks)


def join(blocks: Blocks) -> bytes:
    """The whole database."""
    return b"".join(blocks)
