"""A library as a world of Waymark: four books a page, three kinds of task, a rule on the server, a teacher."""

from waymark_shelf.world import Shelf

__all__ = ["Shelf"]
