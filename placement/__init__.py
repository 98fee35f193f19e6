"""OpenStack Placement: resource inventories, allocation candidates and allocations."""

import os

# numpy starts a thread per core for linear algebra, which is not used here. If the kernel delivers
# a signal to such a thread, uWSGI does not stop.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
