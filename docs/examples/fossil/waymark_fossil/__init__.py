"""Fossil's tickets and wiki as a world."""

from components.worlds.own_site import own_site

KIND = own_site(__file__)
