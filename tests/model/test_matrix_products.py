"""A row of a matrix product has the same bits whatever the other rows are: same seed, same numbers rests on it.

Decoding multiplies no fewer than `WIDTH` rows. With fewer, a processor of AMD had other kernels in each
of the six modes of MKL that were tried.
"""

from __future__ import annotations

import pytest
import torch

from components.policies.generation import WIDTH  # `components` sets the mode of MKL

ROWS = [WIDTH, 8, 12, 16, 20, 48, 64, 128, 320]


@pytest.mark.skipif(not torch.backends.mkl.is_available(), reason="the strict mode is MKL's")
@pytest.mark.parametrize(("width", "out"), [(96, 192), (192, 384), (384, 192), (640, 1920), (192, 2560)])
def test_a_row_has_the_same_bits_among_any_number_of_others(width: int, out: int) -> None:
    generator = torch.Generator().manual_seed(0)
    weight, rows = torch.randn(out, width, generator=generator), torch.randn(max(ROWS), width, generator=generator)
    of_all = torch.nn.functional.linear(rows, weight)
    differing = [n for n in ROWS if not torch.equal(torch.nn.functional.linear(rows[:n], weight), of_all[:n])]
    assert differing == []
