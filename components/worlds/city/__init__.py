"""The city: real applications in one process, a copy of their data per episode, and tasks that are checked by what
changed in it."""

from components.worlds.city.world import City

KIND = City

__all__ = ["KIND", "City"]
