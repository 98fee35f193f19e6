"""The services available to request handlers, created by ``deploy``."""

from dataclasses import dataclass

from placement.core.model import IncompleteConsumer
from placement.core.request import SearchSettings
from placement.db.store import Store
from placement.engine.engine import Engine
from placement.insight.recorder import Recorder, RecorderSettings
from placement.observability.events import Observer, ignore
from placement.policy import Policy

NO_RECORDER = Recorder(None, RecorderSettings(enabled=False))


@dataclass(frozen=True, slots=True)
class Services:
    """The services of one process: ``request.services`` of each request."""

    store: Store
    store_for_allocations: Store  # retries as [placement]allocation_conflict_retry_count says
    engine: Engine
    policy: Policy
    search: SearchSettings
    incomplete_consumer: IncompleteConsumer
    observe: Observer = ignore
    recorder: Recorder = NO_RECORDER
    max_body_bytes: int = 16 * 2**20
