"""Stores in place of the configured one."""

from contextlib import contextmanager
from unittest import mock

from placement import db_api


@contextmanager
def replaced_store(store):
    """Use the store instead of any configured database of this process."""
    with mock.patch.object(db_api.placement_context_manager, "store", return_value=store):
        yield store
