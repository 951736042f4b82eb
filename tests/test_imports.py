"""Imports without the garbage collector, and the end of a process that made them."""

from __future__ import annotations

import gc
import subprocess
import sys
from importlib import import_module

import pytest

from components.imports import without_collector


def test_the_collector_is_on_again_after_an_import_that_fails():
    with pytest.raises(ModuleNotFoundError), without_collector():
        import_module("no_such_package")
    assert gc.isenabled()
    with without_collector():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off():
    gc.disable()
    try:
        with without_collector():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_the_end_of_a_process_collects_nothing_of_what_was_imported():
    program = """
import atexit, gc
atexit.register(lambda: print("tracked at the end:", len(gc.get_objects()) < 1000))
import components.imports
kept = [[number] for number in range(50_000)]
print("tracked before:", len(gc.get_objects()) > 50_000)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["tracked before: True", "tracked at the end: True"]
