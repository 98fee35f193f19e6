"""What components report to an observer: the metrics; and names that they have in common."""

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

TEMPLATE: Final = "placement.route.template"
"""The key of the WSGI environment under which the router stores the declared path."""

VERSION: Final = "placement.version"
"""The key under which the microversion of the request is stored."""


class Metric(NamedTuple):
    """A counter, or with ``buckets`` a histogram; ``labels`` are the names of its labels."""

    name: str
    text: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


_COUNTS = (0, 1, 10, 100, 1_000, 10_000)
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60)

REQUESTS = Metric("placement_requests", "Requests answered.", ("method", "route", "status"))
REQUEST_SECONDS = Metric(
    "placement_request_seconds", "Time to answer requests.", ("method", "route"), _SECONDS
)
CLIENT_REQUESTS = Metric(
    "placement_client_requests",
    "Requests to the Placement API, by the program and the microversion.",
    ("client", "microversion"),
)
REFRESH_SECONDS = Metric(
    "placement_snapshot_refresh_seconds",
    "Time to load or to refresh the snapshot.",
    ("kind",),
    _SECONDS,
)
DISCARDS = Metric(
    "placement_snapshot_discards",
    "Snapshots dropped because the lineage or epoch of the database changed.",
)
CANDIDATES = Metric(
    "placement_candidates_returned",
    "Number of candidates that searches returned.",
    buckets=_COUNTS,
)
CUT_RESPONSES = Metric(
    "placement_candidates_cut", "Requests for candidates whose limit left out roots."
)
ROOTS_LEFT_OUT = Metric(
    "placement_candidates_roots_left_out",
    "Roots that the limits of requests for candidates left out.",
)
WRITE_RETRIES = Metric(
    "placement_write_retries", "Transactions that failed because of a concurrent update."
)
Total = tuple[Mapping[str, str], int]
"""The labels and the value of a counter."""


class Observer:
    """Receives events; this one ignores them.

    ``placement.observability.metrics`` has one that counts them.
    """

    def count(self, metric: Metric, *labels: str, amount: int = 1) -> None:
        """Add to a counter."""

    def observe(self, metric: Metric, value: float, *labels: str) -> None:
        """Add a value to a histogram."""

    def totals(self, *_metrics: Metric) -> Mapping[Metric, Sequence[Total]] | None:
        """Return the counters that are not 0, each the sum over all processes of the host.

        None if nothing is counted.
        """
        return None


# keystoneauth writes the name of the program first, such as ``nova-compute keystoneauth1/5.9.1``.
# Clients can write any text, so only the names of known programs are labels.
OTHER: Final = "other"
KNOWN: Final = frozenset(
    {
        *("nova-api", "nova-api-wsgi", "nova-compute", "nova-conductor", "nova-manage"),
        *("nova-scheduler", "nova-status"),
        *("neutron-server", "neutron-api", "neutron-rpc-server", "neutron-periodic-workers"),
        *("cyborg-api", "cyborg-agent", "cyborg-conductor", "blazar-api", "blazar-manager"),
        *("watcher-api", "watcher-applier", "watcher-decision-engine", "zun-api", "zun-compute"),
        # servers of WSGI applications, and libraries without the name of a program
        *("uwsgi", "gunicorn", "keystoneauth1", "openstacksdk", "python-requests"),
        *("openstack", "python-openstackclient", "osc-lib", "curl"),
    }
)


def client_of(user_agent: str) -> str:
    """Return the name of the program in a User-Agent header, ``other`` if it is not known.

    >>> client_of("nova-scheduler keystoneauth1/5.9.1 python-requests/2.32.3")
    'nova-scheduler'
    >>> client_of("Mozilla/5.0 (X11)")
    'other'
    """
    name, *_ = re.split(r"[\s/]", user_agent, maxsplit=1)
    return name if name in KNOWN else OTHER
