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
def no_late_records() -> Iterator[None]:
    """Write counts when they are read, not in a thread that may outlive the database of a test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("placement_insight.explain.records.recorder.start_timer", lambda *_: None)
        yield
