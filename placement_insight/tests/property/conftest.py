"""The number of examples of each property: `make stress` sets 1,000."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "placement",
    max_examples=int(os.environ.get("PROPERTY_EXAMPLES", "12")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("placement")
