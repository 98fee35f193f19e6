"""What a request may use: the parts of the service, put together by ``deploy``."""

from dataclasses import dataclass

from placement.core.request import SearchSettings
from placement.db.store import Store
from placement.engine.engine import Engine
from placement.observability.events import Observer, ignore
from placement.policy import Policy


@dataclass(frozen=True, slots=True)
class IncompleteConsumer:
    """Whose the allocations are that were made without naming anybody, below 1.8."""

    project_id: str
    user_id: str


@dataclass(frozen=True, slots=True)
class Services:
    """The service, for as long as the process lives; ``request.services`` of each request."""

    store: Store
    store_for_allocations: Store  # gives up races when the operator says
    engine: Engine
    policy: Policy
    search: SearchSettings
    incomplete_consumer: IncompleteConsumer
    observe: Observer = ignore
