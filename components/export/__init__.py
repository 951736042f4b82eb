"""Trajectories for others (`waymark export`): as a dataset of Parquet files with images and a card, or in a format that
other tools read, such as ATIF (`interchange`)."""

from components.export.card import Origin
from components.export.dataset import ExportError, Source, export
from components.export.interchange import Written, export_as
from components.export.provenance import recorded_seed

__all__ = ["ExportError", "Origin", "Source", "Written", "export", "export_as", "recorded_seed"]
