"""The keys and values of rows that are decoded together, and begin and end at different times.

The n-th token of a row is in the n-th cell of the row: there is no padding before it, and a wrong draft token leaves no
hole. Together with `BLOCK`, this makes what a row computes independent of the other rows, to the last bit.

Names: B rows, S new tokens of each, L cells, K heads of keys and values, D head size.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from transformers import DynamicCache
from transformers.cache_utils import Cache, DynamicLayer

BLOCK = 512
"""The cells that attention reads are a multiple of this. PyTorch's attention on a CPU sums over blocks of so many keys,
so every block is whole: a row's sums have the same terms in the same order, however long the other rows are. Cells
after a row's last token are masked and add exactly 0."""


class RowCache(Cache):
    """Rows are numbered from 0; when one is removed, the last one takes its number.

    Before a pass of the model, `begin` says how many tokens it appends to every row. After it, `keep` says how many of
    them stay.

    Args:
        rows: how many rows will be inserted, if that is known: space for them is made at once.
    """

    def __init__(self, rows: int = 0) -> None:
        super().__init__(layers=[])
        self._expected = rows
        self.lengths: list[int] = []
        """Tokens of each row."""
        self._layers: list[tuple[torch.Tensor, torch.Tensor]] = []
        """Keys and values of each layer, (rows, cells, K, D) larger than what is used."""
        self._cells: tuple[torch.Tensor, torch.Tensor] | None = None
        """Row (B, 1) and cell (B, S) of each token that the pass under way appends."""
        self._read = 0
        """Cells that the pass under way reads."""

    def insert(self, prompts: DynamicCache, index: Sequence[int], lengths: Sequence[int]) -> None:
        """Append a row for each of `index`: a prompt that was read into `prompts` with its padding on the right.

        Args:
            lengths: tokens of each prompt, without padding.
        """
        self._append(
            [
                (layer.keys.transpose(1, 2), layer.values.transpose(1, 2))
                for layer in prompts.layers
                if isinstance(layer, DynamicLayer) and layer.keys is not None and layer.values is not None
            ],
            index,
            lengths,
        )

    def extend(self, other: RowCache) -> None:
        """Append the rows of another cache."""
        self._append(other._layers, range(len(other.lengths)), other.lengths)

    def _append(
        self, layers: Sequence[tuple[torch.Tensor, torch.Tensor]], index: Sequence[int], lengths: Sequence[int]
    ) -> None:
        if not index:  # the responses of all rows ended with their first token
            return
        first = len(self.lengths)
        self.lengths += [lengths[row] for row in index]
        self._layers += [(keys[:0], values[:0]) for keys, values in layers[len(self._layers) :]]
        for number, layer in enumerate(layers):
            self._grow(number, max(self.lengths))
            for own, new in zip(self._layers[number], layer, strict=True):
                for row, source in enumerate(index, first):
                    own[row, : lengths[source]] = new[source, : lengths[source]]

    def remove(self, row: int) -> None:
        """Remove a row. The last row takes its number."""
        length = self.lengths.pop()
        if row == len(self.lengths):
            return
        self.lengths[row] = length
        for layer in self._layers:
            for own in layer:
                own[row, :length] = own[len(self.lengths), :length]

    def begin(self, width: int) -> torch.Tensor:
        """Prepare a pass that appends `width` tokens to every row.

        Returns:
            the mask (B, 1, S, L) to add to its attention scores: a token attends to its row up to itself.
        """
        longest = max(self.lengths) + width
        for number in range(len(self._layers)):
            self._grow(number, longest)
        keys = self._layers[0][0]
        self._read = -(-longest // BLOCK) * BLOCK
        row_B1 = torch.arange(len(self.lengths), device=keys.device)[:, None]
        length_B1 = torch.tensor(self.lengths, device=keys.device)[:, None]
        cell_BS = length_B1 + torch.arange(width, device=keys.device)
        self._cells = row_B1, cell_BS
        is_later = torch.arange(self._read, device=keys.device) > cell_BS[:, None, :, None]
        return torch.zeros(is_later.shape, dtype=keys.dtype, device=keys.device).masked_fill_(is_later, -torch.inf)

    def keep(self, counts: Sequence[int]) -> None:
        """Keep the first `counts` of the tokens that the last pass appended to each row. The next pass overwrites the
        others."""
        self.lengths = [length + count for length, count in zip(self.lengths, counts, strict=True)]

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, layer_idx: int, *args: object, **kwargs: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Append the keys and values (B, K, S, D) of a layer, and return what is attended to, (B, K, L, D)."""
        assert self._cells is not None, "begin() comes before a pass of the model"
        rows = len(self.lengths)
        for own, new in zip(self._layers[layer_idx], (key_states, value_states), strict=True):
            own[self._cells] = new.transpose(1, 2).to(own.dtype)
        keys, values = self._layers[layer_idx]
        return keys[:rows, : self._read].transpose(1, 2), values[:rows, : self._read].transpose(1, 2)

    def _grow(self, number: int, cells: int) -> None:
        """Give a layer space for all rows, and for `cells` in each. Rows beyond the expected ones double the space, so
        that this is seldom."""
        rows, keys = len(self.lengths), self._layers[number][0]
        if rows <= keys.shape[0] and cells <= keys.shape[1]:
            return
        capacity = self._expected if rows <= self._expected else 1 << (rows - 1).bit_length()
        shape = max(keys.shape[0], capacity), max(keys.shape[1], -(-cells // BLOCK) * BLOCK)
        grown = [own.new_zeros(*shape, *own.shape[2:]) for own in self._layers[number]]
        for own, new in zip(self._layers[number], grown, strict=True):
            new[: own.shape[0], : own.shape[1]] = own
        self._layers[number] = grown[0], grown[1]
