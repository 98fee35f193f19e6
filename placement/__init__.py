"""OpenStack Placement: which hosts could hold this, and I take it."""

import os

# Importing numpy starts a thread for each core, for linear algebra, of which there is none here.
# Such a thread may be the one that a server's signal is delivered to, and uWSGI then cannot end.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
