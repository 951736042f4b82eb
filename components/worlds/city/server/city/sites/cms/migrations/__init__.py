"""Migrations of the page models."""
