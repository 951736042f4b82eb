"""MiniWoB++: small pages by family and seed, with the page's own reward and a scripted teacher."""

from components.worlds.miniwob.world import MiniWoB

KIND = MiniWoB

__all__ = ["KIND", "MiniWoB"]
