"""The library of Waymark. It never imports prefect or dvc."""

import os

# In its strict mode MKL gives a row of a matrix product the same bits among four or more rows. Without it,
# some processors have other kernels for few rows. MKL reads this at its first use, so it stands where all modules pass.
os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")
