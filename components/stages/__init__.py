"""One file per DVC stage: it reads parameters, calls packages and writes outputs."""

import os

# By default OpenMP threads that wait keep spinning, which takes the cores from browsers and from stages that run at the
# same time. OpenMP reads the variable when torch is imported. It changes no result.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
