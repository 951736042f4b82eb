"""One file per DVC stage: read params, call rooms, write outputs."""

import os

# Threads of a matrix product that wait by spinning take the cores from the browsers and from a stage beside them. Read
# when torch is imported; changes no result.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
