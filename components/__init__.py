"""The library of Waymark. It never imports prefect or dvc."""
