"""What a process returns to the system."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

FRAGMENTS = """
import psutil
from components.memory import release_free_memory

blocks = [bytearray(60_000) for _ in range(4000)]
kept = blocks[::100]
del blocks
before = psutil.Process().memory_info().rss
release_free_memory()
print(before - psutil.Process().memory_info().rss)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have no malloc_trim")
def test_freed_blocks_between_kept_ones_are_returned() -> None:
    done = subprocess.run([sys.executable, "-c", FRAGMENTS], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 150e6
