"""Pages on the web or on the user's own servers: Waymark serves nothing and knows nothing about the pages."""

from components.worlds.live.world import Live

KIND = Live

__all__ = ["KIND", "Live"]
