"""Which modules pytest may import to run the examples in docstrings."""

# importing these starts the service, needs a migration in progress, or replaces modules
collect_ignore_glob = [
    "placement/wsgi/*.py",
    "placement/db/schema/alembic/*",
    "placement/tests/support/openstack_modules.py",
]
