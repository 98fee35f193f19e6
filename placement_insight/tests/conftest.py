"""Fixtures for all tests of the operator surface; those of the service are in the plugins."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def patient_explanations() -> Iterator[None]:
    """Explain each request, even if the machine is busy for a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("placement_insight.explain.explain.BUDGET_SECONDS", 60)
        yield


@pytest.fixture(scope="session", autouse=True)
def changes_removed_at_once() -> Iterator[None]:
    """Remove the oldest changes before a write returns: the end of a test closes its store."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("placement_insight.history.observer.in_thread", lambda work: work())
        yield
