"""The number of examples of each property: PROPERTY_EXAMPLES=2000 for a thorough run."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "placement",
    max_examples=int(os.environ.get("PROPERTY_EXAMPLES", "100")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("placement")
