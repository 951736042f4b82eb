"""Trajectories as a dataset for others: Parquet files with images, and a dataset card (`waymark export`)."""

from components.export.card import Origin
from components.export.dataset import ExportError, Source, export

__all__ = ["ExportError", "Origin", "Source", "export"]
