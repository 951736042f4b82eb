"""The drawings of the goods, one module per kind: each draws on a square of 480 pixels, in a colour."""

from __future__ import annotations

from city.sites.shop.drawings import clothing, deck, fishing, galley, navigation, safety
from city.sites.shop.drawings.drawing import Drawing

DRAWINGS: dict[str, Drawing] = {
    **clothing.DRAWINGS,
    **deck.DRAWINGS,
    **fishing.DRAWINGS,
    **galley.DRAWINGS,
    **navigation.DRAWINGS,
    **safety.DRAWINGS,
}
"""By the names that `goods` gives them."""
