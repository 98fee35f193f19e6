"""A real Keystone, and the service with the operator surface asking it."""

from placement.tests.functional.keystone.conftest import (  # noqa: F401  fixtures
    backend,
    cloud,
    conf,
    http,
    keystone,
    keystone_folder,
)
