"""The server of the world `city`: real Django applications, one isolated copy of their data per episode.

It runs in an environment of its own (`make city`), with this package's parent folder on its path, and imports nothing
of Waymark. `building` makes an image once: the seeded database, pictures and static files. `serving` serves it.
"""
