"""How many hosts, aggregates or racks survive a failure, as a gauge for Prometheus.

A thread computes the values, at most once per interval in a process. A scrape never waits for it.
"""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from types import ModuleType, SimpleNamespace

from placement.core.search.deadline import Deadline
from placement.db.store import Store
from placement.engine.engine import Engine
from placement.engine.shared import ShortRequests
from placement_insight.plan import sql
from placement_insight.plan.model import Keep, Verdict
from placement_insight.plan.survival import Survival

LOG = logging.getLogger(__name__)
_VERDICTS: tuple[Verdict, ...] = ("fits", "does_not_fit", "undetermined")


def survival_counts(
    store: Store, engine: Engine, by: str, seconds: float, short: ShortRequests
) -> Mapping[str, int]:
    """Return the number of domains by verdict; ``by`` is as in ``GET /insight/survival``."""
    view = engine.view()
    groups = sql.groups(store, view, short)
    deadline = Deadline(seconds, time.monotonic, short.give_way)
    survival = Survival(view.snapshot, groups, Keep(), deadline)
    kind, _, prefix = by.partition(":")
    domains = list(survival.domains(kind, prefix))
    counts = Counter(outcome.verdict for outcome in survival.until_deadline(domains))
    counts["undetermined"] += len(domains) - counts.total()
    return {verdict: counts[verdict] for verdict in _VERDICTS}


class SurvivalGauge:
    """The text of ``placement_survival_domains``.

    A scrape that finds outdated values returns them, and starts the thread. A computation that
    fails is logged, and repeated after the interval.
    """

    def __init__(
        self,
        library: ModuleType,
        interval_seconds: float,
        compute: Callable[[], Mapping[str, int]],
    ) -> None:
        self._library = library
        self._interval_seconds = interval_seconds
        self._compute = compute
        self._lock = threading.Lock()
        self._text = b""
        self._started_at = float("-inf")

    def text(self) -> bytes:
        """Return the last values; nothing before the first are computed."""
        with self._lock:
            now = time.monotonic()
            if now - self._started_at >= self._interval_seconds:
                self._started_at = now
                threading.Thread(target=self._refresh, name="survival", daemon=True).start()
            return self._text

    def _refresh(self) -> None:
        try:
            counts = self._compute()
        except Exception:
            LOG.exception("The hosts that survive a failure could not be computed")
            return
        gauge = self._library.core.GaugeMetricFamily(
            "placement_survival_domains",
            "Number of hosts, aggregates or racks by what happens to their servers on a failure.",
            labels=("verdict",),
        )
        for verdict, count in counts.items():
            gauge.add_metric((verdict,), count)
        self._text = self._library.generate_latest(SimpleNamespace(collect=lambda: [gauge]))
